"""Queues of crawls: taken by pipelines under a lease, taken up again, given back, rearranged."""

from collections.abc import Iterable
from typing import Literal

from watchbell import logs
from watchbell.archive import crawl_log, finishing
from watchbell.archive.crawl_records import time_text
from watchbell.archive.keys import Archive, Crawls
from watchbell.archive.lua import GIVE_BACK, LAYOUT, LOGGING, OWNED, QUEUES
from watchbell.archive.model import LogEntry, Ownership
from watchbell.errors import Refused, WatchbellError
from watchbell.probes import probe
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text
from watchbell.store.script import READ, Script

PENDING, PENDING_AO, PENDING_LARGE = (
    Archive.pending.pattern,
    Archive.pending_ao.pattern,
    Archive.pending_large.pattern,
)
_LOOK = 200
"""Crawls at the front of a queue that are looked at: paused ones are passed over."""

# Needs LAYOUT. `begin` resets what counts from the beginning of a crawl. What earlier attempts have
# fetched stays in its record.
_BEGIN = """
local function begin(ident)
  local job, tried = archive.job(ident), 0
  for _, number in ipairs(redis.call('HMGET', job, 'r1xx', 'r2xx', 'r3xx', 'r4xx', 'r5xx',
    'runk')) do tried = tried + number_of(number) end
  redis.call('HDEL', job, 'items_queued')
  redis.call('HSET', crawls.crawl(ident), 'batch', '0', 'tried_before', whole(tried))
end
"""

# KEYS[1] pending; ARGV[1] pipeline, ARGV[2] nickname, ARGV[3] attempt, ARGV[4] seconds of the
# lease, ARGV[5] time, then the queues in order. A call that is repeated with its attempt takes
# nothing more. Returns {'taken', ident, fence}, nothing if no crawl is waiting, or {why, ident,
# queue} of an entry that must be removed first: unreadable, ended, aborted, busy.
_RESERVE = Script(
    LAYOUT
    + OWNED
    + _BEGIN
    + """
local pipeline, nickname, attempt, lease, at = unpack(ARGV, 1, 5)
local claim = redis.call('HGET', crawls.claims, pipeline) or ''
local before, ident, fence = string.match(claim, '^(%S+) (%S+) (%S+)$')
if before == attempt and not refusal(ident, pipeline, fence) then
  return {'taken', ident, tonumber(fence)}
end
redis.call('LLEN', archive.working)
redis.call('ZCARD', crawls.leases)

-- Why a crawl in a queue can't be taken; nil if it can.
local function problem(ident)
  if not is_readable(ident) then return 'unreadable' end
  local url, finished, aborted = unpack(redis.call('HMGET', archive.job(ident), 'url',
    'finished_at', 'abort_requested'))
  if not url or url == '' then return 'unreadable' end
  if finished then return 'ended' end
  if redis.call('LPOS', archive.working, ident) then return 'busy' end
  if aborted == 'true' then return 'aborted' end
  if redis.call('HGET', crawls.crawl(ident), 'paused') == 'true' then return 'paused' end
end

local function take(ident, queue)
  local fence = redis.call('INCR', crawls.fences)
  local job, own = archive.job(ident), crawls.crawl(ident)
  redis.call('LREM', base .. queue, -1, ident)
  redis.call('LPUSH', archive.working, ident)
  redis.call('HSET', job, 'started_at', at, 'pipeline_id', pipeline)
  redis.call('HDEL', job, 'death_timer', 'last_acknowledged_heartbeat')
  local now = store_time()
  begin(ident)
  redis.call('HSET', own, 'fence', fence, 'nickname', nickname, 'queue', queue, 'progress_at',
    precise(now))
  redis.call('HDEL', own, 'reason', 'trouble')
  redis.call('ZADD', crawls.leases, precise(now + tonumber(lease)), ident)
  redis.call('HSET', crawls.claims, pipeline, attempt .. ' ' .. ident .. ' ' .. fence)
  redis.call('PUBLISH', crawls.news, ident)
  return {'taken', ident, fence}
end

for i = 6, #ARGV do
  local queue = ARGV[i]
  if kind_of(base .. queue) == 'list' then
    local waiting = redis.call('LRANGE', base .. queue, -LOOK, -1)
    for n = #waiting, 1, -1 do
      local found = problem(waiting[n])
      if not found then return take(waiting[n], queue) end
      if found ~= 'paused' then return {found, waiting[n], queue} end
    end
  end
end
return false
""".replace("LOOK", str(_LOOK))
)

# KEYS[1] pending; ARGV[1] ident, ARGV[2] pipeline, ARGV[3] nickname, ARGV[4] seconds of the lease,
# ARGV[5] 1 to count from the beginning. Returns the new fence, or nothing if the crawl is
# not the pipeline's any longer.
_RESUME = Script(
    LAYOUT
    + _BEGIN
    + """
local ident, pipeline, nickname, lease = unpack(ARGV, 1, 4)
if not is_readable(ident) then return false end
local job, own = archive.job(ident), crawls.crawl(ident)
local owner, finished = unpack(redis.call('HMGET', job, 'pipeline_id', 'finished_at'))
if owner ~= pipeline or finished or redis.call('HEXISTS', own, 'fence') == 0 then return false end
redis.call('ZCARD', crawls.leases)
if not redis.call('LPOS', archive.working, ident) then
  redis.call('LPUSH', archive.working, ident)
end
local fence, now = redis.call('INCR', crawls.fences), store_time()
redis.call('HSET', own, 'fence', fence, 'nickname', nickname, 'progress_at', precise(now))
if ARGV[5] == '1' then begin(ident) end
redis.call('ZADD', crawls.leases, precise(now + tonumber(lease)), ident)
redis.call('PUBLISH', crawls.news, ident)
return fence
"""
)

# KEYS[1] pending; ARGV[1] ident, ARGV[2] pipeline, ARGV[3] fence, ARGV[4] reason, ARGV[5] entry of
# the log. Returns why it was refused, or nothing.
_RELEASE = Script(
    LAYOUT
    + OWNED
    + QUEUES
    + LOGGING
    + GIVE_BACK
    + """
local refused = refusal(ARGV[1], ARGV[2], ARGV[3])
if refused then return refused end
redis.call('LLEN', archive.working)
redis.call('ZCARD', crawls.leases)
give_back(ARGV[1], ARGV[4], ARGV[5])
return false
"""
)

# KEYS[1] pending; ARGV[1] pipeline. Returns idents at work whose record names the pipeline.
_OWNED_BY = Script(
    LAYOUT
    + READ
    + """
local found = {}
for _, ident in ipairs(read('LRANGE', archive.working, 0, -1) or {}) do
  if read('HGET', archive.job(ident), 'pipeline_id') == ARGV[1] then found[#found + 1] = ident end
end
return found
"""
)

# KEYS[1] pending; ARGV[1] ident, ARGV[2] LPUSH for the back or RPUSH for the front of its queue.
# Returns 0 where it is in no queue.
_MOVE = Script(
    LAYOUT
    + QUEUES
    + """
for _, key in ipairs(queue_keys(ARGV[1])) do
  if kind_of(key) == 'list' and redis.call('LREM', key, 0, ARGV[1]) > 0 then
    redis.call(ARGV[2], key, ARGV[1])
    redis.call('PUBLISH', crawls.news, ARGV[1])
    return 1
  end
end
return 0
"""
)

# KEYS[1] pending. Forgets the tags of queues in which no crawl waits; returns the others.
_PRUNE = Script(
    LAYOUT
    + """
local kept = {}
for _, tag in ipairs(redis.call('SMEMBERS', crawls.queues)) do
  if redis.call('EXISTS', archive.pending_for(tag)) == 1 then
    kept[#kept + 1] = tag
  else
    redis.call('SREM', crawls.queues, tag)
  end
end
return kept
"""
)

# KEYS[1] pending. Returns the tags of the queues that were seen.
_TAGS = Script(LAYOUT + READ + "return read('SMEMBERS', crawls.queues) or {}")

# KEYS[1] pending. Returns 1 if a crawl waits in any queue.
_IS_ANY_WAITING = Script(
    LAYOUT
    + READ
    + """
local keys = {archive.pending, archive.pending_ao, archive.pending_large}
for _, tag in ipairs(read('SMEMBERS', crawls.queues) or {}) do
  keys[#keys + 1] = archive.pending_for(tag)
end
for _, key in ipairs(keys) do
  if (read('LLEN', key) or 0) > 0 then return 1 end
end
return 0
"""
)


def queue_order(
    nickname: str, tags: Iterable[str], *, only_pages: bool = False, large: bool = False
) -> list[str]:
    """The queues that a pipeline takes crawls from, the most urgent first."""
    large_ones = [PENDING_LARGE] if large else []
    if only_pages:
        return [*large_ones, PENDING_AO]
    own = [f"{PENDING}:{tag}" for tag in sorted(tags) if tag in nickname]
    return [*own, *large_ones, PENDING, PENDING_AO]


async def reserve(
    store: Store,
    pipeline: str,
    nickname: str,
    *,
    attempt: str,
    lease: float,
    now: float,
    only_pages: bool = False,
    large: bool = False,
) -> Ownership | None:
    """Takes the next crawl under a lease of so many seconds; None if none is waiting.

    `attempt` is a token without blanks. A call that failed is repeated with the same one, so that a
    crawl whose answer was lost is not taken for nothing.
    """
    order = queue_order(nickname, await tags(store), only_pages=only_pages, large=large)
    while True:
        args: list[Argument] = [pipeline, nickname, attempt, lease, time_text(now), *order]
        answer = await _RESERVE(store, [_pending(store)], args)
        probe("archive.reserved")
        if not answer:
            return None
        word, ident, rest = answer
        if word == b"taken":
            return Ownership(text(ident), pipeline, rest)
        await _remove_unfit(store, word.decode(), ident, text(rest), now)


async def _remove_unfit(store: Store, why: str, ident: bytes, queue: str, now: float) -> None:
    """Removes what can't be crawled from its queue. Whoever crawls goes on with the next."""
    logs.get(role="pipeline").warning("removed from its queue", ident=ident, queue=queue, why=why)
    name = text(ident)
    try:
        if why == "aborted":
            await finishing.abort(store, name, "", now)
        elif why == "unreadable":
            await finishing.fail(store, name, "its record has no URL", now)
    except WatchbellError:
        pass  # there is no record at all, or it has ended meanwhile
    await store.call("LREM", store.prefix + queue, -1, ident)


async def resume(
    store: Store, ident: str, pipeline: str, nickname: str, *, lease: float, is_fresh: bool = False
) -> Ownership | None:
    """Takes a crawl of this pipeline up again; earlier rights to it end. None where the crawl is
    not the pipeline's any longer. `is_fresh`: the pipeline has nothing of it, and counts batches of
    log entries from 1 again."""
    args: list[Argument] = [ident, pipeline, nickname, lease, int(is_fresh)]
    fence = await _RESUME(store, [_pending(store)], args)
    probe("archive.resumed")
    return Ownership(ident, pipeline, fence) if fence else None


async def release(store: Store, ownership: Ownership, reason: str, now: float) -> bool:
    """Gives a crawl back to the front of its queue. False where it is not ours."""
    args: list[Argument] = [ownership.ident, ownership.pipeline, ownership.fence, reason]
    refused = await _RELEASE(store, [_pending(store)], [*args, log_line(reason, now)])
    probe("archive.released")
    return not refused


def log_line(message: str, now: float) -> str:
    return crawl_log.encoded(LogEntry(type="stdout", ts=now, message=message))


async def owned(store: Store, pipeline: str) -> list[str]:
    """The crawls that a pipeline works on, as far as the store knows."""
    return [text(ident) for ident in await _OWNED_BY(store, [_pending(store)], [pipeline])]


async def tags(store: Store) -> list[str]:
    """Of the queues `pending:TAG` that were seen."""
    return [text(tag) for tag in await _TAGS(store, [_pending(store)])]


async def pending(store: Store) -> dict[str, list[str]]:
    """The crawls in each queue, the next one first; queues without crawls are left out, except the
    three that always exist."""
    names = [PENDING, PENDING_AO, PENDING_LARGE]
    names += [f"{PENDING}:{tag}" for tag in sorted(await tags(store))]
    found = {}
    for name in names:
        if await store.call("TYPE", store.prefix + name) == b"list":
            waiting = await store.call("LRANGE", store.prefix + name, 0, -1)
            found[name] = [text(ident) for ident in reversed(waiting)]
        elif ":" not in name:
            found[name] = []
    return found


async def is_any_waiting(store: Store) -> bool:
    return bool(await _IS_ANY_WAITING(store, [_pending(store)]))


async def move(store: Store, ident: str, where: Literal["front", "back"]) -> None:
    """Raises Refused if the crawl is not waiting."""
    command = "RPUSH" if where == "front" else "LPUSH"
    if not await _MOVE(store, [_pending(store)], [ident, command]):
        raise Refused("the crawl is not in a queue", code="not_queued")


async def discover(store: Store) -> None:
    """Finds queues `pending:TAG` that other programs have made, and forgets those that are
    empty."""
    known = {text(tag) for tag in await _PRUNE(store, [_pending(store)])}
    pattern = f"{store.prefix}{PENDING}:*"
    for primary in await store.primaries():
        cursor = 0
        while True:
            cursor, page = await primary.call(
                "SCAN", cursor, "MATCH", pattern, "COUNT", 1000, "TYPE", "list"
            )
            found = {text(key).removeprefix(f"{store.prefix}{PENDING}:") for key in page} - known
            if found:
                await store.call("SADD", Crawls(store.prefix).queues(), *found)
                known |= found
            if not int(cursor):
                break


def _pending(store: Store) -> str:
    return Archive(store.prefix).pending()
