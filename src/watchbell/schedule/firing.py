"""The type of all schedules, and the kinds that need no calendar."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor
from typing import Protocol

from watchbell.schedule import zones
from watchbell.units import in_words, utc_time


class Schedule(Protocol):
    """Moments are whole epoch seconds, instants are epoch seconds."""

    __slots__ = ()

    @property
    def jitter(self) -> int:
        """The most seconds by which a fire may be delayed; `due.delay` computes by how many."""
        return 0

    def next_after(self, instant: float) -> int | None:
        """The first fire strictly after an instant; None if there is none."""

    def fires_between(self, since: float, until: float) -> Iterator[int]:
        """The fires after `since`, up to and including `until`."""
        fire = self.next_after(since)
        while fire is not None and fire <= until:
            yield fire
            fire = self.next_after(fire)

    def describes(self) -> str:
        """In words, such as `at 02:30 on weekdays, Europe/Rome`."""
        ...


@dataclass(frozen=True, slots=True)
class Never(Schedule):
    """Fires only when it is triggered."""

    def next_after(self, instant: float) -> int | None:  # noqa: ARG002
        return None

    def describes(self) -> str:
        return "never by itself"


@dataclass(frozen=True, slots=True)
class Every(Schedule):
    """Fires at the multiples of a period since 1970: at the same moments on all machines."""

    seconds: int

    def next_after(self, instant: float) -> int | None:
        if not instant < zones.LAST:
            return None
        return (floor(max(instant, zones.FIRST - 1)) // self.seconds + 1) * self.seconds

    def describes(self) -> str:
        words = in_words(self.seconds)
        # With several units, "every hour, 30 minutes" would mean something else.
        period = f"{self.seconds} seconds" if "," in words else words.removeprefix("1 ")
        return f"every {period}, counted from 1970-01-01 UTC"


@dataclass(frozen=True, slots=True)
class Limited(Schedule):
    """Fires as another schedule does, from a moment on and up to another, both included."""

    schedule: Schedule
    start: int | None
    end: int | None
    jitter: int = 0

    def next_after(self, instant: float) -> int | None:
        since = instant if self.start is None else max(instant, self.start - 1)
        fire = self.schedule.next_after(since)
        return None if fire is None or (self.end is not None and fire > self.end) else fire

    def describes(self) -> str:
        words = [self.schedule.describes()]
        if self.start is not None:
            words.append(f"from {utc_time(self.start)} on")
        if self.end is not None:
            words.append(f"until {utc_time(self.end)}")
        if self.jitter:
            words.append(f"delayed by up to {in_words(self.jitter)}")
        return ", ".join(words)
