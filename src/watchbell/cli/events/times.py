"""When events run, in words and dates."""

from watchbell.cli.cron.times import dated
from watchbell.cli.formatting import when
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.jobs import timetable
from watchbell.jobs.model import Event
from watchbell.jobs.timetable import Timetable

_AHEAD = 10 * 366 * 86_400


def timetable_of(event: Event, timezone: str) -> Timetable | None:
    """None where another program has written timings that can't be read."""
    try:
        return timetable.of(event.timings, timezone)
    except Refused:
        return None


def launches(event: Event, timezone: str, now: float, most: int) -> list[int]:
    """The next instants at which jobs of the event start by themselves."""
    known = timetable_of(event, timezone) if event.enabled else None
    if known is None:
        return []
    found: list[int] = []
    for at in known.fires_between(now - known.delay - 60, now + _AHEAD):
        found += [instant for instant in known.fire(at).instants if instant > now]
        if len(found) >= most:
            break
    return found[:most]


def summary(event: Event, timezone: str) -> str:
    """The schedule in words, and the next run."""
    known = timetable_of(event, timezone)
    words = known.describes() if known else "its timings can't be read"
    following = launches(event, timezone, SYSTEM.now(), 1)
    return f"{words}; next run {when(following[0])}" if following else words


def dates(event: Event, timezone: str, now: float, most: int) -> list[str]:
    """In the zone of the schedule, where there is one."""
    known = timetable_of(event, timezone)
    if known is None:
        return []
    schedule = known.schedules[0][0] if len(known.schedules) == 1 else known
    return [dated(schedule, one) for one in launches(event, timezone, now, most)]
