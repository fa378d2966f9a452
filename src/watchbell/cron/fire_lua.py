"""Lua that scripts about fires and scripts about results share: lists of fires, retries, answers.

A script that includes it has these locals: `own` (the prefixes of keys), and the keys `runs`,
`pending`, `pools`, `awaited`, `retries`, `retries_due`, `events`, `unreported`.
"""

from watchbell.cron import lua
from watchbell.cron.keys import Cron, CronOwn

ANSWERS_KEPT = 600_000
"""Milliseconds for which the answer to a trigger can be read."""
TURN = 5_000
"""Milliseconds for which a lock is kept for the fire that waited longest for it."""

SHARED = (
    lua.REPORT
    + """
-- What JSON says, or an empty table where it is none: others can write these keys, too.
local function decoded(text)
  local is_json, said = pcall(cjson.decode, text)
  return is_json and type(said) == 'table' and said or {}
end

-- The list in which a fire waits. Fires of one placement have a list of their own, from which only
-- instances that it permits take.
local function list_of(text)
  if not string.find(text, '"pool":', 1, true) then return pending end
  local pool = decoded(text).pool
  if type(pool) ~= 'string' then return pending end
  redis.call('SADD', pools, pool)
  return own.pool_pending .. redis.sha1hex(pool)
end

-- A job has at most one attempt that waits; a job without lock has one for each instance.
local function retry_key(item, instance)
  if item.lock ~= '' then return item.job end
  return item.job .. '\\n' .. (item.only_on or instance)
end

-- The failure becomes final: it is reported now. Returns the attempt that is not made.
local function give_up_retry(key)
  local kept = decoded(redis.call('HGET', retries, key))
  redis.call('HDEL', retries, key)
  redis.call('ZREM', retries_due, key)
  local fire = decoded(kept.fire)
  if type(kept.event) == 'string' and kept.event ~= '' then
    report('cron:' .. tostring(fire.job), kept.event)
  end
  return fire
end

-- Tells the sender of a trigger what became of it.
local function answer(item, said)
  if type(item.trigger) ~= 'string' then return end
  local key = own.answers .. item.trigger
  redis.call('RPUSH', key, cjson.encode(said))
  redis.call('PEXPIRE', key, own.answers_kept)
end
"""
    + lua.HOLDERS
    + lua.LOCKS
)

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
    + SHARED
    + lua.MARKS
    + """
local function omit(job, first, last, count, reason, is_gone)
  local text = cjson.encode({job = job, first = first, last = last, count = count or cjson.null,
                             reason = reason, at = tonumber(now)})
  redis.call('LPUSH', omissions, text)
  redis.call('LTRIM', omissions, 0, own.most_omissions - 1)
  if is_gone then return end -- nobody would clear away what is kept of the job
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

-- A retry that was given up meanwhile is not made. Any other run takes the place of the retry that
-- waits.
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

-- How many fires of a job were left out since its last run began, and the first of them: the
-- watchdog reports those that are too many.
local function count_skip(job, fire, lock)
  local known = redis.call('HGET', skipped, job) or ''
  local count, first = string.match(known, '^(%d+):(%d+):')
  redis.call('HSET', skipped, job, string.format('%d:%d:%s', (count or 0) + 1, first or fire, lock))
end

local function skip_held(item, reason)
  if item.why ~= 'trigger' then count_skip(item.job, item.fire, item.lock) end
  return skip(item, reason)
end

-- A fire that waits for its lock; of each job one may, or all that are made up for.
local function queue(item)
  local key = own.waiting .. item.lock
  for _, other in ipairs(item.overlap == 'each' and {} or redis.call('LRANGE', key, 0, -1)) do
    if decoded(other).job == item.job then
      return skip_held(item, 'skipped: another fire already waits for the lock')
    end
  end
  local side = item.is_queued and 'LPUSH' or 'RPUSH' -- it was the next, and others came before it
  item.is_queued = true
  redis.call(side, key, cjson.encode(item))
  redis.call('SADD', awaited, item.lock)
  answer(item, {waits = 'a run holds its lock'})
  return -4
end

-- Takes the lock for a run. Returns whether that has it, and else which job does. Fires that wait
-- for the lock come before those that come later. A lock that has lapsed is nobody's until the
-- notice to its last run is over; fires wait meanwhile.
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

-- With `skip`, a fire is left out while a run of its own job goes on; for a run of another job it
-- waits, so that jobs with one lock take turns.
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

-- Whether a call before this one, whose answer was lost, began the run. Its lock may have lapsed
-- since, and be another's: the next renewal tells.
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

-- Whether fires wait in a list for so long that there are more than can be run.
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
                'skipped: an earlier fire still waits, the fleet has no place free')
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
"""For scripts that claim, take and begin fires. ARGV[1] msgpack: who we are, and the prefixes of
keys."""


def prefixes(keys: Cron, own: CronOwn) -> dict[str, str | int]:
    """What `SHARED` finds in `own`."""
    return {
        "locks": keys.lock.literals[0],
        "holders": own.holder.literals[0],
        "waiting": own.waiting.literals[0],
        "turn": TURN,
        "pool_pending": own.pool_pending.literals[0],
        "own_pendings": own.own_pending.literals[0],
        "answers": own.answers.literals[0],
        "answers_kept": ANSWERS_KEPT,
    }
