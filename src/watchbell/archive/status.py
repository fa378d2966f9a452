"""How the archive fares: counts of crawls, and one crawl in words."""

from math import inf

import msgspec
from msgspec import Struct

from watchbell.archive import crawl_watch, crawls, history, phrases, pipelines, queues
from watchbell.archive.crawl_explanations import QueuePlace, explain
from watchbell.archive.crawl_survey import survey
from watchbell.archive.keys import Archive
from watchbell.archive.lua import LAYOUT
from watchbell.errors import NotFound
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store
from watchbell.store.replies import number
from watchbell.store.script import READ, Script

_MOST_RUNNING = 1_000
"""Running crawls whose progress is summed up."""

# KEYS[1] pending. Returns the counts of ended crawls, how many are at work, and how many wait in
# the three queues that always exist and in all others.
_COUNTS = Script(
    LAYOUT
    + READ
    + """
local others = 0
for _, tag in ipairs(read('SMEMBERS', crawls.queues) or {}) do
  others = others + (read('LLEN', archive.pending_for(tag)) or 0)
end
return {read('GET', archive.completed) or '0', read('GET', archive.aborted) or '0',
  read('GET', archive.failed) or '0', read('LLEN', archive.working) or 0,
  read('LLEN', archive.pending) or 0, read('LLEN', archive.pending_ao) or 0,
  read('LLEN', archive.pending_large) or 0, others}
"""
)

# KEYS[1] pending; ARGV[1] how many. Returns what the crawls at work have saved: responses, bytes.
_PROGRESS = Script(
    LAYOUT
    + READ
    + """
local items, bytes = 0, 0
for _, ident in ipairs(read('LRANGE', archive.working, 0, ARGV[1] - 1) or {}) do
  local found = read('HMGET', archive.job(ident), 'items_downloaded', 'bytes_downloaded') or {}
  items, bytes = items + number_of(found[1]), bytes + number_of(found[2])
end
return {whole(items), whole(bytes)}
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
    found = await _COUNTS(store, [Archive(store.prefix).pending()])
    completed, aborted, failed, working, pending, pending_ao, pending_large, others = found
    return Counts(
        completed=number(completed) or 0,
        aborted=number(aborted) or 0,
        failed=number(failed) or 0,
        working=working,
        pending=pending,
        pending_ao=pending_ao,
        pending_large=pending_large,
        pending_other=others,
    )


class Progress(Struct, frozen=True):
    """What crawls at work have saved so far, together."""

    items: int
    bytes: int


async def progress(store: Store) -> Progress:
    """Of at most 1,000 crawls."""
    items, size = await _PROGRESS(store, [Archive(store.prefix).pending()], [_MOST_RUNNING])
    return Progress(int(items), int(size))


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
        msgspec.structs.replace(working, failing=""),  # what was reported is still the reason
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
    past = await history.of_ident(store, ident)
    if not past:
        raise NotFound(f"there is no crawl {ident}")
    how = phrases.ended(past[0].state, past[0].crawl.reason)
    return f"Its last crawl {how}. It can be archived again."
