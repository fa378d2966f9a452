"""Runs events once when Watchbell starts: when a conductor starts and no other is there."""

import asyncio
from contextlib import suppress

import msgspec

from watchbell import ids, logs
from watchbell.clock import Clock
from watchbell.errors import NotFound, Refused, StoreUnavailable
from watchbell.jobs import claims, launches
from watchbell.jobs.claims import CHANGED
from watchbell.jobs.decide import launch
from watchbell.jobs.decide.launch import NO_DEFAULTS, Defaults
from watchbell.jobs.event_agenda import Catalogue, EventAgenda, EventEntry
from watchbell.jobs.keys import Jobs
from watchbell.jobs.launches import LAUNCH
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Job
from watchbell.probes import probe
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.script import Script

EVERY = 10.0
ALIVE = 30
"""Seconds for which a conductor that was killed counts as being there."""
_FAREWELL = 2.0

# KEYS[1] ready; ARGV[1] name of the conductor, ARGV[2] 1 if it has just started. Returns when
# Watchbell was started, in milliseconds.
_SEE = Script(
    LAYOUT
    + f"""
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local is_there, mine = false, ':seen:' .. ARGV[1]
if ARGV[2] == '1' then
  local found = redis.call('HGETALL', jobs.started)
  for i = 1, #found, 2 do
    if string.sub(found[i], 1, 6) == ':seen:' then
      local is_alive = now - (tonumber(found[i + 1]) or 0) <= {ALIVE * 1000}
      is_there = is_there or is_alive
      if not is_alive then redis.call('HDEL', jobs.started, found[i]) end
    end
  end
  if not is_there then redis.call('HSET', jobs.started, ':since', string.format('%.0f', now)) end
end
redis.call('HSET', jobs.started, mine, string.format('%.0f', now))
return tonumber(redis.call('HGET', jobs.started, ':since')) or now
"""
)

# KEYS[1] ready; ARGV[1] day, ARGV[2] event, ARGV[3] when Watchbell was started, ARGV[4] revision of
# the event, ARGV[5] msgpack: the job. Returns what became of it, as a claim.
_START = Script(
    LAYOUT
    + LAUNCH
    + CHANGED
    + f"""
if redis.call('HGET', jobs.started, ARGV[2]) == ARGV[3] then return {claims.PASSED} end
local change = changed(ARGV[2], tonumber(ARGV[4]))
if change then return change end
check_launches()
redis.call('HSET', jobs.started, ARGV[2], ARGV[3])
local answer = launch(cmsgpack.unpack(ARGV[5]), ARGV[1])
return answer == 'limited' and {claims.LIMITED} or {claims.LAUNCHED}
"""
)


class StartupRunner:
    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        agenda: EventAgenda,
        clock: Clock,
        timezone: str,
        defaults: Defaults = NO_DEFAULTS,
    ) -> None:
        self._store, self._catalogue, self._agenda = store, catalogue, agenda
        self._clock, self._timezone, self._defaults = clock, timezone, defaults
        self._keys, self._name = [Jobs(store.prefix).ready()], ids.process_name()
        self._has_started = False
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        try:
            since = await self._seen(is_start=not self._has_started)
            self._has_started = True
            probe("jobs.started")
            for entry in list(self._agenda.special.values()):
                # Whoever adds such an event does not expect it to run at once.
                if entry.timetable.startup and entry.event.modified <= since / 1000:
                    await self._launch(entry, since)
            while True:
                await asyncio.sleep(EVERY)
                await self._seen(is_start=False)
        finally:
            await self._leave()

    async def _seen(self, *, is_start: bool) -> int:
        args: list[Argument] = [self._name, int(is_start)]
        since: int = await patiently(lambda: _SEE(self._store, self._keys, args))
        return since

    async def _leave(self) -> None:
        """A conductor that is stopped and started again has started."""
        with suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                key = Jobs(self._store.prefix).started()
                await self._store.call("HDEL", key, f":seen:{self._name}")

    async def _launch(self, entry: EventEntry, since: int) -> None:
        now = self._clock.now()
        try:
            job = self._job(entry, now)
        except (Refused, NotFound) as refused:
            self._log.warning("an event could not be run", event_id=entry.name, reason=str(refused))
            return
        item = msgspec.msgpack.encode(launches.item_of(job))
        day = launches.day_of(now, self._timezone)
        args: list[Argument] = [day, entry.name, since, entry.event.revision, item]
        await patiently(lambda: _START(self._store, self._keys, args))

    def _job(self, entry: EventEntry, now: float) -> Job:
        timing = entry.timetable.startup
        assert timing is not None
        wish = launch.by_timing(entry.event, timing, "startup")
        return launch.prepare(self._catalogue, wish, ids.record_id("j", now), now, self._defaults)
