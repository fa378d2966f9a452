"""Fires in the store: each is claimed once by one instance, and then begun there or left pending.

A job's mark is the last of its fires that was handled. A claim succeeds for a later fire only, and
moves the mark in the same script that begins the run: whoever comes second, at once or an hour
later, with whatever clock, finds the mark moved.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from watchbell.alerting.keys import Alerting
from watchbell.cron import marks
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import Begun, Fire, parsed
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

MOST_OMISSIONS = 10_000
MOST_JOB_OMISSIONS = 1_000
PATIENCE = 60
"""Seconds for which fires of a job may wait for a free place before later ones are left out."""
MOST_OWN = 10_000
"""Fires of jobs without lock that may wait for a place on one instance."""
TRIGGERS_KEPT = 3_600_000
"""Milliseconds for which instances remember who ran which trigger; longer than any is stopped."""

BEGUN, PENDING, LEFT_OUT, QUEUED, PAUSED, TOO_EARLY = -1, -2, -3, -4, -5, -6
"""What became of a claim; a number from 0 on is the mark that somebody else has set."""

# What the scripts below have in common. ARGV[1] msgpack: who we are, and the beginnings of keys.
_COMMON = """
local jobs, runs, active, details, fired = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local pending, own_pending, backlog = KEYS[6], KEYS[7], KEYS[8]
local omissions, awaited, events = KEYS[9], KEYS[10], KEYS[11]
local own = cmsgpack.unpack(ARGV[1])
local time = redis.call('TIME')
local seconds = tonumber(time[1])
local now = string.format('%d.%06d', time[1], time[2])
local begun = {}

-- What JSON says, or an empty table where it is none: others can write these keys, too.
local function decoded(text)
  local is_json, said = pcall(cjson.decode, text)
  return is_json and type(said) == 'table' and said or {}
end

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

local function is_to_come(at)
  return at and at ~= '' and tonumber(at) > tonumber(now)
end

-- A fire that waits for its lock; of each job one may, or all that are made up for.
local function queue(item)
  local key = own.waiting .. item.lock
  for _, other in ipairs(item.overlap == 'queue' and redis.call('LRANGE', key, 0, -1) or {}) do
    if decoded(other).job == item.job then
      return leave_out(item.job, item.fire,
                       'skipped: another fire already waits for the run that goes on')
    end
  end
  local side = item.is_queued and 'LPUSH' or 'RPUSH' -- it was the next, and others came before it
  item.is_queued = true
  redis.call(side, key, cjson.encode(item))
  redis.call('SADD', awaited, item.lock)
  return -4
end

local function begin(run, item, text, at)
  local has_lock = false
  if item.lock ~= '' then
    if redis.call('SET', own.locks .. item.lock, run, 'NX', 'PX', item.ttl) then
      has_lock = true
    elseif item.overlap == 'skip' then
      return leave_out(item.job, item.fire, 'skipped: the lock is held, a run goes on')
    elseif item.overlap ~= 'allow' then
      return queue(item)
    end
  end
  local start = is_to_come(at) and at or now
  local record = '{"job_name":' .. cjson.encode(item.job) .. own.before_start .. start
                 .. own.after_start
  redis.call('HSET', runs, run, record)
  redis.call('ZADD', active, now, run)
  redis.call('HSET', details, run, string.sub(text, 1, -2) .. own.signature)
  begun[#begun + 1] = {run, start, text, has_lock and 1 or 0}
  return -1
end

-- Whether a call before this one, whose answer was lost, began the run.
local function was_begun(run)
  local text, record = redis.call('HGET', details, run), redis.call('HGET', runs, run)
  if not text or decoded(record).status ~= 'running' then return false end
  local lock, start = decoded(text).lock or '', string.match(record, '"start_time":"?([%d.]+)')
  local has_lock = lock ~= '' and redis.call('GET', own.locks .. lock) == run
  begun[#begun + 1] = {run, start or now, text, has_lock and 1 or 0}
  return true
end

-- Whether fires wait for so long that there are more than the fleet can run.
local known_as_behind
local function is_behind()
  if known_as_behind == nil then
    local since = string.match(redis.call('LINDEX', pending, 0) or '', '"since":(%d+)')
    known_as_behind = since and tonumber(since) < seconds - own.patience or false
  end
  return known_as_behind
end

local pushed = {}
local function push(job, fire, text, is_own)
  if is_own and redis.call('LLEN', own_pending) >= own.most_own then
    return leave_out(job, fire, 'skipped: too many others wait for a place on ' .. own.name)
  end
  if not is_own and is_behind() and redis.call('HSETNX', backlog, job, seconds) == 0 then
    return leave_out(job, fire, 'skipped: an earlier fire still waits, the fleet has no place free')
  end
  text = string.sub(text, 1, -2) .. ',"since":' .. seconds .. '}'
  if is_own then redis.call('RPUSH', own_pending, text) else pushed[#pushed + 1] = text end
  return -2
end

-- How many fires wait, now that those of this call do.
local function waiting()
  for first = 1, #pushed, 1000 do
    redis.call('RPUSH', pending, unpack(pushed, first, math.min(first + 999, #pushed)))
  end
  return redis.call('LLEN', pending) + redis.call('LLEN', own_pending)
end
"""

# ARGV[2] how many may be begun here; ARGV[3] msgpack: claims, each {job, fire, mark, run, fire as
# JSON, instant} or, for fires that are left out, {job, last, mark, '', first, count, reason,
# event}. The mark is empty where the job has none: without lock, every instance runs it. Where
# somebody handled some of the fires that are to be left out, what is claimed of the job is out of
# date. Where its instant is to come, a fire that can't be begun now is left as it is: by then it
# may be.
# Returns what became of each, the runs begun, and how many fires are pending.
_CLAIM = Script(
    _COMMON
    + """
local room = tonumber(ARGV[2])
local answers, outdated = {}, {}

local function settled(job, fire, mark, run, first)
  if mark == '' then return run ~= '' and was_begun(run) and -1 end
  local last, fingerprint = string.match(redis.call('HGET', fired, job) or '', '^(%d+):(.*)$')
  if fingerprint == own.paused then return -5 end
  last = tonumber(last or '-1')
  if last >= fire then return last end
  if outdated[job] or run == '' and last >= first then
    outdated[job] = true
    return last
  end
end

local function is_too_early(text, at)
  if not is_to_come(at) then return false end
  local lock = cjson.decode(text).lock
  return room == 0 or lock ~= '' and redis.call('EXISTS', own.locks .. lock) == 1
end

for i, claim in ipairs(cmsgpack.unpack(ARGV[3])) do
  local job, fire, mark, run, text = unpack(claim, 1, 5)
  local at = run ~= '' and claim[6]
  local answer = settled(job, fire, mark, run, claim[5])
  if not answer and at and is_too_early(text, at) then answer = -6 end
  if not answer and mark ~= '' then redis.call('HSET', fired, job, mark) end
  if not answer and run == '' then
    omit(job, claim[5], fire, claim[6], claim[7])
    if claim[8] ~= '' then redis.call('LPUSH', events, claim[8]) end
    answer = -3
  elseif not answer and room > 0 then
    answer = begin(run, cjson.decode(text), text, at)
    if answer == -1 then room = room - 1 end
  elseif not answer then
    answer = push(job, fire, text, mark == '')
  end
  answers[i] = answer
end
return {answers, begun, waiting()}
"""
)

# ARGV[2] msgpack: names of runs; ARGV[3] whether fires that are pending are taken for those that no
# earlier call began. Returns the runs begun, how many fires are pending still, and what was in the
# list and is none.
_TAKE = Script(
    _COMMON
    + """
local names, bad = {}, {}

local function is_fire(item)
  return type(item.job) == 'string' and type(item.fire) == 'number'
    and type(item.lock) == 'string' and type(item.ttl) == 'number'
end

for _, run in ipairs(cmsgpack.unpack(ARGV[2])) do
  if not was_begun(run) then names[#names + 1] = run end
end
local at, looked = 1, 0
while ARGV[3] == '1' and at <= #names and looked < 1000 do
  looked = looked + 1
  local text = redis.call('LPOP', own_pending) or redis.call('LPOP', pending)
  if not text then break end
  local item = decoded(text)
  if not is_fire(item) then
    bad[#bad + 1] = text
  else
    redis.call('HDEL', backlog, item.job)
    if item.is_kept and redis.call('HEXISTS', jobs, item.job) == 0 then
      leave_out(item.job, item.fire, 'skipped: the job was removed before its turn came', true)
    elseif begin(names[at], item, text) == -1 then
      at = at + 1
    end
  end
end
return {begun, waiting(), bad}
"""
)

# ARGV[2] where 1, it may be begun here, ARGV[3] a run, ARGV[4] fire as JSON, ARGV[5] triggers,
# ARGV[6] up to which of them we know, ARGV[7] ms for which they are kept. Every instance hears of a
# trigger; the first to come here runs it, and each other finds that one's entry, the next after the
# last it knew. Returns the entry's score, what became of the trigger, and the run where begun here.
_TRIGGER = Script(
    _COMMON
    + """
local run, text, triggers = ARGV[3], ARGV[4], ARGV[5]
local mine = redis.call('ZSCORE', triggers, run)
if mine then return {mine, was_begun(run) and -1 or -2, begun} end
local theirs = redis.call('ZRANGEBYSCORE', triggers, '(' .. ARGV[6], '+inf', 'WITHSCORES',
                          'LIMIT', 0, 1)
if theirs[1] then return {theirs[2], 0, begun} end
local score = string.format('%.6f', math.max(tonumber(now), tonumber(ARGV[6]) + 0.000001))
redis.call('ZADD', triggers, score, run)
redis.call('PEXPIRE', triggers, ARGV[7])
local item = cjson.decode(text)
local answer = ARGV[2] == '1' and begin(run, item, text) or push(item.job, item.fire, text, false)
waiting()
return {score, answer, begun}
"""
)

# Fires whose lock was let go without anybody's telling become pending. Returns the time and how
# many are.
_LOOK = Script(
    _COMMON
    + """
-- Whether the next fire of a lock is on its way, which the one after it must not overtake.
local heads
local function is_pending(lock)
  heads = heads or redis.call('LRANGE', pending, 0, 999)
  for _, text in ipairs(heads) do
    if string.find(text, '"lock":"' .. lock .. '"', 1, true) then return true end
  end
  return false
end

for _, lock in ipairs(redis.call('SMEMBERS', awaited)) do
  if redis.call('EXISTS', own.locks .. lock) == 0 and not is_pending(lock) then
    local text = redis.call('LPOP', own.waiting .. lock)
    if text then redis.call('LPUSH', pending, text) end
    if redis.call('EXISTS', own.waiting .. lock) == 0 then redis.call('SREM', awaited, lock) end
  end
end
return {now, waiting()}
"""
)


class Claim(NamedTuple):
    job: str
    fire: int
    mark: str
    run: str
    item: str
    at: str = ""
    """The instant before which it may not be begun, where that is to come."""


class Left(NamedTuple):
    """Fires to be recorded as not run."""

    job: str
    last: int
    mark: str
    run: str
    first: int
    number: int | None
    reason: str
    event: str


class Fires:
    """The fires of a fleet, as one of its instances sees them."""

    def __init__(self, store: Store, name: str, host: str, *, upstream: bool) -> None:
        self._store = store
        keys, own = Cron(store.prefix), CronOwn(store.prefix)
        self._triggers = own.triggers
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
        ]
        quote = '"' if upstream else ""
        unknown = "" if upstream else ',"retcode":null,"output":null,"duration":null'
        self._own = msgspec.msgpack.encode(
            {
                "name": name,
                "locks": keys.lock.literals[0],
                "waiting": own.waiting.literals[0],
                "job_omissions": own.job_omissions.literals[0],
                "before_start": f',"start_time":{quote}',
                "after_start": f'{quote},"host":{_json(host)},"status":"running"{unknown}}}',
                "signature": f',"instance":{_json(name)}}}',
                "paused": marks.PAUSED,
                "patience": PATIENCE,
                "most_own": MOST_OWN,
                "most_omissions": MOST_OMISSIONS,
                "most_job_omissions": MOST_JOB_OMISSIONS,
            }
        )

    async def claim(
        self, claims: Sequence[Claim | Left], room: int
    ) -> tuple[list[int], list[Begun], int]:
        """What became of each claim, the runs to start here, and how many fires are pending. Where
        the answer is lost, `recall` tells which runs were begun."""
        packed = msgspec.msgpack.encode(claims)
        answers, begun, pending = await _CLAIM(self._store, self._keys, [self._own, room, packed])
        return answers, _read(begun)[0], pending

    async def take(self, names: Sequence[str]) -> tuple[list[Begun], int, list[bytes]]:
        """Runs to start here of fires that were pending, how many are still, and what is none.
        Bears being repeated with the same names."""
        args: list[Argument] = [self._own, msgspec.msgpack.encode(names), 1]
        begun, pending, bad = await _TAKE(self._store, self._keys, args)
        runs, unreadable = _read(begun)
        return runs, pending, [*bad, *unreadable]

    async def recall(self, names: Sequence[str]) -> list[Begun]:
        """Those of the runs that were begun by a call whose answer was lost."""
        args: list[Argument] = [self._own, msgspec.msgpack.encode(names), 0]
        begun, _, _ = await _TAKE(self._store, self._keys, args)
        return _read(begun)[0]

    async def trigger(
        self, job: str, run: str, item: str, known: float, room: int
    ) -> tuple[float, int, list[Begun]]:
        """Bears being repeated with the same run."""
        args: list[Argument] = [self._own, min(room, 1), run, item]
        entries = self._triggers(job)
        score, answer, begun = await _TRIGGER(
            self._store, self._keys, [*args, entries, f"{known:.6f}", TRIGGERS_KEPT]
        )
        return float(score), answer, _read(begun)[0]

    async def look(self) -> tuple[float, int]:
        """The store's time, and how many fires are pending for us."""
        time, pending = await _LOOK(self._store, self._keys, [self._own])
        return float(time), pending


def _read(answers: Sequence[Any]) -> tuple[list[Begun], list[bytes]]:
    """The runs begun, and what was begun and is no fire: its run has no life, and freezes."""
    found = [(parsed(one[2], Fire), *one) for one in answers]
    runs = [Begun(run.decode(), float(at), it, lock == 1) for it, run, at, _, lock in found if it]
    return runs, [text for it, _, _, text, _ in found if not it]


def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()
