"""The next runs of an event, in words and dates."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from zoneinfo import ZoneInfo

from msgspec import Struct

from watchbell.jobs.keys import Jobs
from watchbell.jobs.timetable import Timetable
from watchbell.schedule import dst_notes
from watchbell.store.client import Store

_DATE = "%a %Y-%m-%d %H:%M"
_SHOWN = 10
_YEARS = 200 * 366 * 86_400
_MOST_COUNTED = 10_000
"""Fires that are walked through for an event that runs every n-th time."""


class UpcomingRun(Struct, frozen=True):
    at: int
    """When its job starts."""
    local: str
    """The same in the time zone of the timing, such as `Fri 2026-11-20 04:30 CET`."""
    remark: str
    """How a clock change affects it; empty if it does not."""


def upcoming(
    times: Timetable, now: float, zone: ZoneInfo, *, most: int = _SHOWN, counted: int = 0
) -> list[UpcomingRun]:
    """The next runs. `zone` is that of the settings; `counted` is what `matches` returns, for an
    event that runs every n-th time."""
    most = min(most, max(len(times.precision), 1)) if times.is_destruct else most
    return list(islice(_runs(times, now, zone, counted), most))


def _runs(times: Timetable, now: float, zone: ZoneInfo, counted: int) -> Iterator[UpcomingRun]:
    # A job that is delayed, or one of several in its minute, may start after a fire that is past.
    since = now - times.delay - max(times.precision, default=0)
    fires = times.fires_between(since, now + _YEARS)
    passed = sum(1 for _ in times.fires_between(since, now)) if times.every > 1 else 0
    for place, fire in enumerate(islice(fires, _MOST_COUNTED * times.every), counted - passed):
        if place % times.every == 0:
            yield from (
                _shown(times, fire, at, zone) for at in times.fire(fire).instants if at > now
            )


def _shown(times: Timetable, fire: int, at: int, zone: ZoneInfo) -> UpcomingRun:
    matching = [one for one, _ in times.schedules if one.next_after(fire - 1) == fire]
    place = next(filter(None, map(dst_notes.zone_of, matching)), zone)
    remark = next(filter(None, (dst_notes.remark(one, fire) for one in matching)), "")
    there = datetime.fromtimestamp(at, place)
    seconds = f":{there:%S}" if at % 60 else ""
    return UpcomingRun(at, f"{there:{_DATE}}{seconds} {there:%Z}", remark)


async def all_matches(store: Store) -> dict[str, int]:
    """How many times each event with the timing `nth` has matched."""
    flat = await store.call("HGETALL", Jobs(store.prefix).counts())
    pairs = flat.items() if isinstance(flat, dict) else zip(flat[::2], flat[1::2], strict=True)
    return {name.decode(errors="replace"): int(count) for name, count in pairs if count.isdigit()}


async def matches(store: Store, event: str) -> int:
    """How many times an event with the timing `nth` has matched."""
    found = await store.call("HGET", Jobs(store.prefix).counts(), event)
    return int(found) if found and found.isdigit() else 0
