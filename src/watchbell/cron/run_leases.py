"""Keeps runs alive in the store: their heartbeats, and the locks under which they run.

A lock that could not be renewed is given up before another run can begin under it: by then the run
has been told to end, and has been killed if it did not. The warden sees to that even while this
process is stopped. A store whose disk or memory is full answers for how long no other run begins:
while it does, the run goes on.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from watchbell import logs
from watchbell.clock import Clock
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.lua import HOLDERS
from watchbell.cron.model import Begun
from watchbell.cron.running import Running
from watchbell.errors import StoreUnavailable
from watchbell.store.client import Store
from watchbell.store.script import Script

OVER = "it was declared over by another instance"
LOCK_LOST = "its lock is held by another run"
NOT_RENEWED = "its lock could not be renewed: the store was away"

_LONGEST_PAUSE = 1.0
_KEPT, _LOST, _REFUSED = 1, -1, -2

# KEYS active, rundata; ARGV[1] msgpack: beginnings of keys, ARGV[2] msgpack: {run, lock, ms of the
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

-- Returns what is to be answered, where the lock could not be renewed.
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


class RunLeases:
    def __init__(
        self, store: Store, instance: str, heartbeat: float, kill_after: float, clock: Clock
    ) -> None:
        keys, own = Cron(store.prefix), CronOwn(store.prefix)
        self._store, self._instance, self._clock = store, instance, clock
        self._heartbeat, self._kill_after = heartbeat, kill_after
        self.runs: dict[str, Running] = {}
        """Those that this instance answers for, until their results are written."""
        self._keys = [keys.active(), keys.runs()]
        self._own = msgspec.msgpack.encode(
            {"locks": keys.lock.literals[0], "holders": own.holder.literals[0]}
        )
        # Sentinels and clusters put another primary in the place of one whose disk is full.
        self._has_one_server = store.url.topology == "single"
        self._sooner = asyncio.Event()
        self._pause = _LONGEST_PAUSE
        self._log = logs.get(role="cron")

    def begin(self, begun: Begun, asked: float) -> Running:
        """The run was begun in the store by a call that was sent at `asked`, monotonic time, or by
        a repetition of it: the store may have been away, or refused writes, in between."""
        run = self.runs[begun.run] = Running(begun, self._instance, self._kill_after)
        run.kept(asked, self._heartbeat)
        now = self._clock.monotonic()
        if run.gives_up <= now:
            run.renew_at(now)
        if run.next_keep - now < self._pause:
            self._sooner.set()
        return run

    def adopt(self, begun: Begun) -> Running:
        """The run was begun by an instance that is gone, and is to be kept at once."""
        run = self.runs[begun.run] = Running(begun, self._instance, self._kill_after)
        run.renew_at(self._clock.monotonic())
        self._sooner.set()
        return run

    def end(self, run: Running) -> None:
        del self.runs[run.id]

    async def run(self) -> None:
        while True:
            now = self._clock.monotonic()
            due = [run for run in self.runs.values() if run.next_keep <= now]
            if due:
                await self._keep(due, now)
            self._give_up_late()
            await self._sleep()

    async def _sleep(self) -> None:
        now = self._clock.monotonic()
        nexts = (min(run.next_keep, run.gives_up) for run in self.runs.values())
        self._pause = min(max(min(nexts, default=now + _LONGEST_PAUSE) - now, 0.02), _LONGEST_PAUSE)
        self._sooner.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause):
                await self._sooner.wait()

    async def _keep(self, due: Sequence[Running], asked: float) -> None:
        wishes = [(run.id, run.lock, run.ttl) for run in due]
        packed = msgspec.msgpack.encode(wishes)
        try:
            async with asyncio.timeout(self._time_left(asked)):
                answers = await _KEEP(self._store, self._keys, [self._own, packed])
        except (StoreUnavailable, TimeoutError):
            for run in due:
                run.not_kept(asked)
            return
        for run, (answer, left) in zip(due, answers, strict=True):
            if answer == _KEPT:
                run.kept(asked, self._heartbeat)
            elif answer == _REFUSED:
                run.not_kept(asked, left / 1000 if self._has_one_server else 0)
            else:
                self._lose(run, LOCK_LOST if answer == _LOST else OVER)

    def _time_left(self, now: float) -> float:
        """Until somebody has to be given up."""
        return max(min([now + 20, *(run.gives_up for run in self.runs.values())]) - now, 0.05)

    def _give_up_late(self) -> None:
        now = self._clock.monotonic()
        for run in self.runs.values():
            if run.gives_up <= now:
                self._lose(run, NOT_RENEWED)

    def _lose(self, run: Running, reason: str) -> None:
        if run.id in self.runs and not run.reason:
            self._log.warning("run stopped", run=run.id, job=run.job_name, reason=reason)
        run.lose(reason)
