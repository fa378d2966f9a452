"""Times by keyword, from year to second, in the language of APScheduler 3.

Monday is 0, and a day has to match all fields that restrict days.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from watchbell.schedule import bitsets, fields, names
from watchbell.schedule.bitsets import ANY
from watchbell.schedule.calendars import Calendar
from watchbell.schedule.days import FIRST_YEAR, Days

LONGEST = 1000
"""The most characters of a field."""

_KEPT = 4096
_RANGE = re.compile(r"(?:\*|([a-z]+|\d{1,4})(?:-([a-z]+|\d{1,4}))?)(?:/(\d{1,4}))?", re.ASCII)
_LAST = -1
_ORDINALS = (1, 2, 3, 4, 5, _LAST)
_NTH = re.compile(r"([a-z0-9]+) +([a-z]+)", re.ASCII)


def _from_monday(word: str) -> int | None:
    weekday = names.weekday(word)
    return None if weekday is None else (weekday - 1) % 7


class _Field(NamedTuple):
    low: int
    high: int
    unset: str
    """Its value when only larger fields are set."""
    expected: str
    named: Callable[[str], int | None] | None = None


_FIELDS = {
    "year": _Field(1970, 9999, "*", "1970 to 9999, such as '2026' or '2026-2028'"),
    "month": _Field(1, 12, "1", "1 to 12 or names, such as '6', '*/3' or 'jan-mar'", names.month),
    "day": _Field(1, 31, "1", "1 to 31, 'last', or such as '1,15', '2nd mon' or 'last fri'"),
    "week": _Field(1, 53, "*", "1 to 53, such as '1' or '*/2'"),
    "day_of_week": _Field(
        0, 6, "*", "0 to 6, 0 being Monday, or names, such as '0-4' or 'mon-fri'", _from_monday
    ),
    "hour": _Field(0, 23, "0", "0 to 23, such as '2', '*/6' or '8-18'"),
    "minute": _Field(0, 59, "0", "0 to 59, such as '30', '*/5' or '0,30'"),
    "second": _Field(0, 59, "0", "0 to 59, such as '0', '*/10' or '0,30'"),
}
NAMES = tuple(_FIELDS)


def calendar(field: str, values: Mapping[str, object], zone: ZoneInfo) -> Calendar:
    """A field that is not set means any value, or its smallest if only larger fields are set."""
    texts = _completed({name: _text(field, name, values[name]) for name in NAMES if name in values})
    for name, text in texts.items():
        try:
            _days(text) if name == "day" else _numbers(name, text)
        except ValueError:
            fields.refuse(f"{field}.{name}", _FIELDS[name].expected, text)
    sets = {name: _numbers(name, text) for name, text in texts.items() if name != "day"}
    return Calendar(
        zone=zone,
        hours=sets["hour"],
        minutes=sets["minute"],
        seconds=sets["second"],
        days=_fitting(texts["day"], texts["day_of_week"]),
        months=sets["month"],
        weeks=ANY if texts["week"] == "*" else sets["week"],
        years=ANY if texts["year"] == "*" else sets["year"] >> FIRST_YEAR,
        once=not texts["minute"].startswith("*") and not texts["hour"].startswith("*"),
    )


def _text(field: str, name: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or len(value) > LONGEST:
        fields.refuse(f"{field}.{name}", _FIELDS[name].expected, value)
    return value.strip().lower()


def _completed(texts: Mapping[str, str]) -> dict[str, str]:
    smallest = max(NAMES.index(name) for name in texts)
    return {
        name: texts.get(name, "*" if index < smallest else _FIELDS[name].unset)
        for index, name in enumerate(NAMES)
    }


@lru_cache(maxsize=_KEPT)
def _fitting(day: str, weekday: str) -> tuple[Days, ...]:
    from_monday = _numbers("day_of_week", weekday)
    from_sunday = (from_monday << 1 | from_monday >> 6) & 127
    by_date = () if day == "*" else (_days(day),)
    return by_date if weekday == "*" else (*by_date, Days(weekdays=from_sunday))


@lru_cache(maxsize=_KEPT)
def _numbers(name: str, text: str) -> int:
    found = 0
    for part in text.split(","):
        found |= bitsets.of(_range(_FIELDS[name], part.strip()))
    return found


@lru_cache(maxsize=_KEPT)
def _days(text: str) -> Days:
    """Dates, `last`, `2nd mon` and `last fri`; a day has to match one of them."""
    dates, from_end, nth, last = 0, 0, 0, 0
    for part in (part.strip() for part in text.split(",")):
        if part == "last":
            from_end = 0b10
        elif found := _NTH.fullmatch(part):
            number, weekday = names.ordinal(found[1]), names.weekday(found[2])
            if weekday is None or number not in _ORDINALS:
                raise ValueError(part)
            if number == _LAST:
                last |= 1 << weekday
            else:
                nth |= 1 << 7 * (number - 1) + weekday
        else:
            dates |= bitsets.of(_range(_FIELDS["day"], part))
    return Days(dates=dates, from_end=from_end, nth=nth, last=last)


def _range(field: _Field, text: str) -> range:
    """`*`, `5` or `1-5`, each with an optional step that is not longer than the range."""
    found = _RANGE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    low, high, step = field.low, field.high, int(found[3] or 1)
    if found[1]:
        low = _number(field, found[1])
        if found[2]:
            high = _number(field, found[2])
        elif not found[3]:
            high = low
    if not field.low <= low <= high <= field.high:
        raise ValueError(text)
    if found[3] and not 1 <= step <= high - low:
        raise ValueError(text)
    return range(low, high + 1, step)


def _number(field: _Field, text: str) -> int:
    if text.isdigit():
        return int(text)
    number = field.named(text) if field.named else None
    if number is None:
        raise ValueError(text)
    return number
