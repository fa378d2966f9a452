"""Shared by all scripts about fires: Lua, keys, and the caller that passes them."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from watchbell.alerting.keys import Alerting
from watchbell.cron import last_handled, lua
from watchbell.cron.fires import GOES_ON_HERE
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import parsed
from watchbell.cron.placement import Placement, Site, permits
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

MOST_OMISSIONS = 10_000
MOST_JOB_OMISSIONS = 1_000
PATIENCE = 60
"""Seconds for which a fire may wait for a free place before later ones of its job are skipped."""
MOST_OWN = 10_000
"""How many fires of jobs without a lock may wait for a place on one instance."""

COMMON = (
    """
local jobs, runs, active, details, fired = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local pending, own_pending, backlog = KEYS[6], KEYS[7], KEYS[8]
local omissions, awaited, events = KEYS[9], KEYS[10], KEYS[11]
local pools, retries, retries_due, paused = KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local unreported, ahead, skipped = KEYS[16], KEYS[17], KEYS[18]
local own = cmsgpack.unpack(ARGV[1])
local time = redis.call('TIME')
local seconds = tonumber(time[1])
local now = string.format('%d.%06d', time[1], time[2])
local begun = {}
"""
    + lua.SHARED
    + lua.MARKS
    + """
local function omit(job, first, last, count, reason, is_gone)
  local text = cjson.encode({job = job, first = first, last = last, count = count or cjson.null,
                             reason = reason, at = tonumber(now)})
  redis.call('LPUSH', omissions, text)
  redis.call('LTRIM', omissions, 0, own.most_omissions - 1)
  if is_gone then return end -- nothing would ever clear what is stored of the job
  redis.call('LPUSH', own.job_omissions .. job, text)
  redis.call('LTRIM', own.job_omissions .. job, 0, own.most_job_omissions - 1)
end

local function leave_out(job, fire, reason, is_gone)
  omit(job, fire, fire, 1, reason, is_gone)
  return -3
end

local function skip(item, reason, is_gone)
  if item.why == 'retry' then give_up_retry(retry_key(item, own.name)) end
  answer(item, {skipped = reason})
  return leave_out(item.job, item.fire, reason, is_gone)
end

-- A retry that was given up meanwhile is not made. Any other run replaces the retry that waits.
local function is_obsolete(item)
  if item.why ~= 'retry' then return false end
  local kept = decoded(decoded(redis.call('HGET', retries, retry_key(item, own.name))).fire)
  return kept.fire ~= item.fire or kept.attempt ~= item.attempt
end

local function replace_retry(item)
  local key = retry_key(item, own.name)
  if item.why == 'retry' then
    redis.call('HDEL', retries, key)
  elseif redis.call('HEXISTS', retries, key) == 1 then
    local old = give_up_retry(key)
    if old.job then leave_out(old.job, old.fire, 'retry not made: a later run takes its place') end
  end
end

local function is_to_come(at)
  return at and at ~= '' and tonumber(at) > tonumber(now)
end

-- Counts the fires of a job that were skipped since its last run began, and records the first. The
-- watchdog reports too many.
local function count_skip(job, fire, lock)
  local known = redis.call('HGET', skipped, job) or ''
  local count, first = string.match(known, '^(%d+):(%d+):')
  redis.call('HSET', skipped, job, string.format('%d:%d:%s', (count or 0) + 1, first or fire, lock))
end

local function skip_held(item, reason)
  if item.why ~= 'trigger' then count_skip(item.job, item.fire, item.lock) end
  return skip(item, reason)
end

-- Lets a fire wait for its lock: one of each job, or all that are run late.
local function queue(item)
  local key = own.waiting .. item.lock
  for _, other in ipairs(item.overlap == 'each' and {} or redis.call('LRANGE', key, 0, -1)) do
    if decoded(other).job == item.job then
      return skip_held(item, 'skipped: another run already waits for the lock')
    end
  end
  local side = item.is_queued and 'LPUSH' or 'RPUSH' -- it was the next, and others came before it
  item.is_queued = true
  redis.call(side, key, cjson.encode(item))
  redis.call('SADD', awaited, item.lock)
  answer(item, {waits = 'a run holds its lock'})
  return -4
end

-- Takes the lock for a run. Returns whether the run has it, otherwise which job does. Fires that
-- wait for the lock come before later ones. A lock that has lapsed is not free until the notice to
-- its last run is over; fires wait meanwhile.
local function take_lock(run, item)
  local key = own.locks .. item.lock
  if not item.is_queued and redis.call('EXISTS', own.waiting .. item.lock) == 1 then
    return false, (holder_of(item.lock))
  end
  if has_lapsed(item.lock) then return false, nil end
  local holder, is_turn = holder_of(item.lock)
  local is_ours = is_turn and item.is_queued and holder == item.job
  if holder and not is_ours then return false, holder end
  redis.call('SET', key, run, 'PX', item.ttl)
  record_holder(item.lock, run, item.ttl)
  return true
end

-- With `skip`, a fire is skipped while a run of its own job holds the lock. It waits for a run of
-- another job, so that jobs with one lock take turns.
local function begin(run, item, text, at)
  if is_obsolete(item) then
    pass_turn(item)
    return -3
  end
  local has_lock = false
  if item.lock ~= '' then
    local holder
    has_lock, holder = take_lock(run, item)
    if not has_lock and item.overlap ~= 'allow' then
      local is_own = holder == item.job or holder == ''
      if item.overlap ~= 'skip' or not is_own then return queue(item) end
      return skip_held(item, 'skipped: the lock is held, a run goes on')
    end
  end
  redis.call('HDEL', skipped, item.job)
  local start = is_to_come(at) and at or now
  local record = '{"job_name":' .. cjson.encode(item.job) .. own.before_start .. start
                 .. own.after_start
  redis.call('HSET', runs, run, record)
  redis.call('ZADD', active, now, run)
  redis.call('HSET', details, run, string.sub(text, 1, -2) .. own.signature)
  begun[#begun + 1] = {run, start, text, has_lock and 1 or 0}
  if item.attempts then replace_retry(item) end
  answer(item, {run = run})
  return -1
end

-- Whether an earlier call, whose reply was lost, began the run. Another run may have its lock by
-- now; the next renewal finds out.
local function was_begun(run)
  local text, record = redis.call('HGET', details, run), redis.call('HGET', runs, run)
  if not text or decoded(record).status ~= 'running' then return false end
  local item, start = decoded(text), string.match(record, '"start_time":"?([%d.]+)')
  local lock = item.lock or ''
  local has_lock = lock ~= ''
                   and (item.overlap ~= 'allow' or redis.call('GET', own.locks .. lock) == run)
  begun[#begun + 1] = {run, start or now, text, has_lock and 1 or 0}
  return true
end

-- Whether fires have waited in a list for so long that later ones are skipped.
local known_as_behind = {}
local function is_behind(list)
  if known_as_behind[list] == nil then
    local since = string.match(redis.call('LINDEX', list, 0) or '', '"since":(%d+)')
    known_as_behind[list] = since and tonumber(since) < seconds - own.patience or false
  end
  return known_as_behind[list]
end

local function stamped(text)
  return string.sub(text, 1, -2) .. ',"since":' .. seconds .. '}'
end

local pushed = {}
local function push(job, fire, text, is_own)
  local list = is_own and own_pending or list_of(text)
  if is_own and redis.call('LLEN', own_pending) >= own.most_own then
    return skip(decoded(text), 'skipped: too many others wait for a place on ' .. own.name)
  end
  if not is_own and is_behind(list) and redis.call('HSETNX', backlog, job, seconds) == 0 then
    return skip(decoded(text),
                'skipped: an earlier run still waits, the fleet has no place free')
  end
  if string.find(text, '"trigger":', 1, true) then
    answer(decoded(text), {waits = 'all places are taken'})
  end
  if list == pending then
    pushed[#pushed + 1] = stamped(text)
  else
    redis.call('RPUSH', list, stamped(text))
  end
  return -2
end

-- How many fires wait for us, now that those of this call do.
local function waiting()
  for first = 1, #pushed, 1000 do
    redis.call('RPUSH', pending, unpack(pushed, first, math.min(first + 999, #pushed)))
  end
  local count = redis.call('LLEN', pending) + redis.call('LLEN', own_pending)
  for _, pool in ipairs(own.permitted) do count = count + redis.call('LLEN', pool) end
  return count
end
"""
)
"""The first part of every script that claims, takes or begins fires. Call it with `Caller`."""


class Caller:
    """Calls scripts that begin with `COMMON`, on behalf of one instance."""

    def __init__(
        self,
        store: Store,
        name: str,
        host: str,
        *,
        upstream: bool,
        most_events: int,
        tags: tuple[str, ...] = (),
    ) -> None:
        self.store, self._site = store, Site(host, tags)
        keys, own = Cron(store.prefix), CronOwn(store.prefix)
        self._pool_pending = own.pool_pending
        self._keys = [
            keys.jobs(),
            keys.runs(),
            keys.active(),
            own.details(),
            own.fired(),
            own.pending(),
            own.own_pending(name),
            own.backlog(),
            own.omissions(),
            own.awaited(),
            Alerting(store.prefix).events(),
            own.pools(),
            own.retries(),
            own.retries_due(),
            keys.paused(),
            own.unreported(),
            own.ahead(),
            own.skipped(),
        ]
        self._pools: tuple[str, ...] = ()
        quote = '"' if upstream else ""
        unknown = "" if upstream else ',"retcode":null,"output":null,"duration":null'
        self._constants: dict[str, Any] = {
            **lua.prefixes(keys, own),
            "name": name,
            "job_omissions": own.job_omissions.literals[0],
            "before_start": f',"start_time":{quote}',
            "after_start": f'{quote},"host":{_json(host)},"status":"running"{unknown}}}',
            "signature": f',"instance":{_json(name)}}}',
            "paused": last_handled.PAUSED,
            "patience": PATIENCE,
            "most_own": MOST_OWN,
            "most_ahead": last_handled.MOST_AHEAD,
            "most_events": most_events,
            "goes_on_here": GOES_ON_HERE,
            "most_omissions": MOST_OMISSIONS,
            "most_job_omissions": MOST_JOB_OMISSIONS,
        }
        self._own = self._packed()

    async def __call__(self, script: Script, *args: Argument) -> Any:
        return await script(self.store, self._keys, [self._own, *args])

    def permit(self, pools: Mapping[bytes, int]) -> int:
        """Takes fires from now on for those of these placements that permit this instance. `pools`
        has how many fires wait for each. Returns how many wait for placements that are new."""
        known = set(self._pools)
        permitted = {self._list(pool): pools[pool] for pool in sorted(pools) if self._permits(pool)}
        self._pools = tuple(permitted)
        self._own = self._packed()
        return sum(count for pool, count in permitted.items() if pool not in known)

    def _packed(self) -> bytes:
        return msgspec.msgpack.encode({**self._constants, "permitted": self._pools})

    def _list(self, pool: bytes) -> str:
        return self._pool_pending(hashlib.sha1(pool, usedforsecurity=False).hexdigest())

    def _permits(self, pool: bytes) -> bool:
        placement = parsed(pool, Placement)
        return placement is not None and permits(placement, self._site)


def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()
