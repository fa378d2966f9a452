"""Jobs and cron runs in one list, newest first."""

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from watchbell.cron import history as cron_history
from watchbell.cron.history import Place, RunRecord
from watchbell.cron.history import Verdict as CronVerdict
from watchbell.errors import Refused
from watchbell.jobs import history, job_records
from watchbell.jobs.history import Query
from watchbell.jobs.model import Job
from watchbell.jobs.permissions import ReadAccess
from watchbell.store.client import Store
from watchbell.web.cron import run_view
from watchbell.web.jobs import job_view
from watchbell.web.jobs.job_view import Names
from watchbell.web.listing import Page
from watchbell.web.problems import wrong_cursor
from watchbell.web.system.run_shapes import Kind, RunOrJob

Only = Literal["", "success", "error"]

_PLACE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)_(.{1,150})", re.DOTALL)
_ONLY: dict[Only, tuple[tuple[str, ...], tuple[CronVerdict, ...]]] = {
    "": ((), ("success", "fail")),
    "success": (("success",), ("success",)),
    "error": (("error",), ("fail",)),
}


class Cursor(NamedTuple):
    """Where the next page begins in each of the two lists; None if that has ended."""

    job: str | None = ""
    cron: str | None = ""


class Ended(NamedTuple):
    """A job or run of one of the lists, and the position after it."""

    at: float
    item: Job | RunRecord
    position: str


class Part(NamedTuple):
    """A page of one of the lists."""

    items: Sequence[Ended]
    following: str | None
    horizon: float
    """The time down to which nothing is missing."""


_NONE = Part((), None, float("-inf"))


def merged(jobs: Part, runs: Part, before: Cursor, most: int) -> tuple[list[Ended], Cursor | None]:
    """The newest of both lists, down to where both have been read, and where the next page begins.

    The part with the later horizon is taken whole unless there are too many, so each page gets
    further.
    """
    horizon = max(jobs.horizon, runs.horizon)
    both = sorted((*jobs.items, *runs.items), key=lambda one: -one.at)
    chosen = [one for one in both if one.at >= horizon][:most]
    cursor = Cursor(_after(jobs, chosen, before.job), _after(runs, chosen, before.cron))
    return chosen, None if cursor == (None, None) else cursor


def _after(part: Part, chosen: Sequence[Ended], before: str | None) -> str | None:
    taken = [one for one in part.items if any(one is other for other in chosen)]
    if len(taken) == len(part.items):
        return part.following
    return taken[-1].position if taken else before


class Reader(NamedTuple):
    """Who reads the list, and when."""

    access: ReadAccess
    names: Names
    now: float

    def may_see(self, item: Job | RunRecord) -> bool:
        return isinstance(item, RunRecord) or self.access.allows(item)

    def rows(self, items: Iterable[Job | RunRecord]) -> list[RunOrJob]:
        return [row(one, self.names, self.now) for one in items if self.may_see(one)]


async def ended(
    store: Store, reader: Reader, kind: Kind | None, only: Only, cursor: str, most: int
) -> Page[RunOrJob]:
    """Jobs and runs that have ended."""
    before = _decoded(cursor) if cursor else Cursor()
    codes, verdicts = _ONLY[only]
    jobs = await _jobs(store, codes, before.job, most) if kind != "cron" else _NONE
    runs = await _runs(store, verdicts, before.cron, most) if kind != "job" else _NONE
    chosen, after = merged(jobs, runs, before, most)
    return Page(reader.rows(one.item for one in chosen), _encoded(after) if after else None)


async def active(store: Store, reader: Reader) -> list[RunOrJob]:
    """Jobs and runs in progress, the newest first. Jobs that wait are not among them."""
    jobs = [one for one in await job_records.live(store) if one.state in ("active", "finishing")]
    rows = reader.rows([*jobs, *await cron_history.active(store)])
    return sorted(rows, key=lambda one: -one.start)


async def _jobs(store: Store, codes: tuple[str, ...], after: str | None, most: int) -> Part:
    if after is None:
        return _NONE
    try:
        page = await history.search(store, Query(codes=codes), most, after)
    except Refused:
        raise wrong_cursor() from None
    items = [Ended(one.completed, one, f"{one.completed:.6f}-{one.id}") for one in page.jobs]
    if page.following is None:
        return Part(items, None, float("-inf"))
    return Part(items, page.following, float(page.following.partition("-")[0]))


async def _runs(
    store: Store, verdicts: tuple[CronVerdict, ...], after: str | None, most: int
) -> Part:
    if after is None:
        return _NONE
    place = _place(after) if after else None
    found, last = await cron_history.ended_before(store, place, "", verdicts, most)
    items = [Ended(one.ended or 0, one, f"{one.ended!r}_{one.id}") for one in found]
    if last is None:
        return Part(items, None, float("-inf"))
    return Part(items, f"{last.ended!r}_{last.id}", last.ended)


def _place(text: str) -> Place:
    found = _PLACE.fullmatch(text)
    if not found:
        raise wrong_cursor()
    return Place(float(found[1]), found[2])


def _encoded(cursor: Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode()


def _decoded(text: str) -> Cursor:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=Cursor)
    except (binascii.Error, UnicodeError, ValueError, msgspec.MsgspecError):
        raise wrong_cursor() from None


def row(item: Job | RunRecord, names: Names, now: float) -> RunOrJob:
    return _of_job(item, names, now) if isinstance(item, Job) else _of_cron(item)


def _of_job(job: Job, names: Names, now: float) -> RunOrJob:
    shown = job_view.row(job, names, now)
    is_over = job.state == "complete"
    return RunOrJob(
        kind="job",
        id=job.id,
        name=job.event,
        title=shown.title,
        category=job.category,
        verdict=shown.verdict,
        words=shown.words,
        start=job.started or job.launched,
        ended=job.completed if is_over else None,
        duration=job.elapsed if is_over else None,
        where=shown.hostname,
        source=job.source,
        username=job.username,
        progress=job.progress,
        cpu=shown.cpu,
        memory=shown.memory,
        tags=job.tags,
    )


def _of_cron(seen: RunRecord) -> RunOrJob:
    shown = run_view.shown(seen)
    is_over = shown.status != "running"
    return RunOrJob(
        kind="cron",
        id=shown.id,
        name=shown.job,
        title=shown.job,
        category="",
        verdict=("success" if shown.status == "success" else "error") if is_over else "",
        words=shown.words,
        start=shown.start,
        ended=shown.ended,
        duration=shown.duration if is_over else None,
        where=shown.host,
        source=shown.why,
        username="",
        progress=0,
        cpu=None,
        memory=shown.memory or None,
        tags=(),
    )
