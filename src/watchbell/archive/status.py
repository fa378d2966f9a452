"""How the archive fares: counts of crawls, and one crawl in words."""

from math import inf

from msgspec import Struct

from watchbell.archive import crawl_watch, crawls, history, pipelines, queues
from watchbell.archive.crawl_explanations import QueuePlace, explain
from watchbell.archive.crawl_survey import survey
from watchbell.archive.keys import Archive
from watchbell.archive.lua import LAYOUT
from watchbell.archive.queues import PENDING, PENDING_AO, PENDING_LARGE
from watchbell.errors import NotFound
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store
from watchbell.store.replies import number
from watchbell.store.script import READ, Script

# KEYS[1] pending. Returns the counts of ended crawls, and how many are at work.
_COUNTS = Script(
    LAYOUT
    + READ
    + """
return {read('GET', archive.completed) or '0', read('GET', archive.aborted) or '0',
  read('GET', archive.failed) or '0', read('LLEN', archive.working) or 0}
"""
)


class Counts(Struct, frozen=True, kw_only=True):
    completed: int
    aborted: int
    failed: int
    working: int
    pending: int
    pending_ao: int
    pending_large: int
    pending_other: int
    """In queues `pending:TAG`."""


async def counts(store: Store) -> Counts:
    completed, aborted, failed, working = await _COUNTS(store, [Archive(store.prefix).pending()])
    waiting = {name: len(found) for name, found in (await queues.pending(store)).items()}
    return Counts(
        completed=number(completed) or 0,
        aborted=number(aborted) or 0,
        failed=number(failed) or 0,
        working=working,
        pending=waiting[PENDING],
        pending_ao=waiting[PENDING_AO],
        pending_large=waiting[PENDING_LARGE],
        pending_other=sum(many for name, many in waiting.items() if ":" in name),
    )


async def place_of(store: Store, ident: str) -> QueuePlace | None:
    """Where a crawl waits; None if it is in no queue."""
    for queue, waiting in (await queues.pending(store)).items():
        if ident in waiting:
            return QueuePlace(queue, waiting.index(ident))
    return None


async def expires_in(store: Store, ident: str) -> int | None:
    """Seconds until an ended crawl is forgotten; None for one that has not ended."""
    left: int = await store.call("TTL", Archive(store.prefix).job(ident))
    return left if left >= 0 else None


async def explanation(store: Store, settings: Settings, ident: str, now: float) -> str:
    """Why a crawl waits, runs, is paused or is over. Raises NotFound for one that never was."""
    found = await crawls.get(store, ident)
    if found is None:
        return await _of_the_past(store, ident)
    ((working, store_now),) = await survey(store, [ident], acknowledges=False)
    verdict = crawl_watch.judge(
        working,
        now=store_now,
        watched=inf,
        lease=settings.lease,
        return_after=settings.return_after,
    )
    return explain(
        found,
        place=await place_of(store, ident),
        pipelines=await pipelines.every(store),
        verdict=verdict,
        lease=settings.lease,
        expires_in=await expires_in(store, ident),
        now=now,
    )


async def _of_the_past(store: Store, ident: str) -> str:
    past = await history.page(store, ident=ident, limit=1)
    if not past:
        raise NotFound(f"there is no crawl {ident}")
    crawl, state = past[0].crawl, past[0].state
    how = "was aborted" if state == "aborted" else f"has {state}"
    reason = f": {crawl.reason}" if crawl.reason and crawl.reason != state else ""
    return f"Its last crawl {how}{reason}. It can be archived again."
