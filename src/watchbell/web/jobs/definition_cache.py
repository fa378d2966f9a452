"""The definitions in memory, from the first request that needs them on."""

import asyncio

from watchbell.clock import Clock
from watchbell.jobs import event_overview
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.day_plan import DayPlanner
from watchbell.jobs.event_overview import Overview
from watchbell.jobs.event_states import EventStates
from watchbell.jobs.next_runs import NextRuns
from watchbell.store.client import Store
from watchbell.web.live.background import Background

_FRESH = 1.0
"""Seconds for which how events are doing is not read again."""


class DefinitionCache:
    def __init__(self, store: Store, clock: Clock, background: Background, timezone: str) -> None:
        self._store, self._clock, self._background = store, clock, background
        self._timezone = timezone
        self.next_runs = NextRuns(timezone)
        self._planner: DayPlanner | None = None
        self._catalogue: Catalogue | None = None
        self._loading = asyncio.Lock()
        self._states, self._reading = EventStates(store), asyncio.Lock()
        self._overview: Overview | None = None
        self._read_at = 0.0

    async def catalogue(self) -> Catalogue:
        if self._catalogue is None:
            async with self._loading:
                if self._catalogue is None:
                    catalogue = Catalogue(self._store)
                    await catalogue.load()
                    catalogue.subscribe(self._states.definition_changed)
                    self._background.begin(catalogue.run())
                    self._catalogue = catalogue
        return self._catalogue

    async def planner(self) -> DayPlanner:
        """It remembers the timetables of all events."""
        catalogue = await self.catalogue()
        if self._planner is None:
            self._planner = DayPlanner(catalogue, self._timezone)
        return self._planner

    async def changed(self, kind: str, record: str) -> None:
        """Reads a record again that this process has changed, so that the next request finds it."""
        if self._catalogue is not None:
            await self._catalogue.refresh(kind, record)

    async def overview(self) -> Overview:
        async with self._reading:
            now = self._clock.monotonic()
            if self._overview is None or now - self._read_at > _FRESH:
                self._overview = await event_overview.read(self._store, self._states)
                self._read_at = now
            return self._overview
