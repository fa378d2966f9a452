"""Endpoints for jobs, cron runs and crawls in one list, and for the timeline."""

from typing import Annotated, Literal

from litestar import Router, get
from litestar.params import QueryParameter

from watchbell.web.access import needs
from watchbell.web.jobs.job_routes import names_of
from watchbell.web.jobs.request_checks import read_access_of
from watchbell.web.listing import Page
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, services_of
from watchbell.web.system import run_list, timeline
from watchbell.web.system.run_list import Reader
from watchbell.web.system.run_shapes import ActiveRuns, RunOrJob, Timeline
from watchbell.web.system.timeline import Stretch

LONGEST = 7 * 86_400

Kind = Annotated[
    Literal["", "job", "cron", "archive"],
    QueryParameter(description="Only jobs, only cron runs, or only crawls."),
]
Only = Annotated[run_list.Only, QueryParameter(description="Only what ended like this.")]
Cursor = Annotated[str, QueryParameter(max_length=600, description="`next` of the page before.")]
Limit = Annotated[int, QueryParameter(ge=1, le=200, description="The most items to return.")]
Most = Annotated[int, QueryParameter(ge=1, le=1_000, description="The most items to return.")]
Start = Annotated[float | None, QueryParameter(ge=0, le=1e11, description="Since this time.")]
End = Annotated[
    float | None,
    QueryParameter(ge=0, le=1e11, description="Until this time; by default 24 hours later."),
]


async def reader_of(request: Asked) -> Reader:
    names = await names_of(request)
    return Reader(await read_access_of(request), names, services_of(request).clock.now())


@get("/runs", opt=needs("read"))
async def ended_runs_and_jobs(
    request: Asked, kind: Kind = "", only: Only = "", cursor: Cursor = "", limit: Limit = 50
) -> Page[RunOrJob]:
    """List jobs, cron runs and crawls that have ended, newest first. A page may be short
    and still have a next one."""
    store, reader = services_of(request).store, await reader_of(request)
    return await run_list.ended(store, reader, kind or None, only, cursor, limit)


@get("/runs/active", opt=needs("read"))
async def active_runs_and_jobs(request: Asked, kind: Kind = "", limit: Most = 200) -> ActiveRuns:
    """List jobs, cron runs and crawls in progress, newest first."""
    found = await run_list.active(services_of(request).store, await reader_of(request))
    wanted = [one for one in found if kind in ("", one.kind)]
    return ActiveRuns(items=wanted[:limit], total=len(wanted))


@get("/timeline", opt=needs("read"))
async def what_ran_and_will_run(request: Asked, start: Start = None, end: End = None) -> Timeline:
    """Get what ran in a stretch of time, on which server, and what will run. It is at most a week;
    by default, it begins 12 hours ago."""
    services, reader = services_of(request), await reader_of(request)
    first = reader.now - 43_200 if start is None else start
    last = first + 86_400 if end is None else end
    if not first < last <= first + LONGEST:
        reason = "expected a time after the start, at most 7 days later"
        raise HttpProblem(422, reason, field="end")
    return await timeline.timeline(services, reader, Stretch(first, last))


ROUTES = Router(
    "/",
    tags=["Runs"],
    route_handlers=[ended_runs_and_jobs, active_runs_and_jobs, what_ran_and_will_run],
)
