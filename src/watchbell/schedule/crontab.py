"""Crontab expressions: minute, hour, day of month, month and day of week.

cronsim reads them. The search for the next fire is ours, and the same for all kinds of schedules.
"""

from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from watchbell.schedule import bitsets, fields
from watchbell.schedule.calendars import Calendar
from watchbell.schedule.days import Days

_FIELDS = {
    "minute": "a minute from 0 to 59, such as '30', '*/5' or '0,30'",
    "hour": "an hour from 0 to 23, such as '2', '*/6' or '8-18'",
    "day of month": (
        "a day of the month from 1 to 31, such as '1,15', or 'L' for the last day, 'LW' for the "
        "last weekday"
    ),
    "month": "a month from 1 to 12 or its name, such as '6' or 'JAN-MAR'",
    "day of week": (
        "a weekday from 0 to 7 or its name, 0 and 7 being Sunday, such as '1-5', 'MON#2' or '5L'"
    ),
}
NAMES = tuple(_FIELDS)

_KEPT = 4096
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)


def calendar(field: str, text: str, zone: ZoneInfo) -> Calendar:
    """A calendar from five fields, with the rules of cron on Debian.

    If day of month or day of week begins with a star, a day has to match both; otherwise one of
    them is enough. A time fires once a day unless minute or hour begins with a star.
    """
    parts = five(field, text.upper())
    for name, part in zip(NAMES, parts, strict=True):
        try:
            _read(name, part)
        except CronSimError:
            fields.refuse(field, _FIELDS[name], part)
    minute, hour, day, month, weekday = parts
    return Calendar(
        zone=zone,
        hours=_numbers("hour", hour),
        minutes=_numbers("minute", minute),
        days=_days(day, weekday),
        months=_numbers("month", month),
        once=not minute.startswith("*") and not hour.startswith("*"),
    )


def five(field: str, text: str) -> list[str]:
    parts = text.split()
    if len(parts) != len(NAMES):
        wanted = f"five fields ({', '.join(NAMES)}) or a word such as '@daily' or '@every 10s'"
        fields.refuse(field, wanted, text)
    return parts


@lru_cache(maxsize=_KEPT)
def _read(name: str, text: str) -> frozenset[int | tuple[int, int]]:
    """Reads one field. Alone, because cronsim refuses a day that no given month has."""
    read = CronSim(" ".join(text if name == one else "*" for one in NAMES), _SOME_DAY)
    sets = (read.minutes, read.hours, read.days, read.months, read.weekdays)
    return frozenset(sets[NAMES.index(name)])


@lru_cache(maxsize=_KEPT)
def _numbers(name: str, text: str) -> int:
    return bitsets.of(item for item in _read(name, text) if isinstance(item, int))


@lru_cache(maxsize=_KEPT)
def _days(day: str, weekday: str) -> tuple[Days, ...]:
    dates = [item for item in _read("day of month", day) if isinstance(item, int)]
    weekdays = _read("day of week", weekday)
    nth = [item for item in weekdays if isinstance(item, tuple)]
    by_date = Days(
        dates=bitsets.of(item for item in dates if item > 0),
        from_end=0b10 if CronSim.LAST in dates else 0,
        last_workday=CronSim.LAST_WEEKDAY in dates,
    )
    by_weekday = Days(
        weekdays=bitsets.of(item % 7 for item in weekdays if isinstance(item, int)),
        nth=bitsets.of(7 * (n - 1) + one % 7 for one, n in nth if n != CronSim.LAST),
        last=bitsets.of(one % 7 for one, n in nth if n == CronSim.LAST),
    )
    if day.startswith("*") or weekday.startswith("*"):
        both = ((day, by_date), (weekday, by_weekday))
        return tuple(days for text, days in both if text != "*")
    either = replace(
        by_date, weekdays=by_weekday.weekdays, nth=by_weekday.nth, last=by_weekday.last
    )
    return (either,)
