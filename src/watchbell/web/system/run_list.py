"""Jobs, cron runs and crawls in one list, newest first."""

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from watchbell.archive import crawls, pipelines
from watchbell.archive import history as crawl_history
from watchbell.archive.crawl_records import state_of
from watchbell.archive.history import EndedCrawl
from watchbell.archive.model import Crawl, CrawlState
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
from watchbell.web.system.run_shapes import Kind, RunOrJob, Verdict

Only = Literal["", "success", "error"]

_PLACE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)_(.{1,150})", re.DOTALL)


class _Results(NamedTuple):
    """How something ended, as each of the lists has it."""

    codes: tuple[str, ...]
    verdicts: tuple[CronVerdict, ...]
    states: tuple[CrawlState, ...]


_ONLY: dict[Only, _Results] = {
    "": _Results((), ("success", "fail"), ("completed", "aborted", "failed")),
    "success": _Results(("success",), ("success",), ("completed",)),
    "error": _Results(("error",), ("fail",), ("failed",)),
}
_VERDICTS: dict[CrawlState, Verdict] = {
    "completed": "success",
    "aborted": "abort",
    "failed": "error",
}


class WorkingCrawl(NamedTuple):
    crawl: Crawl
    nickname: str
    """Of its pipeline."""


Item = Job | RunRecord | EndedCrawl | WorkingCrawl


class Cursor(NamedTuple):
    """Where the next page begins in each of the lists; None if that has ended."""

    job: str | None = ""
    cron: str | None = ""
    archive: str | None = ""


class Ended(NamedTuple):
    """An entry of one of the lists, and the position after it."""

    at: float
    item: Item
    position: str


class Part(NamedTuple):
    """A page of one of the lists."""

    items: Sequence[Ended]
    following: str | None
    horizon: float
    """The time down to which nothing is missing."""


_NONE = Part((), None, float("-inf"))


def merged(parts: Sequence[Part], before: Cursor, most: int) -> tuple[list[Ended], Cursor | None]:
    """The newest of all lists, in the order of `Cursor`, down to where all have been read, and
    where the next page begins.

    The part with the latest horizon is taken whole unless there are too many, so each page gets
    further.
    """
    horizon = max(part.horizon for part in parts)
    together = sorted((one for part in parts for one in part.items), key=lambda one: -one.at)
    chosen = [one for one in together if one.at >= horizon][:most]
    cursor = Cursor(
        *(_after(part, chosen, place) for part, place in zip(parts, before, strict=True))
    )
    return chosen, None if cursor == (None, None, None) else cursor


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

    def may_see(self, item: Item) -> bool:
        return not isinstance(item, Job) or self.access.allows(item)

    def rows(self, items: Iterable[Item]) -> list[RunOrJob]:
        return [row(one, self.names, self.now) for one in items if self.may_see(one)]


async def ended(
    store: Store, reader: Reader, kind: Kind | None, only: Only, cursor: str, most: int
) -> Page[RunOrJob]:
    """Jobs, runs and crawls that have ended."""
    before, results = _decoded(cursor) if cursor else Cursor(), _ONLY[only]
    parts = [_NONE, _NONE, _NONE]
    if kind in (None, "job"):
        parts[0] = await _jobs(store, results.codes, before.job, most)
    if kind in (None, "cron"):
        parts[1] = await _runs(store, results.verdicts, before.cron, most)
    if kind in (None, "archive"):
        parts[2] = await _crawls(store, results.states, before.archive, most)
    chosen, after = merged(parts, before, most)
    return Page(reader.rows(one.item for one in chosen), _encoded(after) if after else None)


async def active(store: Store, reader: Reader) -> list[RunOrJob]:
    """What is in progress, the newest first. What waits is not."""
    jobs = [one for one in await job_records.live(store) if one.state in ("active", "finishing")]
    rows = reader.rows([*jobs, *await cron_history.active(store), *await _crawling(store)])
    return sorted(rows, key=lambda one: -one.start)


async def _crawling(store: Store) -> list[WorkingCrawl]:
    at_work = await crawls.at_work(store)
    known = await pipelines.every(store) if at_work else []
    names = {one.record.id: one.record.nickname for one in known}
    return [WorkingCrawl(one, names.get(one.pipeline_id, "")) for one in at_work]


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


async def _crawls(
    store: Store, states: tuple[CrawlState, ...], after: str | None, most: int
) -> Part:
    if after is None:
        return _NONE
    page = await crawl_history.page(store, after=after, limit=most)
    items = [
        Ended(one.crawl.finished_at or 0, one, one.id) for one in page.items if one.state in states
    ]
    if not page.next:
        return Part(items, None, float("-inf"))
    # Without a record that can be read, nobody knows how far this page reaches.
    horizon = page.items[-1].crawl.finished_at or 0 if page.items else float("inf")
    return Part(items, page.next, horizon)


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


def row(item: Item, names: Names, now: float) -> RunOrJob:
    if isinstance(item, Job):
        return _of_job(item, names, now)
    if isinstance(item, RunRecord):
        return _of_cron(item)
    if isinstance(item, EndedCrawl):
        return _of_crawl(item.crawl, item.id, item.nickname)
    return _of_crawl(item.crawl, item.crawl.ident, item.nickname)


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


def _of_crawl(crawl: Crawl, row_id: str, nickname: str) -> RunOrJob:
    state = state_of(crawl)
    start = crawl.started_at or crawl.queued_at or crawl.finished_at or 0
    is_told = crawl.reason and crawl.reason != state
    return RunOrJob(
        kind="archive",
        id=row_id,
        name=crawl.ident,
        title=crawl.url,
        category="",
        verdict=_VERDICTS.get(state, ""),
        words=crawl.reason if is_told else "done" if state == "completed" else state,
        start=start,
        ended=crawl.finished_at,
        duration=None if crawl.finished_at is None else max(0, crawl.finished_at - start),
        where=nickname,
        source="user" if crawl.started_by else "",
        username=crawl.started_by,
        progress=0,
        cpu=None,
        memory=None,
        tags=(),
    )
