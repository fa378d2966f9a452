"""Reads fields of schedules and time restrictions, and refuses bad values by field."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import NoReturn

from watchbell.errors import Refused
from watchbell.schedule import names, wallclock

_LONGEST_SHOWN = 60


class BadValue(Refused):
    """A field has an invalid value; `expected` is the reason without that value, for readers who
    may not see it."""

    def __init__(self, field: str, expected: str, value: object) -> None:
        shown = repr(value)
        if len(shown) > _LONGEST_SHOWN:
            shown = shown[:_LONGEST_SHOWN] + "…"
        self.expected = f"expected {expected}"
        super().__init__(f"{self.expected}, not {shown}", field=field)


def refuse(field: str, expected: str, value: object) -> NoReturn:
    raise BadValue(field, expected, value)


def moment(field: str, value: object) -> datetime:
    """A time as text, or as `{time, zone}`; the zone is ignored, because the contact has one."""
    text = value.get("time") if isinstance(value, Mapping) else value
    found = wallclock.stamp(text) if isinstance(text, str) else None
    if found is None:
        refuse(field, "a time such as '2013-04-18 15:00:00'", value)
    return found


def last_moment(field: str, value: object) -> datetime:
    """The end of a period; a date alone means the end of that day."""
    found = moment(field, value)
    text = value.get("time") if isinstance(value, Mapping) else value
    if isinstance(text, str) and wallclock.is_date(text):
        return found.replace(hour=23, minute=59, second=59)
    return found


def moments(field: str, value: object) -> tuple[datetime, ...]:
    return tuple(moment(f"{field}[{i}]", each) for i, each in enumerate(array(field, value)))


def array(field: str, value: object) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        refuse(field, "an array", value)
    return list(value)


def mapping(field: str, value: object) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        refuse(field, "an object", value)
    return {str(key): each for key, each in value.items()}


def integer(value: object) -> int | None:
    if isinstance(value, str) and len(value) < 20 and value.strip().lstrip("+-").isdecimal():
        try:
            return int(value)
        except ValueError:
            return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def positive(field: str, value: object) -> int:
    number = integer(value)
    if number is None or number < 1:
        refuse(field, "a whole number from 1", value)
    return number


def weekday(field: str, value: object) -> int:
    number = names.weekday(value) if isinstance(value, str) else None
    number = integer(value) if number is None else number
    if number is None or not 0 <= number <= 6:
        refuse(field, "a weekday from 0 (Sunday) to 6", value)
    return number


def month(field: str, value: object) -> int:
    number = names.month(value) if isinstance(value, str) else None
    number = integer(value) if number is None else number
    if number is None or not 1 <= number <= 12:
        refuse(field, "a month from 1 to 12", value)
    return number


def between(low: int, high: int) -> Callable[[str, object], int]:
    def read(field: str, value: object) -> int:
        number = integer(value)
        if number is None or not low <= number <= high:
            refuse(field, f"a whole number from {low} to {high}", value)
        return number

    return read


def around(high: int) -> Callable[[str, object], int]:
    """Counted from the beginning as 1, 2, … or from the end as -1, -2, …"""

    def read(field: str, value: object) -> int:
        number = integer(value)
        if number is None or not 1 <= abs(number) <= high:
            refuse(field, f"a whole number from 1 to {high} or from -1 to -{high}", value)
        return number

    return read


def each(field: str, value: object, read: Callable[[str, object], int]) -> frozenset[int]:
    values: Iterable[object] = value if isinstance(value, list | tuple) else [value]
    return frozenset(read(field, one) for one in values if one is not None)
