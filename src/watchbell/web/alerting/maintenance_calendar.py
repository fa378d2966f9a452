"""The calendar of maintenance: read by one at a time, and not again while nothing has changed."""

import asyncio
from collections.abc import Callable

from watchbell.alerting import calendar
from watchbell.alerting.calendar import Alike
from watchbell.clock import Clock
from watchbell.store.client import Store

SHORTEST = 2.0
"""Seconds for which what was read is not read again; more, where reading takes long."""
_SHARE = 0.02
"""Of the time that may be spent with reading while nobody tells of changes."""
_RANGES = 8


class Calendar:
    """`changes` counts what is heard of changes, as far as somebody listens."""

    def __init__(self, store: Store, clock: Clock, changes: Callable[[], int]) -> None:
        self._store, self._clock, self._heard = store, clock, changes
        self._reading = asyncio.Lock()
        self._known: dict[tuple[int, int], tuple[float, list[Alike]]] = {}
        self._made, self._seen = 0, (0, 0)

    async def within(self, start: int, end: int) -> list[Alike]:
        """What other programs have changed may be missing for a moment. Whoever asks while others
        read waits for what they find."""
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
        """After a change of ours, which is to be seen at once."""
        self._made += 1

    @property
    def _changes(self) -> tuple[int, int]:
        return self._made, self._heard()

    def _remember(self, span: tuple[int, int], until: float, found: list[Alike]) -> None:
        self._known.pop(span, None)
        self._known[span] = until, found
        while len(self._known) > _RANGES:
            del self._known[next(iter(self._known))]
