"""The maintenance calendar, cached until a change is published."""

import asyncio
from collections.abc import Callable

from watchbell.alerting import calendar
from watchbell.alerting.calendar import Alike
from watchbell.clock import Clock
from watchbell.store.client import Store

SHORTEST = 2.0
"""Seconds for which the cache is used; longer where reading takes long."""
_SHARE = 0.02
"""The share of time that may be spent reading while no changes are published."""
_RANGES = 8


class Calendar:
    """`changes` counts published changes; -1 while nothing listens."""

    def __init__(self, store: Store, clock: Clock, changes: Callable[[], int]) -> None:
        self._store, self._clock, self._heard = store, clock, changes
        self._reading = asyncio.Lock()
        self._known: dict[tuple[int, int], tuple[float, list[Alike]]] = {}
        self._made, self._seen = 0, (0, 0)

    async def within(self, start: int, end: int) -> list[Alike]:
        """Changes by other programs may be missing for a moment. Callers that ask during a read
        wait for its result."""
        async with self._reading:
            if self._seen != self._changes:
                self._known.clear()
            until, found = self._known.get((start, end), (0.0, []))
            begun = self._clock.monotonic()
            if until <= begun:
                self._seen = self._changes
                found = await calendar.within(self._store, start, end)
                now = self._clock.monotonic()
                lasts = max(SHORTEST, (now - begun) / _SHARE)
                self._remember((start, end), now + lasts, found)
            return found

    def forget(self) -> None:
        """Drops the cache after a change of ours, so that it shows at once."""
        self._made += 1

    @property
    def _changes(self) -> tuple[int, int]:
        return self._made, self._heard()

    def _remember(self, span: tuple[int, int], until: float, found: list[Alike]) -> None:
        self._known.pop(span, None)
        self._known[span] = until, found
        while len(self._known) > _RANGES:
            del self._known[next(iter(self._known))]
