"""Time zones by name, and the stretches of time between changes of their clocks."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import floor
from typing import NamedTuple
from zoneinfo import ZoneInfo

from watchbell.schedule import fields, wallclock
from watchbell.schedule.wallclock import DAY

FIRST, LAST = 0, int(datetime(9998, 1, 1, tzinfo=UTC).timestamp())
"""Nothing fires before 1970, nor after the last date that Python knows."""

_1970 = wallclock.shown(datetime.fromtimestamp(0, UTC))
_CHUNK = 25
"""Stretches are computed for 2 ** 25 seconds at once, a little more than a year."""
_KEPT = 4096
_MOST_STRETCHES = 100
"""Ends the search for a time that clocks always skip."""


class Stretch(NamedTuple):
    """Moments from begin to end, between which the clock is not changed."""

    begin: int
    end: int
    shift: int
    """Add this to a moment for the reading that the clock shows."""
    fresh: int
    """The clock has shown no reading from this one on before this stretch.

    After the clock was set back, it lies within the stretch or after it. After the clock was set
    forward, it lies before the stretch, because skipped readings were not shown either.
    """


def named(field: str, value: object) -> ZoneInfo:
    zone = _zone(value) if isinstance(value, str) else None
    if zone is None:
        fields.refuse(field, "a time zone such as 'Europe/Rome'", value)
    return zone


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # unknown; a folder of zones, too long; no name at all
        return None


def next_moment(
    following: Callable[[int], int | None], zone: ZoneInfo, instant: float, *, once: bool
) -> int | None:
    """The first moment after an instant at which a clock in the zone shows a wanted reading.

    `following` returns the first wanted reading from a given one on. Where clocks are set back, a
    reading counts each time that it is shown; with `once`, only the first time. Where they are set
    forward, a skipped reading does not count; with `once`, it counts at the end of the gap.
    """
    if not instant < LAST:
        return None
    at = floor(max(instant, FIRST - 1)) + 1
    known, wanted = 1, 0  # `wanted` is the first wanted reading from `known` on
    for _ in range(_MOST_STRETCHES):
        if at >= LAST:
            break
        begin, end, shift, fresh = stretch(at, zone)
        reading = at + shift
        if once:
            reading = fresh if at == begin else max(reading, fresh)
        if not known <= reading <= wanted:
            found = following(reading)
            if found is None:
                break
            known, wanted = reading, found
        moment = max(wanted - shift, at)
        if moment < end:
            return moment
        # Within a day of the end, the next stretch may show readings before `known` again.
        at = end if end - at < DAY else max(end, wanted - shift - 2 * DAY)
    return None


def stretch(instant: int, zone: ZoneInfo) -> Stretch:
    """The stretch around an instant; it may end before the clock changes, but never after."""
    return next(each for each in _stretches(instant >> _CHUNK, zone) if instant < each.end)


@lru_cache(maxsize=_KEPT)
def _stretches(chunk: int, zone: ZoneInfo) -> tuple[Stretch, ...]:
    begin, end = chunk << _CHUNK, (chunk + 1) << _CHUNK
    found: list[Stretch] = []
    # A clock that was set back up to two days before may still repeat readings.
    since = begin - 2 * DAY
    fresh = since + _shift(since, zone)
    for until in [*_changes(since, end, zone), end]:
        shift = _shift(since, zone)
        if until > begin:
            start = max(since, begin)
            found.append(
                Stretch(start, until, shift, fresh if start == since else max(fresh, start + shift))
            )
        fresh = max(fresh, until + shift)
        since = until
    return tuple(found)


def _changes(since: int, until: int, zone: ZoneInfo) -> Iterator[int]:
    """Moments at which clocks change; no zone has changed twice within a day since 1970."""
    shift = _shift(since, zone)
    for day in range(since, until, DAY):
        next_day = min(day + DAY, until)
        after = _shift(next_day, zone)
        if after != shift and (change := _change(day, next_day, zone)) < until:
            yield change
        shift = after


def _change(before: int, after: int, zone: ZoneInfo) -> int:
    shift = _shift(before, zone)
    moments = range(before, after + 1)
    return moments[bisect_left(moments, 1, key=lambda at: _shift(at, zone) != shift)]


def _shift(instant: int, zone: ZoneInfo) -> int:
    offset = datetime.fromtimestamp(instant, zone).utcoffset() or timedelta()
    return _1970 + offset // timedelta(seconds=1)
