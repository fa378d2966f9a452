"""The store's time, kept by this process's monotonic clock: no wall clock of ours is asked.

It may be behind by a round trip, and is never ahead: nothing is run before its second.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from watchbell.clock import SYSTEM, Clock

_DRIFT = 100e-6
"""Seconds by which two clocks may part in a second, as far as we rely on an older measurement."""


class Sample(NamedTuple):
    offset: float
    """The least offset of the store's clock from our monotonic clock."""
    trip: float
    """Seconds of the round trip, by which the offset may be too small."""
    at: float


def better(kept: Sample | None, new: Sample) -> Sample:
    """The one to go by: the one that allows the later time, unless the store's clock was set."""
    if kept is None:
        return new
    drift = (new.at - kept.at) * _DRIFT
    was_set_on = new.offset > kept.offset + kept.trip + drift
    was_set_back = new.offset + new.trip < kept.offset - drift
    if was_set_on or was_set_back or new.offset >= kept.offset - drift:
        return new
    return kept


class StoreClock(Clock):
    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._sample: Sample | None = None

    def now(self) -> float:
        """Available after the first measurement."""
        assert self._sample is not None
        return self._clock.monotonic() + self._sample.offset

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def measure(self, ask: Callable[[], Awaitable[tuple[float, Any]]]) -> tuple[float, Any]:
        """By a question that is answered with the store's time and whatever else. Returns by how
        much `now` has moved, and the rest of the answer."""
        asked = self._clock.monotonic()
        time, rest = await ask()
        answered = self._clock.monotonic()
        before = self._sample
        self._sample = better(before, Sample(time - answered, answered - asked, answered))
        return (self._sample.offset - before.offset if before else 0.0), rest
