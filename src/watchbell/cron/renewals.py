"""Renews runs and their locks in the store."""

from collections.abc import Sequence

import msgspec

from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.lua import HOLDERS
from watchbell.runs.leases import Renewal, Verdict
from watchbell.runs.running import Running
from watchbell.store.client import Store
from watchbell.store.script import Script

_VERDICTS = {1: Verdict.RENEWED, 0: Verdict.OVER, -1: Verdict.LOCK_LOST, -2: Verdict.REFUSED}

# KEYS active, rundata; ARGV[1] msgpack: prefixes of keys, ARGV[2] msgpack: {run, lock, ms of the
# lock}. A lock that nobody holds, lapsed or lost with the store's last writes, is taken again.
# Returns for each run one of the numbers above and, where the store refused to renew its lock, for
# how many ms no other run begins under it. Only refusals of a full primary count: others (READONLY,
# NOREPLICAS, CLUSTERDOWN) may come from a server whose successor accepts writes.
_KEEP = Script(
    """
local own = cmsgpack.unpack(ARGV[1])
"""
    + HOLDERS
    + """
local time = redis.call('TIME')
local now = string.format('%d.%06d', time[1], time[2])

local function is_refused(answer)
  if type(answer) ~= 'table' or not answer.err then return false end
  local code = string.match(answer.err, '^%-?(%u+)')
  if code ~= 'MISCONF' and code ~= 'OOM' then error(answer) end
  return true
end

-- A replica whose disk is full answers as a primary does.
local function is_primary()
  local info = redis.pcall('INFO', 'replication')
  return type(info) == 'string' and string.find(info, 'role:master', 1, true) ~= nil
end

-- Returns the answer where the lock could not be renewed.
local function renew(run, lock, ttl)
  local key = own.locks .. lock
  local token = redis.call('GET', key)
  if token and token ~= run then return {-1, 0} end
  local holder, left, is_noticed = recorded_holder(lock)
  if not token and holder and holder ~= run then return {-1, 0} end
  -- A store without memory refuses SET, and accepts PEXPIRE; and then all that follows it, too.
  local answer = redis.pcall('PEXPIRE', key, ttl)
  if is_refused(answer) then return {-2, holder == run and is_primary() and left or 0} end
  if not token then redis.call('SET', key, run, 'PX', ttl) end
  if holder ~= run or is_noticed then record_holder(lock, run, ttl) end
end

local function keep(run, lock, ttl)
  if not redis.call('ZSCORE', KEYS[1], run) then
    local is_json, record = pcall(cjson.decode, redis.call('HGET', KEYS[2], run) or '')
    if not is_json or type(record) ~= 'table' or record.status ~= 'running' then return {0, 0} end
  end
  local failure = lock ~= '' and renew(run, lock, ttl)
  if failure then return failure end
  return is_refused(redis.pcall('ZADD', KEYS[1], now, run)) and {-2, 0} or {1, 0}
end

local answers = {}
for i, one in ipairs(cmsgpack.unpack(ARGV[2])) do answers[i] = keep(unpack(one)) end
return answers
"""
)


class Renewals:
    def __init__(self, store: Store) -> None:
        keys, own = Cron(store.prefix), CronOwn(store.prefix)
        self._store = store
        self._keys = [keys.active(), keys.runs()]
        self._own = msgspec.msgpack.encode(
            {"locks": keys.lock.literals[0], "holders": own.holder.literals[0]}
        )
        # Sentinels and clusters put another primary in the place of one whose disk is full.
        self._has_one_server = store.url.topology == "single"

    async def renew(self, runs: Sequence[Running]) -> list[Renewal]:
        wishes = msgspec.msgpack.encode([(run.id, run.lock, run.ttl) for run in runs])
        answers = await _KEEP(self._store, self._keys, [self._own, wishes])
        return [self._renewal(*answer) for answer in answers]

    def _renewal(self, answer: int, left: int) -> Renewal:
        return Renewal(_VERDICTS[answer], left / 1000 if self._has_one_server else 0)
