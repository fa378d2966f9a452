"""Lua that several scripts of cron include; a comment names the locals that each part needs.

`own` is a table that the caller passes: prefixes of keys, limits, and the name of the instance.
"""

from watchbell.alerting.bounded_reports import REPORT
from watchbell.cron.keys import Cron, CronOwn

ANSWERS_KEPT = 600_000
"""Milliseconds for which the answer to a trigger can be read."""
TURN = 5_000
"""Milliseconds for which a lock is kept for the fire that waited longest for it."""


# Needs fired, ahead, seconds, own.most_ahead and REPORT. `mark_of` returns the last fire of a job
# that was handled, the fingerprint of its schedule, and whether the mark was more than `most_ahead`
# seconds ahead of the store's clock, because that was set back or somebody edited the mark. Such a
# mark is moved to the present once, by the first instance that reads it. `report_ahead` reports all
# marks that this call moved: by a check of our own, and in `ahead` for `doctor`.
MARKS = """
local moved = {}

local function mark_of(job)
  local last, fingerprint = string.match(redis.call('HGET', fired, job) or '', '^(%d+):(.*)$')
  last = tonumber(last)
  if not last or last <= seconds + own.most_ahead then return last, fingerprint, false end
  moved[#moved + 1] = {job, string.format('%.0f', last)}
  redis.call('HSET', ahead, job, string.format('%.0f:%d', last, seconds))
  redis.call('HSET', fired, job, string.format('%d:%s', seconds, fingerprint))
  return seconds, fingerprint, true
end

local function length_of(time)
  if time < 120 then return string.format('%.0f s', time) end
  if time < 7200 then return string.format('%.0f min', time / 60) end
  if time < 172800 then return string.format('%.0f h', time / 3600) end
  return string.format('%.0f d', time / 86400)
end

local function report_ahead()
  if #moved == 0 then return moved end
  local names, furthest = {}, 0
  for i, one in ipairs(moved) do
    furthest = math.max(furthest, tonumber(one[2]) - seconds)
    if i <= 3 then names[i] = one[1] end
  end
  local shown = table.concat(names, ', ') .. (#moved > 3 and ', …' or '')
  local jobs_ = #moved == 1 and '1 job was' or string.format('%d jobs were', #moved)
  report('watchbell:cron marks', cjson.encode({
    type = 'service', state = 'warning', entity = 'watchbell', check = 'cron marks',
    time = seconds, initial_failure_delay = 0,
    summary = jobs_ .. ' marked as handled up to ' .. length_of(furthest) .. " ahead of the store's"
              .. ' clock (' .. shown .. '); continued from the present',
    details = "The store's clock was set back, or a mark in {cronken}:watchbell:fired was edited."
  }))
  return moved
end
"""

LONGEST_NOTICE = 10_000
"""Milliseconds."""

# Needs own.locks, own.holders. A lock lapses by itself when it is not renewed, and a store that
# refuses writes keeps its instance from renewing it. So the run that took a lock is recorded beside
# it, as `NOTICE:RUN`, without expiry, until it releases the lock. An instance that wants a lock
# that lapsed without a release gives notice: it lets the record expire after NOTICE milliseconds,
# and takes the lock after that. The run's instance sees the notice whenever it can read the record,
# and a renewal withdraws it.
HOLDERS = f"""
local function record_holder(lock, run, ttl)
  local notice = math.min(ttl, {LONGEST_NOTICE})
  redis.call('SET', own.holders .. lock, string.format('%d:%s', notice, run))
end

-- The run, and for at least how many milliseconds no other one begins. Nil where the lock
-- was released.
local function recorded_holder(lock)
  local value = redis.pcall('GET', own.holders .. lock)
  local notice, run = string.match(type(value) == 'string' and value or '', '^(%d+):(.*)$')
  if not run then return nil, 0 end
  local left = redis.call('PTTL', own.holders .. lock)
  return run, left == -1 and tonumber(notice) or left, left ~= -1
end

local function give_notice(lock)
  local run, notice, is_given = recorded_holder(lock)
  if run and not is_given then redis.call('PEXPIRE', own.holders .. lock, notice) end
  return run
end

-- Whether a lock has lapsed under a run that may go on; gives notice to its instance.
local function has_lapsed(lock)
  return redis.call('EXISTS', own.locks .. lock) == 0 and give_notice(lock) ~= nil
end

local function forget_holder(lock, run)
  if recorded_holder(lock) == run then redis.call('DEL', own.holders .. lock) end
end
"""

# Needs runs, awaited, own.locks, own.waiting, own.turn, `decoded` and `list_of`. A
# lock that is released while fires wait for it is kept for the first of them, for `turn`
# milliseconds, so that no newer fire overtakes it on its way through the list of pending ones.
LOCKS = """
-- The job that has a lock: that of the run that holds it, or of the fire whose turn it is. Empty
-- where another program holds it; nil where the lock may be taken, also from a run that has ended
-- and left it for a moment to instances of Cronken.
local function holder_of(lock)
  local token = redis.call('GET', own.locks .. lock)
  if not token then return nil end
  local turn = string.match(token, '^turn:(.*)$')
  if turn then return turn, true end
  local record = decoded(redis.call('HGET', runs, token) or '')
  if record.status == 'success' or record.status == 'fail' then return nil end
  return type(record.job_name) == 'string' and record.job_name or ''
end

-- Of a lock that is free: the fire that has waited longest is next. Returns whether there is one.
local function hand_over(lock)
  local text = redis.call('LPOP', own.waiting .. lock)
  if text then
    redis.call('LPUSH', list_of(text), text)
    local job = decoded(text).job
    redis.call('SET', own.locks .. lock, 'turn:' .. tostring(job), 'PX', own.turn)
  end
  if redis.call('EXISTS', own.waiting .. lock) == 0 then redis.call('SREM', awaited, lock) end
  return text and true or false
end

-- Of a fire that is not begun after all: where it was its turn, the next one's comes.
local function pass_turn(item)
  if redis.call('GET', own.locks .. item.lock) == 'turn:' .. item.job then
    redis.call('DEL', own.locks .. item.lock)
    hand_over(item.lock)
  end
end
"""

# Needs jobs, fired, skipped, overdue, retries, retries_due, seconds, own.job_results,
# own.job_omissions and REPORT. Of a job that is no longer in the store: forgets where it stood, and
# reports its check as ok where it ever reported.
RETIRE = """
local function retire(job)
  if redis.call('HEXISTS', jobs, job) == 1 then return end
  redis.call('HDEL', skipped, job)
  redis.call('HDEL', overdue, job)
  redis.call('HDEL', retries, job)
  redis.call('ZREM', retries_due, job)
  local before, after = unpack(own.job_results)
  local reported = redis.call('EXISTS', before .. job .. after .. 'success',
                              before .. job .. after .. 'fail', own.job_omissions .. job)
  redis.call('HDEL', fired, job)
  if reported > 0 then
    report('cron:' .. job, cjson.encode({
      type = 'service', state = 'ok', entity = 'cron', check = job, time = seconds,
      summary = 'the job was removed'
    }))
  end
end
"""

# For scripts about fires and about results: lists of fires, retries, answers, locks. Needs runs,
# pending, pools, awaited, retries, retries_due, events, unreported, and in `own` what `prefixes`
# returns.
SHARED = (
    REPORT
    + """
-- The decoded JSON, or an empty table if it is not an object: others can write these keys, too.
local function decoded(text)
  local is_json, value = pcall(cjson.decode, text)
  return is_json and type(value) == 'table' and value or {}
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

-- Records for the sender of a trigger what became of it.
local function answer(item, value)
  if type(item.trigger) ~= 'string' then return end
  local key = own.answers .. item.trigger
  redis.call('RPUSH', key, cjson.encode(value))
  redis.call('PEXPIRE', key, own.answers_kept)
end
"""
    + HOLDERS
    + LOCKS
)


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
