"""Keeps runs alive in the store: their heartbeats, and the locks under which they run.

A lock that could not be renewed is given up before it lapses: by then the run has been told to
end, and has been killed if it did not. The warden sees to that even while this process is stopped.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from watchbell import logs
from watchbell.clock import Clock
from watchbell.cron.keys import Cron
from watchbell.cron.model import Begun
from watchbell.cron.running import Running
from watchbell.errors import StoreUnavailable
from watchbell.store.client import Store
from watchbell.store.script import Script

OVER = "it was declared over by another instance"
LOCK_LOST = "its lock is held by another run"
NOT_RENEWED = "its lock could not be renewed: the store was away"

_LONGEST_PAUSE = 1.0
_KEPT, _OVER = 1, 0

# KEYS active, rundata; ARGV[1] beginning of locks, ARGV[2] msgpack: {run, lock, ms of the lock}.
# A lock that nobody holds, lost with the store's last writes perhaps, is taken again.
# Returns for each run 1, 0 where it is over, -1 where its lock is another's.
_KEEP = Script("""
local time = redis.call('TIME')
local now = string.format('%d.%06d', time[1], time[2])

local function keep(run, lock, ttl)
  if not redis.call('ZSCORE', KEYS[1], run) then
    local is_json, record = pcall(cjson.decode, redis.call('HGET', KEYS[2], run) or '')
    if not is_json or type(record) ~= 'table' or record.status ~= 'running' then return 0 end
  end
  if lock ~= '' then
    local key = ARGV[1] .. lock
    local holder = redis.call('GET', key)
    if holder and holder ~= run then return -1 end
    -- A store without memory refuses SET, and accepts this; and then all that follows it, too.
    if holder then redis.call('PEXPIRE', key, ttl) else redis.call('SET', key, run, 'PX', ttl) end
  end
  redis.call('ZADD', KEYS[1], now, run)
  return 1
end

local answers = {}
for i, one in ipairs(cmsgpack.unpack(ARGV[2])) do answers[i] = keep(unpack(one)) end
return answers
""")


class Keeper:
    def __init__(
        self, store: Store, instance: str, heartbeat: float, kill_after: float, clock: Clock
    ) -> None:
        keys = Cron(store.prefix)
        self._store, self._instance, self._clock = store, instance, clock
        self._heartbeat, self._kill_after = heartbeat, kill_after
        self.runs: dict[str, Running] = {}
        """Those that this instance answers for, until their results are written."""
        self._keys = [keys.active(), keys.runs()]
        self._locks = keys.lock.literals[0]
        self._sooner = asyncio.Event()
        self._pause = _LONGEST_PAUSE
        self._log = logs.get(role="cron")

    def begin(self, begun: Begun, asked: float) -> Running:
        """The run was begun in the store by a call that was sent at `asked`, monotonic time."""
        run = self.runs[begun.run] = Running(begun, self._instance, self._kill_after)
        run.kept(asked, self._heartbeat)
        if run.next_keep - self._clock.monotonic() < self._pause:
            self._sooner.set()
        return run

    def adopt(self, begun: Begun) -> Running:
        """The run was begun by an instance that is gone, and is to be kept at once."""
        run = self.runs[begun.run] = Running(begun, self._instance, self._kill_after)
        run.next_keep = self._clock.monotonic()
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
                answers = await _KEEP(self._store, self._keys, [self._locks, packed])
        except (StoreUnavailable, TimeoutError):
            for run in due:
                run.next_keep = asked + min(0.5, (run.ttl or 2000) / 6000)
            return
        for run, answer in zip(due, answers, strict=True):
            if answer == _KEPT:
                run.kept(asked, self._heartbeat)
            else:
                self._lose(run, OVER if answer == _OVER else LOCK_LOST)

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
