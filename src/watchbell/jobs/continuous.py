"""Keeps events running that run continuously: looks every second whether a job of them is in
progress, and launches the next one if not.

This depends on nothing but the store, so it goes on whoever was killed, and when.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from watchbell import ids, logs
from watchbell.clock import Clock
from watchbell.errors import NotFound, Refused
from watchbell.jobs import claims, job_records, launches
from watchbell.jobs.claims import CHANGED
from watchbell.jobs.decide import launch, succession
from watchbell.jobs.decide.launch import NO_DEFAULTS, Defaults
from watchbell.jobs.decide.succession import Next
from watchbell.jobs.event_agenda import Catalogue, EventAgenda, EventEntry
from watchbell.jobs.keys import Jobs
from watchbell.jobs.launches import LAUNCH
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Job
from watchbell.probes import probe
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.script import Script

EVERY = 1.0

# KEYS[1] ready; ARGV events. Returns for each what is recorded of its latest job, and whether any
# job of it is in progress.
_LOOK = Script(
    LAYOUT
    + """
local found = {}
for i, event in ipairs(ARGV) do
  local latest = redis.call('HGET', jobs.continuous, event) or ''
  local job = string.match(latest, '^[^:]*')
  local is_running = redis.call('EXISTS', jobs.job .. job) == 1
    or redis.call('EXISTS', jobs.occupied .. event) == 1
  found[i] = {latest, is_running and 1 or 0}
end
return found
"""
)

# KEYS[1] ready; ARGV[1] day, ARGV[2] event, ARGV[3] its latest job, ARGV[4] its revision,
# ARGV[5] msgpack: the next job. Returns what became of it, as a claim.
_CONTINUE = Script(
    LAYOUT
    + LAUNCH
    + CHANGED
    + f"""
if (redis.call('HGET', jobs.continuous, ARGV[2]) or '') ~= ARGV[3] then return {claims.PASSED} end
local change = changed(ARGV[2], tonumber(ARGV[4]))
if change then return change end
check_launches()
local answer = launch(cmsgpack.unpack(ARGV[5]), ARGV[1])
return answer == 'limited' and {claims.LIMITED} or {claims.LAUNCHED}
"""
)

# KEYS[1] ready; ARGV[1] event, ARGV[2] its latest job, ARGV[3] what is recorded in its place.
_REPLACE = Script(
    LAYOUT
    + """
if redis.call('HGET', jobs.continuous, ARGV[1]) == ARGV[2] then
  redis.call('HSET', jobs.continuous, ARGV[1], ARGV[3])
end
"""
)


class ContinuousRunner:
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
        self._keys = [Jobs(store.prefix).ready()]
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Launches what does not run. May be called by several conductors at once."""
        entries = [one for one in self._agenda.special.values() if one.timetable.continuous]
        if not entries:
            return
        names = [entry.name for entry in entries]
        states = await patiently(lambda: _LOOK(self._store, self._keys, names))
        for entry, (latest, is_running) in zip(entries, states, strict=True):
            if not is_running:
                await self._go_on(entry, latest.decode(errors="replace"))

    async def _go_on(self, entry: EventEntry, latest: str) -> None:
        job_id, _, stopped = latest.partition(":")
        if stopped == str(entry.event.revision):
            return
        job = await patiently(lambda: job_records.read(self._store, job_id)) if job_id else None
        verdict = Next.RUN if stopped else succession.after(entry.event, job)
        if verdict is Next.RUN:
            await self._launch(entry, latest)
        elif verdict is Next.STOP:
            await self._replace(entry, latest, f"{job_id}:{entry.event.revision}")
        elif job is not None:
            await self._replace(entry, latest, succession.retry_of(job))

    async def _launch(self, entry: EventEntry, latest: str) -> None:
        now = self._clock.now()
        try:
            job = self._job(entry, now)
        except (Refused, NotFound) as refused:
            self._log.warning("an event could not be run", event_id=entry.name, reason=str(refused))
            return
        item = msgspec.msgpack.encode(launches.item_of(job, is_continuous=True))
        day = launches.day_of(now, self._timezone)
        args: Sequence[Argument] = [day, entry.name, latest, entry.event.revision, item]
        await patiently(lambda: _CONTINUE(self._store, self._keys, args))
        probe("jobs.continued")

    def _job(self, entry: EventEntry, now: float) -> Job:
        timing = entry.timetable.continuous
        assert timing is not None
        wish = launch.by_timing(entry.event, timing, "scheduler")
        return launch.prepare(self._catalogue, wish, ids.record_id("j", now), now, self._defaults)

    async def _replace(self, entry: EventEntry, latest: str, by: str) -> None:
        await patiently(lambda: _REPLACE(self._store, self._keys, [entry.name, latest, by]))
