"""The only reader of time. Loops ask it once and pass `now` down; tests and replays set it."""

import time


class Clock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never step back, for measuring spans within this process."""
        return time.monotonic()


class SetClock(Clock):
    """A clock that stands where it was set."""

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    def set(self, now: float) -> None:
        self._now = now

    def advance(self, seconds: float) -> None:
        self._now += seconds


SYSTEM = Clock()
