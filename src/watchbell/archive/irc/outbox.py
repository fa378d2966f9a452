"""Lines that wait to be sent to an IRC server, which disconnects who sends too fast."""

import asyncio
from collections import deque

from msgspec import Struct

from watchbell.clock import Clock

MOST = 300
"""Lines that wait for one target, at most."""


class Pace(Struct, frozen=True):
    """As RFC 1459 has it."""

    burst: int = 5
    every: float = 2.0
    """Seconds between two lines, after a burst."""


class Outbox:
    """Targets take turns, so that a long list for one person does not hold up the others."""

    def __init__(self, clock: Clock, pace: Pace) -> None:
        self._clock, self._pace = clock, pace
        self._waiting: dict[str, deque[bytes]] = {}
        self._filled = asyncio.Event()
        self._paid_until = 0.0
        self._emptied: dict[str, asyncio.Event] = {}

    def add(self, target: str, lines: list[bytes]) -> bool:
        """False where too many wait for this target already; nothing is added then."""
        waiting = self._waiting.get(target, deque[bytes]())
        if not lines or len(waiting) + len(lines) > MOST:
            return not lines
        waiting.extend(lines)
        self._waiting[target] = waiting
        self._filled.set()
        return True

    async def next(self) -> tuple[str, bytes]:
        """The next line and its target, once it may be sent; `sent` takes it out."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        pause = self._paid_until - self._pace.burst * self._pace.every - self._clock.monotonic()
        if pause > 0:
            await asyncio.sleep(pause)
        target, lines = next(iter(self._waiting.items()))
        return target, lines[0]

    def sent(self, target: str) -> None:
        self._paid_until = max(self._paid_until, self._clock.monotonic()) + self._pace.every
        lines = self._waiting.pop(target)
        lines.popleft()
        if lines:
            self._waiting[target] = lines  # behind the other targets
        elif found := self._emptied.pop(target, None):
            found.set()

    async def emptied(self, target: str) -> None:
        """Returns once nothing waits for the target, or the outbox was closed."""
        if target in self._waiting:
            await self._emptied.setdefault(target, asyncio.Event()).wait()

    def close(self) -> None:
        """Nothing more is sent; whoever waits for that goes on."""
        for event in self._emptied.values():
            event.set()
