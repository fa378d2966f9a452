"""What ran in a stretch of time, and what will run."""

import asyncio
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from watchbell.archive import history as crawl_history
from watchbell.cron import history as cron_history
from watchbell.cron.history import Place, RunRecord
from watchbell.cron.job_status import JobStatus
from watchbell.jobs import history, preview
from watchbell.jobs.history import Query
from watchbell.store.client import Store
from watchbell.web.services import Services
from watchbell.web.system import run_list
from watchbell.web.system.run_list import Item, Reader
from watchbell.web.system.run_shapes import FrequentFires, PlannedFire, RunOrJob, Timeline

MOST_PAST = 2_000
MOST_AHEAD = 2_000
_MOST_COMPUTED = 20_000
_OFTEN = 100
"""Fires of a cron job; one with more is summed up."""
_MOST_FREQUENT = 200
_PAGE = 500
_SLICE = 100
_LONG = 86_400
"""Seconds: what began in the given time and ended so much later is found, too."""


class Stretch(NamedTuple):
    start: float
    end: float


class _Found(NamedTuple):
    items: Sequence[Item]
    is_complete: bool


class _Ahead(NamedTuple):
    fires: list[PlannedFire]
    frequent: list[FrequentFires]
    is_complete: bool


async def timeline(services: Services, reader: Reader, stretch: Stretch) -> Timeline:
    store, now = services.store, reader.now
    active = [one for one in await run_list.active(store, reader) if one.start < stretch.end]
    parts = [await _jobs(store, stretch), await _runs(store, stretch)]
    parts.append(await _crawls(store, stretch))
    rows = reader.rows(item for part in parts for item in part.items)
    past = sorted([*active, *rows] if stretch.start <= now else rows, key=_newest_first)
    planned = await _ahead(services, reader, max(now, stretch.start), stretch.end)
    return Timeline(
        start=stretch.start,
        end=stretch.end,
        now=now,
        past=past[:MOST_PAST],
        ahead=planned.fires,
        frequent=planned.frequent,
        is_past_complete=all(one.is_complete for one in parts) and len(past) <= MOST_PAST,
        is_ahead_complete=planned.is_complete,
    )


def _newest_first(one: RunOrJob) -> tuple[float, str]:
    return -one.start, one.id


async def _jobs(store: Store, stretch: Stretch) -> _Found:
    query = Query(since=stretch.start, until=stretch.end + _LONG)
    found: list[Item] = []
    after: str | None = ""
    while after is not None and len(found) < MOST_PAST:
        page = await history.search(store, query, _PAGE, after)
        found += [one for one in page.jobs if (one.started or one.launched) < stretch.end]
        after = page.following
    return _Found(found[:MOST_PAST], after is None and len(found) <= MOST_PAST)


async def _runs(store: Store, stretch: Stretch) -> _Found:
    found: list[RunRecord] = []
    place: Place | None = Place(stretch.end + _LONG, "")
    while place is not None and place.ended >= stretch.start and len(found) < MOST_PAST:
        page, place = await cron_history.ended_before(store, place, most=_PAGE)
        found += [
            one
            for one in page
            if (one.ended or 0) >= stretch.start and one.record.start_time < stretch.end
        ]
    is_all = place is None or place.ended < stretch.start
    return _Found(found[:MOST_PAST], is_all and len(found) <= MOST_PAST)


async def _crawls(store: Store, stretch: Stretch) -> _Found:
    until = stretch.end + _LONG
    found = await crawl_history.between(store, stretch.start, until, MOST_PAST + 1)
    begun = [one for one in found if (one.crawl.started_at or 0) < stretch.end]
    return _Found(begun[:MOST_PAST], len(found) <= MOST_PAST)


async def _ahead(services: Services, reader: Reader, since: float, until: float) -> _Ahead:
    if until <= since:
        return _Ahead([], [], is_complete=True)
    planner = await services.definitions.planner()
    counted = await preview.all_matches(services.store)
    plan = await planner.plan(since, until, MOST_AHEAD, counted, reader.access.allows)
    known = await services.cron_jobs.jobs()
    cron = await _cron_ahead([one for _, one in known.of("next")], since, until)
    fires = [
        *(PlannedFire(kind="job", name=r.event, title=r.title, at=r.at) for r in plan.runs),
        *cron.fires,
    ]
    fires.sort(key=lambda one: (one.at, one.title))
    frequent = [
        FrequentFires(kind="job", name=one.event, title=one.title, words=one.words)
        for one in plan.frequent
    ]
    is_complete = cron.is_complete and not plan.omitted and len(fires) <= MOST_AHEAD
    often = [*frequent, *cron.frequent][:_MOST_FREQUENT]
    return _Ahead(fires[:MOST_AHEAD], often, is_complete=is_complete)


async def _cron_ahead(jobs: Sequence[JobStatus], since: float, until: float) -> _Ahead:
    """The jobs are sorted by their next fire, so that of very many the first are found."""
    fires, frequent = list[PlannedFire](), list[FrequentFires]()
    for place, one in enumerate(jobs):
        if place % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)
        if len(fires) > _MOST_COMPUTED:
            return _Ahead(fires, frequent, is_complete=False)
        if one.job is None or one.is_paused:
            continue
        schedule, name = one.job.schedule, one.name
        found = list(islice(schedule.fires_between(since, until), _OFTEN + 1))
        if len(found) > _OFTEN:
            words = schedule.describes()
            frequent.append(FrequentFires(kind="cron", name=name, title=name, words=words))
        else:
            fires += [PlannedFire(kind="cron", name=name, title=name, at=at) for at in found]
    return _Ahead(fires, frequent, is_complete=True)
