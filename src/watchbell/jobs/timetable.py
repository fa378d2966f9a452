"""When an event runs by itself, by its timings."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Any, Literal, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from watchbell.jobs.model import Timing
from watchbell.schedule import zones
from watchbell.schedule.firing import Schedule
from watchbell.schedule.timings import from_timing
from watchbell.units import in_words, utc_time

MINUTE = 60


class Fire(NamedTuple):
    at: int
    """A minute, or an instant of an interval."""
    instants: tuple[int, ...]
    """When its jobs start: one, unless `precision` names several seconds."""
    params: dict[str, Any]
    tags: tuple[str, ...]
    """Those of the timings that match, over those of the event."""
    timing: str = ""
    """The id of the first of them that has one."""


class Catchup(NamedTuple):
    policy: Literal["all", "latest"]
    most: int | None


@dataclass(frozen=True, slots=True)
class Once(Schedule):
    """Fires in one minute."""

    minute: int

    def next_after(self, instant: float) -> int | None:
        return self.minute if instant < self.minute else None

    def describes(self) -> str:
        return f"once, at {utc_time(self.minute)}"


@dataclass(frozen=True, slots=True)
class Interval(Schedule):
    """Fires at a moment, and then each time that a period has passed."""

    start: int
    seconds: int

    def next_after(self, instant: float) -> int | None:
        if not instant < zones.LAST:
            return None
        if instant < self.start:
            return self.start
        return self.start + (floor(instant - self.start) // self.seconds + 1) * self.seconds

    def describes(self) -> str:
        since = f" since {utc_time(self.start)}" if self.start else ""
        return f"every {in_words(self.seconds)}{since}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable(Schedule):
    """One job for each minute that any `schedule` or `single` matches, and one for each instant of
    an `interval`, as long as a `range` permits it and no `blackout` forbids it."""

    schedules: tuple[tuple[Schedule, Timing], ...] = ()
    ranges: tuple[tuple[int, int], ...] = ()
    blackouts: tuple[tuple[int, int], ...] = ()
    delay: int = 0
    """Seconds between a minute and the start of its job."""
    precision: tuple[int, ...] = ()
    """Seconds of each minute at which a job starts."""
    every: int = 1
    """Only the first of so many fires launches jobs."""
    catchup: Catchup | None = None
    is_destruct: bool = False
    continuous: Timing | None = None
    startup: Timing | None = None
    is_manual: bool = True
    """Whether people may run it, too."""
    fingerprint: str = field(default="", compare=False)
    """Differs between timings that fire at different times."""

    def next_after(self, instant: float) -> int | None:
        while True:
            found = [schedule.next_after(instant) for schedule, _ in self.schedules]
            fire = min((one for one in found if one is not None), default=None)
            if fire is None:
                return None
            permitted = self._permitted_from(fire)
            if permitted is None or permitted == fire:
                return permitted
            instant = permitted - 1

    def fire(self, at: int) -> Fire:
        """What happens at a moment at which it fires."""
        matching = self.schedules
        if len(matching) > 1:
            matching = tuple(pair for pair in matching if pair[0].next_after(at - 1) == at)
        params: dict[str, Any] = {}
        for _, timing in matching:
            params |= timing.params
        tags = dict.fromkeys(tag for _, timing in matching for tag in timing.tags)
        named = next((one.id for _, one in matching if one.id), "")
        by_minute = any(timing.type != "interval" for _, timing in matching)
        instants = self._instants(at) if by_minute else (at,)
        return Fire(at, instants, params, tuple(tags), named)

    def describes(self) -> str:
        words = [schedule.describes() for schedule, _ in self.schedules]
        if self.continuous:
            words.append("all the time")
        if self.startup:
            words.append("when Watchbell starts")
        return ", ".join([" and ".join(words) or "only on demand", *self._modifiers()])

    def _modifiers(self) -> Iterator[str]:
        if self.every > 1:
            yield f"only one of {self.every} times"
        if self.precision:
            yield f"at second {', '.join(map(str, self.precision))}"
        if self.delay:
            yield f"delayed by {in_words(self.delay)}"
        for start, end in self.ranges:
            since = f"from {utc_time(start)} on" if start > zones.FIRST else ""
            until = f"until {utc_time(end)}" if end < zones.LAST else ""
            yield " ".join(filter(None, [since, until])) or "at any time"
        for start, end in self.blackouts:
            yield f"not from {utc_time(start)} to {utc_time(end)}"
        if self.catchup:
            yield "caught up if missed"
        if self.is_destruct:
            yield "deleted after its first run"

    def _instants(self, minute: int) -> tuple[int, ...]:
        return tuple(minute + self.delay + second for second in self.precision or (0,))

    def _permitted_from(self, instant: int) -> int | None:
        """The first instant from this one on that lies in a range and in no blackout."""
        while True:
            after = max(
                (end + 1 for start, end in self.blackouts if start <= instant <= end),
                default=instant,
            )
            if self.ranges and not any(start <= after <= end for start, end in self.ranges):
                starts = [start for start, _ in self.ranges if start > after]
                if not starts:
                    return None
                after = min(starts)
            if after == instant:
                return instant
            instant = after


def of(timings: Sequence[Timing], timezone: str) -> Timetable:
    """The timetable of an event. `timezone` is that of schedules that name none. Raises Refused for
    timings that can't be read."""
    zone = zones.named("timezone", timezone)
    enabled = [timing for timing in timings if timing.enabled]
    by_type: dict[str, list[Timing]] = {}
    for timing in enabled:
        by_type.setdefault(timing.type, []).append(timing)

    def first(kind: str) -> Timing | None:
        return by_type[kind][0] if kind in by_type else None

    nth, delay, precision, catchup = map(first, ("nth", "delay", "precision", "catchup"))
    return Timetable(
        schedules=tuple((_launching(one, zone), one) for one in enabled if one.type in _LAUNCHING),
        ranges=tuple(_bounds(timing) for timing in by_type.get("range", ())),
        blackouts=tuple(_bounds(timing) for timing in by_type.get("blackout", ())),
        delay=(delay.duration or 0) if delay else 0,
        precision=tuple(sorted(set(precision.seconds))) if precision else (),
        every=max(nth.every or 1, 1) if nth else 1,
        catchup=Catchup(catchup.policy, catchup.most) if catchup else None,
        is_destruct="destruct" in by_type,
        continuous=first("continuous"),
        startup=first("startup"),
        is_manual=all(timing.enabled for timing in timings if timing.type == "manual"),
        fingerprint=_fingerprint(enabled, timezone),
    )


_LAUNCHING = ("schedule", "single", "interval")


def _launching(timing: Timing, zone: ZoneInfo) -> Schedule:
    if timing.type == "single":
        return Once((timing.epoch or 0) // MINUTE * MINUTE)
    if timing.type == "interval":
        return Interval(timing.start or 0, max(timing.duration or 1, 1))
    return from_timing(msgspec.to_builtins(timing), zone)


def _bounds(timing: Timing) -> tuple[int, int]:
    return (
        zones.FIRST if timing.start is None else timing.start,
        zones.LAST if timing.end is None else timing.end,
    )


def _fingerprint(timings: Iterable[Timing], timezone: str) -> str:
    text = msgspec.json.encode([timezone, *timings])
    return f"{zlib.crc32(text):08x}{len(text):x}"
