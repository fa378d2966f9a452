"""Endpoints for runs of cron jobs: in progress, ended and omitted ones, and their output."""

import re
from typing import Annotated, Literal

from litestar import MediaType, Router, get, post
from litestar.params import PathParameter, QueryParameter
from litestar.response import Stream

from watchbell.cron import history, jobs
from watchbell.cron.history import Place, Verdict
from watchbell.cron.model import Omission
from watchbell.web import output_view
from watchbell.web.access import needs
from watchbell.web.cron import run_view
from watchbell.web.cron.run_shapes import OmissionShown, RunInFull, RunShown
from watchbell.web.listing import Cursor, Page
from watchbell.web.live.sse import EVENT_STREAM, EventStream, LastEvent, Resume, streamed
from watchbell.web.output_parameters import FARTHEST, Around, Backward, End, Lines, Start, Text
from watchbell.web.output_shapes import HitsShown, OutputShown
from watchbell.web.problems import wrong_cursor
from watchbell.web.services import Asked, audited, services_of

_PLACE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)_(.{1,150})", re.DOTALL)
_VERDICTS: tuple[Verdict, ...] = ("success", "fail")

Id = Annotated[
    str, PathParameter(min_length=1, max_length=150, description="A run's id, or its beginning.")
]
Job = Annotated[str, QueryParameter(max_length=5_000, description="Only runs of this job.")]
Only = Annotated[
    Literal["", "success", "fail"], QueryParameter(description="Only runs that ended like this.")
]
Limit = Annotated[int, QueryParameter(ge=1, le=200, description="The most items to return.")]


@get("/cron/runs", opt=needs("read"))
async def ended_runs(
    request: Asked, job: Job = "", only: Only = "", cursor: Cursor = "", limit: Limit = 50
) -> Page[RunShown]:
    """List ended runs of a job or of all jobs, newest first."""
    place = _place(cursor) if cursor else None
    verdicts = (only,) if only else _VERDICTS
    found, last = await history.ended_before(
        services_of(request).store, place, job, verdicts, limit
    )
    following = f"{last.ended!r}_{last.id}" if last else None
    return Page([run_view.shown(one) for one in found], following)


def _place(cursor: str) -> Place:
    found = _PLACE.fullmatch(cursor)
    if not found:
        raise wrong_cursor()
    return Place(float(found[1]), found[2])


@get("/cron/runs/active", opt=needs("read"))
async def active_runs(request: Asked, job: Job = "", limit: Limit = 200) -> Page[RunShown]:
    """List runs in progress, of a job or of all jobs, up to the limit."""
    found = await history.active(services_of(request).store, 0 if job else limit)
    shown = [run_view.shown(one) for one in found if job in ("", one.record.job_name)]
    return Page(shown[:limit])


@get("/cron/omissions", opt=needs("read"))
async def omissions(
    request: Asked, job: Job = "", cursor: Cursor = "", limit: Limit = 50
) -> Page[OmissionShown]:
    """List missed and skipped runs with the reasons, newest first."""
    if cursor and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
        raise wrong_cursor()
    skip = int(cursor or 0)
    found = await history.omissions(services_of(request).store, job, limit + 1, skip)
    following = str(skip + limit) if len(found) > limit else None
    return Page([_omission(one) for one in found[:limit]], following)


def _omission(one: Omission) -> OmissionShown:
    return OmissionShown(
        job=one.job, first=one.first, last=one.last, count=one.count, reason=one.reason, at=one.at
    )


@get("/cron/runs/{id:str}", opt=needs("read"))
async def one_run(request: Asked, id: Id) -> RunInFull:  # noqa: A002
    """Get a run and the last lines of its output."""
    seen = await history.run(services_of(request).store, id)
    return RunInFull(run_view.shown(seen), seen.record.output or "")


@get("/cron/runs/{id:str}/output", opt=needs("read"))
async def output(
    request: Asked,
    id: Id,  # noqa: A002
    start: Start = None,
    end: End = None,
    around: Around = None,
    limit: Lines = 500,
) -> OutputShown:
    """Get the output of a run: from `start`, up to `end`, or `around` a line; without any of these,
    its last lines. Returns fewer lines if they are long."""
    store = services_of(request).store
    printed = history.output(store, (await history.run(store, id)).id)
    if around is not None:
        start = max(around - limit // 2, 0)
    if start is not None:
        return output_view.output(await printed.window(start, limit, end))
    return output_view.output(await printed.end(limit, end))


@get("/cron/runs/{id:str}/search", opt=needs("read"))
async def search(
    request: Asked,
    id: Id,  # noqa: A002
    text: Text,
    start: Start = None,
    backward: Backward = False,
) -> HitsShown:
    """Search the output for a text. Each request searches some thousand lines; `next` is where to
    continue."""
    store = services_of(request).store
    printed = history.output(store, (await history.run(store, id)).id)
    begin = (FARTHEST if backward else 0) if start is None else start
    found = await printed.search(text, begin, backward=backward)
    return HitsShown(found.places, found.following)


@get("/cron/runs/{id:str}/download", opt=needs("read"), media_type=MediaType.TEXT)
async def download(request: Asked, id: Id) -> Stream:  # noqa: A002
    """Download the stored output of a run."""
    store = services_of(request).store
    seen = await history.run(store, id)
    disposition = f'attachment; filename="{run_view.file_name(seen)}"'
    return Stream(
        run_view.whole(store, seen),
        headers={"Content-Disposition": disposition, "X-Content-Type-Options": "nosniff"},
        media_type=MediaType.TEXT,
    )


@get("/cron/runs/{id:str}/live", opt=needs("read"), media_type=EVENT_STREAM)
async def live(
    request: Asked,
    id: Id,  # noqa: A002
    last: LastEvent = "",
    resume: Resume = "",
) -> EventStream:
    """Follow the output and the status of a run: events `lines`, `status`, and `end` when it ends,
    or `gone` if its record was deleted. If there are very many lines, only the newest are sent,
    with the number of lines that were left out."""
    store = services_of(request).store
    run = (await history.run(store, id)).id
    return streamed(request, run_view.live(store, run, last or resume))


@post("/cron/runs/{id:str}/terminate", status_code=204, opt=needs("operate"))
async def terminate(request: Asked, id: Id) -> None:  # noqa: A002
    """Stop a run: terminate all its processes, and kill those that are left after a while."""
    await _end(request, id, kill=False)


@post("/cron/runs/{id:str}/kill", status_code=204, opt=needs("operate"))
async def kill(request: Asked, id: Id) -> None:  # noqa: A002
    """Kill all processes of a run at once."""
    await _end(request, id, kill=True)


async def _end(request: Asked, run: str, *, kill: bool) -> None:
    store = services_of(request).store
    seen = await history.run(store, run)
    await (jobs.kill(store, seen.id) if kill else jobs.terminate(store, seen.id))
    await audited(request, "cron.kill" if kill else "cron.terminate", seen.record.job_name, seen.id)


ROUTES = Router(
    "/",
    tags=["Cron runs"],
    route_handlers=[
        *(ended_runs, active_runs, omissions, one_run, output, search, download),
        *(live, terminate, kill),
    ],
)
