"""Builds all parts of a conductor that launch jobs by time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from watchbell import actors
from watchbell.errors import StoreUnavailable
from watchbell.jobs import definition_removal
from watchbell.jobs.continuous import ContinuousRunner
from watchbell.jobs.decide.launch import NO_DEFAULTS, Defaults
from watchbell.jobs.delays import DelayEnder
from watchbell.jobs.destruction import Destructor
from watchbell.jobs.event_agenda import Catalogue, EventAgenda
from watchbell.jobs.keys import Jobs
from watchbell.jobs.scheduler import Scheduler
from watchbell.jobs.startup import StartupRunner
from watchbell.settings.sections import Jobs as JobsSettings
from watchbell.store.client import Store, patiently
from watchbell.store.script import Script
from watchbell.store.store_clock import StoreClock

_EVERY = 1.0
_NOTICED = 0.001
_WHO = actors.system("scheduler")

# KEYS[1] any key of jobs: the time of the server that has them.
_TIME = Script("return redis.call('TIME')")


class Scheduling:
    """`start` comes first, after the catalogue was loaded; then each of `parts` runs for ever."""

    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        settings: JobsSettings,
        defaults: Defaults = NO_DEFAULTS,
    ) -> None:
        self._store, self.clock = store, StoreClock()
        """Measured by `start`, and then by one of the parts."""
        clock, zone = self.clock, settings.timezone
        self.agenda = EventAgenda(store, catalogue, clock, zone)
        self.delays = DelayEnder(store)
        self.scheduler = Scheduler(
            store, catalogue, self.agenda, clock, settings, defaults, self.delays.wake
        )
        self._continuous = ContinuousRunner(store, catalogue, self.agenda, clock, zone, defaults)
        self._startup = StartupRunner(store, catalogue, self.agenda, clock, zone, defaults)
        self._destructor = Destructor(store, self.agenda, self._remove)

    async def start(self) -> None:
        await patiently(self._measure)
        await self.agenda.load()

    def parts(self) -> dict[str, Callable[[], Awaitable[None]]]:
        return {
            "launch jobs by time": self.scheduler.run,
            "follow changes of events": self.agenda.run,
            "measure the store's time": self._follow_clock,
            "end delays": self.delays.run,
            "keep events running": self._continuous.run,
            "run events at the start": self._startup.run,
            "delete events after their only run": self._destructor.run,
        }

    async def _follow_clock(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            try:
                moved = await self._measure()
            except StoreUnavailable:
                continue
            if moved < -_NOTICED:
                self.agenda.follow_clock()
            if abs(moved) > _NOTICED:
                self.scheduler.wake()

    async def _measure(self) -> float:
        moved, _ = await self.clock.measure(self._time)
        return moved

    async def _time(self) -> tuple[float, Any]:
        seconds, microseconds = await _TIME(self._store, [Jobs(self._store.prefix).ready()])
        return int(seconds) + int(microseconds) / 1e6, None

    async def _remove(self, event: str) -> None:
        now = self.clock.now()
        await definition_removal.remove(self._store, "event", event, _WHO, now, force=True)
