"""How crawls end: completed by their pipeline, aborted, given up, or forgotten early."""

from enum import Enum

import msgspec

from watchbell.archive import check_reports, crawls
from watchbell.archive.crawl_records import time_text
from watchbell.archive.keys import Archive
from watchbell.archive.log_draining import drain
from watchbell.archive.lua import LAYOUT, OWNED, QUEUES, REPORTING
from watchbell.archive.model import Ending, Ownership
from watchbell.errors import NotFound, Refused
from watchbell.probes import probe
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

KEPT = 172_800
"""Seconds for which the record of a completed crawl is kept."""
KEPT_BRIEFLY = 5
"""The same for one that was aborted or has failed."""
MOST_NOTIFICATIONS = 1_000


class Finished(Enum):
    """What became of the report that a crawl has ended."""

    RECORDED = "recorded"
    ENDED = "ended"
    """It has ended before."""
    LOST = "lost"
    """Another pipeline has the crawl, or it waits for one."""
    GONE = "gone"
    """There is no such crawl any longer."""


class Abort(Enum):
    ENDED = "ended"
    """It was waiting and has ended now."""
    REQUESTED = "requested"
    """Its pipeline ends it."""


# Needs LAYOUT. `record` writes a crawl that has ended into the history, and lets our keys of it
# expire after `seconds`.
RECORD = """
local PASSING = {'log_key', 'ignore_patterns_set_key', 'heartbeat', 'last_acknowledged_heartbeat',
  'death_timer', 'last_analyzed_log_entry', 'last_broadcasted_log_entry', 'last_trimmed_log_entry',
  'recorded_at'}
local OWN_PASSING = {'token', 'fence', 'finisher', 'batch', 'progress_at', 'trouble'}

local function table_of(key)
  local found, all = {}, redis.call('HGETALL', key)
  for i = 1, #all, 2 do found[all[i]] = all[i + 1] end
  return found
end

local function check_records()
  redis.call('HLEN', crawls.history)
  redis.call('ZCARD', crawls.ended)
  redis.call('ZCARD', crawls.ended_by_ident)
end

local function record(ident, at, files, seconds)
  local job, own = table_of(archive.job(ident)), table_of(crawls.crawl(ident))
  local id = ident .. ':' .. (job.queued_at or at)
  for _, field in ipairs(PASSING) do job[field] = nil end
  for _, field in ipairs({'url', 'url_file'}) do
    if job[field] then job[field] = shown_url(job[field]) end
  end
  for _, field in ipairs(OWN_PASSING) do own[field] = nil end
  redis.call('HSET', crawls.history, id, '{"ident":' .. cjson.encode(ident) .. ',"job":'
    .. cjson.encode(job) .. ',"own":' .. cjson.encode(own) .. ',"files":' .. files .. '}')
  redis.call('ZADD', crawls.ended, at, id)
  redis.call('ZADD', crawls.ended_by_ident, 0, id)
  redis.call('HSET', archive.job(ident), 'recorded_at', at)
  for _, family in ipairs({'crawl', 'recent', 'matches', 'hosts', 'minutes'}) do
    redis.call('EXPIRE', crawls[family](ident), seconds)
  end
end
"""

# Needs LAYOUT, QUEUES, REPORTING, RECORD. `is_undrained`: whether entries of a log are not counted
# and broadcast yet. `end_crawl` ends a crawl; `how` is completed, aborted or failed.
_END = (
    f"local KEPT, KEPT_BRIEFLY, MOST_NOTIFICATIONS = {KEPT}, {KEPT_BRIEFLY}, {MOST_NOTIFICATIONS}\n"
    """
local function is_undrained(ident)
  if kind_of(archive.log(ident)) ~= 'zset' then return false end
  local score, analyzed, broadcasted = unpack(redis.call('HMGET', archive.job(ident), 'log_score',
    'last_analyzed_log_entry', 'last_broadcasted_log_entry'))
  score = number_of(score)
  local from = math.min(cursor_of(analyzed, score), cursor_of(broadcasted, score))
  return redis.call('ZCOUNT', archive.log(ident), '(' .. whole(from), '+inf') > 0
end

-- All entries are counted and broadcast.
local function trim_all(ident)
  local job, log = archive.job(ident), archive.log(ident)
  local score = whole(number_of(redis.call('HGET', job, 'log_score')))
  if kind_of(log) == 'zset' then redis.call('DEL', log) end
  redis.call('HSET', job, 'last_analyzed_log_entry', score, 'last_broadcasted_log_entry', score,
    'last_trimmed_log_entry', score)
end

-- Raises an error before anything is written, where a key is of a wrong type.
local function check_end()
  check_records()
  redis.call('LLEN', archive.working)
  redis.call('LLEN', archive.finish_notifications)
  redis.call('ZCARD', crawls.leases)
  redis.call('HLEN', crawls.failing)
  redis.call('HLEN', crawls.unreported)
end

local function add_one(key)
  if is_fit(key, 'string') then
    redis.call('SET', key, whole(number_of(redis.call('GET', key) or '0') + 1))
  end
end

local function notify(ident, how, reason)
  local job = table_of(archive.job(ident))
  local notice = {ident = ident, state = how, reason = reason, aborted = how == 'aborted'}
  for _, field in ipairs({'url', 'url_file', 'fetch_depth', 'pipeline_id', 'queued_at',
    'started_at', 'finished_at', 'started_by', 'started_in', 'note', 'bytes_downloaded',
    'items_downloaded', 'error_count', 'warc_size'}) do notice[field] = job[field] end
  for _, field in ipairs({'url', 'url_file'}) do
    if notice[field] then notice[field] = shown_url(notice[field]) end
  end
  redis.call('RPUSH', archive.finish_notifications, cjson.encode(notice))
  redis.call('LTRIM', archive.finish_notifications, -MOST_NOTIFICATIONS, -1)
end

local function update_check(ident, how, reason, check, event)
  if how == 'failed' then
    redis.call('HSET', crawls.failing, ident, reason)
    report(check, event)
  elseif redis.call('HDEL', crawls.failing, ident) == 1 then
    report(check, event)
  end
end

local function end_crawl(ident, how, reason, at, files, check, event)
  local job = archive.job(ident)
  redis.call('HSET', job, 'finished_at', at)
  if how ~= 'completed' then redis.call('HSET', job, how, 'true') end
  redis.call('HSET', crawls.crawl(ident), 'reason', reason)
  trim_all(ident)
  unqueue(ident)
  redis.call('LREM', archive.working, 0, ident)
  redis.call('ZREM', crawls.leases, ident)
  add_one(archive[how])
  local seconds = how == 'completed' and KEPT or KEPT_BRIEFLY
  record(ident, at, files, seconds)
  notify(ident, how, reason)
  for _, family in ipairs({'job', 'log', 'ignores'}) do
    redis.call('EXPIRE', archive[family](ident), seconds)
  end
  update_check(ident, how, reason, check, event)
  redis.call('PUBLISH', archive.updates, ident)
  redis.call('PUBLISH', crawls.news, ident)
end
"""
)

_ALL = LAYOUT + OWNED + QUEUES + REPORTING + RECORD + _END

# KEYS[1] pending; ARGV ident, pipeline, fence, how, reason, time, files as JSON, size of the WARCs,
# check, event. Returns recorded, gone, lost, ended, or undrained: the log must be drained first.
_FINISH = Script(
    _ALL
    + """
local ident, pipeline, fence, how, reason, at, files, size, check, event = unpack(ARGV)
local refused = refusal(ident, pipeline, fence)
if refused then return refused end
if is_undrained(ident) then return 'undrained' end
check_end()
redis.call('HSET', archive.job(ident), 'warc_size', size)
redis.call('HSET', crawls.crawl(ident), 'finisher', fence)
end_crawl(ident, how, reason, at, files, check, event)
return 'recorded'
"""
)

# KEYS[1] pending; ARGV ident, reason, time, check, event. Returns ended, requested, over (it had
# ended), gone or undrained.
_ABORT = Script(
    _ALL
    + """
local ident, reason, at, check, event = unpack(ARGV)
local job = archive.job(ident)
if not is_readable(ident) then return 'gone' end
if redis.call('HEXISTS', job, 'finished_at') == 1 then return 'over' end
check_end()
if redis.call('LPOS', archive.working, ident) or redis.call('ZSCORE', crawls.leases, ident) then
  if redis.call('HGET', job, 'abort_requested') ~= 'true' then
    redis.call('HSET', job, 'abort_requested', 'true')
    redis.call('HSET', crawls.crawl(ident), 'reason', reason)
    redis.call('PUBLISH', archive.settings(ident), add_to(job, 'settings_age', 1))
    redis.call('PUBLISH', crawls.news, ident)
  end
  return 'requested'
end
if is_undrained(ident) then return 'undrained' end
end_crawl(ident, 'aborted', reason, at, '[]', check, event)
return 'ended'
"""
)

# KEYS[1] pending; ARGV ident, how, reason, time, check, event, lease or ''. Ends a crawl whatever
# its pipeline does; with a lease, only if that is the present one. Returns ended, over, gone,
# changed or undrained.
_GIVE_UP = Script(
    _ALL
    + """
local ident, how, reason, at, check, event, lease = unpack(ARGV)
if not is_readable(ident) then return 'gone' end
if redis.call('HEXISTS', archive.job(ident), 'finished_at') == 1 then return 'over' end
check_end()
if lease ~= '' and (redis.call('ZSCORE', crawls.leases, ident) or '') ~= lease then
  return 'changed'
end
if is_undrained(ident) then return 'undrained' end
end_crawl(ident, how, reason, at, '[]', check, event)
return 'ended'
"""
)

# KEYS[1] pending; ARGV ident, check, event. Records a crawl that another program has ended. Our own
# keys expire with those of the crawl.
_RECORD_ENDED = Script(
    _ALL
    + """
local ident, check, event = unpack(ARGV)
local job = archive.job(ident)
if not is_readable(ident) then return end
local at, recorded, aborted = unpack(
  redis.call('HMGET', job, 'finished_at', 'recorded_at', 'aborted'))
if not at or recorded then return end
check_end()
redis.call('LREM', archive.working, 0, ident)
redis.call('ZREM', crawls.leases, ident)
local left = redis.call('TTL', job)
if left < 0 then left = KEPT end
record(ident, precise(number_of(at)), '[]', left)
update_check(ident, aborted == 'true' and 'aborted' or 'completed', '', check, event)
redis.call('PUBLISH', crawls.news, ident)
"""
)

# KEYS[1] pending; ARGV[1] ident. Returns 1 if its keys were deleted, 0 if they do not expire.
_EXPIRE = Script(
    LAYOUT
    + """
local ident = ARGV[1]
if redis.call('TTL', archive.job(ident)) < 0 then return 0 end
redis.call('DEL', archive.job(ident), archive.log(ident), archive.ignores(ident),
  crawls.crawl(ident), crawls.recent(ident), crawls.matches(ident), crawls.hosts(ident),
  crawls.minutes(ident))
redis.call('PUBLISH', crawls.news, ident)
return 1
"""
)


async def finish(store: Store, ownership: Ownership, ending: Ending) -> Finished:
    """Records the end of a crawl, once. May be repeated: it has ended then."""
    how, reason = _outcome(ending)
    found = await crawls.get(store, ownership.ident)
    if found is None:
        return Finished.GONE
    check = check_reports.crawl_ended(
        ownership.ident, found.url, reason, ending.finished_at, has_failed=how == "failed"
    )
    files = msgspec.json.encode(ending.files).decode()
    args: list[Argument] = [ownership.ident, ownership.pipeline, ownership.fence, how, reason]
    args += [time_text(ending.finished_at), files, ending.warc_size, *check]
    answer = await _drained_before(store, _FINISH, args)
    probe("archive.finished")
    return Finished(answer)


def _outcome(ending: Ending) -> tuple[str, str]:
    if ending.failure:
        return "failed", ending.failure
    return ("aborted", "aborted") if ending.is_aborted else ("completed", "completed")


async def abort(store: Store, ident: str, by: str, now: float) -> Abort:
    """Ends a crawl that waits; asks the pipeline to end one that runs. Raises NotFound, or Refused
    if it has ended."""
    url = await _url(store, ident)
    reason = f"aborted by {by}" if by else "aborted"
    check = check_reports.crawl_ended(ident, url, reason, now, has_failed=False)
    args: list[Argument] = [ident, reason, time_text(now), *check]
    return Abort(_checked(ident, await _drained_before(store, _ABORT, args)))


async def fail(store: Store, ident: str, reason: str, now: float) -> None:
    """Gives a crawl up, wherever it is. Raises NotFound, or Refused if it has ended."""
    _checked(ident, await give_up(store, ident, "failed", reason, now))


async def give_up(
    store: Store, ident: str, how: str, reason: str, now: float, lease: str = ""
) -> str:
    """Ends a crawl as aborted or failed; with `lease`, the score of its lease, only as long as that
    does not change. Returns ended, over, gone or changed."""
    found = await crawls.get(store, ident)
    url = found.url if found else ident
    has_failed = how == "failed"
    check = check_reports.crawl_ended(ident, url, reason, now, has_failed=has_failed)
    args: list[Argument] = [ident, how, reason, time_text(now), *check, lease]
    return await _drained_before(store, _GIVE_UP, args)


async def record_ended(store: Store, ident: str) -> None:
    """Writes a crawl that another program has ended into the history, once."""
    found = await crawls.get(store, ident)
    if found is None or found.finished_at is None:
        return
    check = check_reports.crawl_ended(
        ident, found.url, "the crawl has ended", found.finished_at, has_failed=False
    )
    await _RECORD_ENDED(store, [Archive(store.prefix).pending()], [ident, *check])


async def expire(store: Store, ident: str) -> None:
    """Forgets a crawl that has ended, so that its URL may be archived again. The history keeps it.
    Raises NotFound, or Refused if it has not ended."""
    await _url(store, ident)
    if not await _EXPIRE(store, [Archive(store.prefix).pending()], [ident]):
        raise Refused("the crawl does not yet have an expiry timer", code="running")


async def _drained_before(store: Store, script: Script, args: list[Argument]) -> str:
    """A crawl ends with its whole log counted and broadcast."""
    while True:
        answer: bytes = await script(store, [Archive(store.prefix).pending()], args)
        if answer != b"undrained":
            return answer.decode()
        await drain(store, str(args[0]), quiet=0)


async def _url(store: Store, ident: str) -> str:
    found = await crawls.get(store, ident)
    if found is None:
        raise NotFound(f"there is no crawl {ident}")
    return found.url


def _checked(ident: str, answer: str) -> str:
    if answer == "gone":
        raise NotFound(f"there is no crawl {ident}")
    if answer == "over":
        raise Refused("the crawl has ended", code="ended")
    return answer
