"""Recurrence rules, and how they are read from the hashes of ice_cube."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any

from watchbell.schedule import fields


class Unit(IntEnum):
    SECOND = 0
    MINUTE = 1
    HOUR = 2
    DAY = 3
    WEEK = 4
    MONTH = 5
    YEAR = 6


UNITS = {
    "Secondly": Unit.SECOND,
    "Minutely": Unit.MINUTE,
    "Hourly": Unit.HOUR,
    "Daily": Unit.DAY,
    "Weekly": Unit.WEEK,
    "Monthly": Unit.MONTH,
    "Yearly": Unit.YEAR,
}
NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An empty set restricts nothing, except where the start decides instead."""

    unit: Unit
    interval: int = 1
    week_start: int = 0
    months: frozenset[int] = NONE
    weeks: frozenset[int] = NONE
    year_days: frozenset[int] = NONE
    month_days: frozenset[int] = NONE
    weekdays: frozenset[int] = NONE
    nth: frozenset[tuple[int, int]] = frozenset()
    """(weekday, n): the nth such weekday of the month; -1 for its last."""
    hours: frozenset[int] = NONE
    minutes: frozenset[int] = NONE
    seconds: frozenset[int] = NONE
    positions: frozenset[int] = NONE
    until: datetime | None = None
    count: int | None = None
    ical: bool = False
    """Read as iCalendar has it, where that differs from ice_cube.

    iCalendar: what the start decides is dropped as a whole when the rule names any days, a
    month without the start's day is left out, `BYDAY` may mix plain and numbered weekdays, and
    a yearly rule numbers them within the year. ice_cube: month and day of the start are dropped
    each for itself, a short month has its last day in place of the start's, and `day` and
    `day_of_week` have to hold both.
    """

    @property
    def names_days(self) -> bool:
        return bool(self.weekdays or self.nth or self.month_days or self.year_days or self.weeks)


_SETS: dict[str, tuple[str, Callable[[str, object], int]]] = {
    "day": ("weekdays", fields.weekday),
    "day_of_month": ("month_days", fields.around(31)),
    "day_of_year": ("year_days", fields.around(366)),
    "month_of_year": ("months", fields.month),
    "hour_of_day": ("hours", fields.between(0, 23)),
    "minute_of_hour": ("minutes", fields.between(0, 59)),
    "second_of_minute": ("seconds", fields.between(0, 59)),
    "by_set_pos": ("positions", fields.around(366)),
}
_KEYS = ("rule_type", "interval", "week_start", "validations", "until", "count")


def from_hash(field: str, value: object) -> Rule:
    """A rule from ice_cube's hash, as `field` of a restriction."""
    parts = {k: v for k, v in fields.mapping(field, value).items() if v is not None}
    for key in parts:
        if key not in _KEYS:
            fields.refuse(field, f"only {', '.join(_KEYS)}", key)
    read = _validations(f"{field}.validations", parts.get("validations"))
    until = parts.get("until")
    count = parts.get("count")
    return Rule(
        unit=_unit(f"{field}.rule_type", parts.get("rule_type")),
        interval=fields.positive(f"{field}.interval", parts.get("interval", 1)),
        week_start=fields.weekday(f"{field}.week_start", parts.get("week_start", 0)),
        until=None if until is None else fields.last_moment(f"{field}.until", until),
        count=None if count is None else fields.positive(f"{field}.count", count),
        **read,
    )


def _unit(field: str, value: object) -> Unit:
    name = value.removeprefix("IceCube::").removesuffix("Rule") if isinstance(value, str) else ""
    if name not in UNITS:
        fields.refuse(field, f"one of {', '.join(UNITS)}", value)
    return UNITS[name]


def _validations(field: str, value: object) -> dict[str, Any]:
    """The fields of a rule that `validations` set."""
    read: dict[str, Any] = {}
    for key, values in fields.mapping(field, value).items():
        if key == "day_of_week":
            read["nth"] = _nth(f"{field}.{key}", fields.mapping(f"{field}.{key}", values))
        elif key in _SETS:
            name, number = _SETS[key]
            read[name] = fields.each(f"{field}.{key}", values, number)
        else:
            fields.refuse(field, f"only {', '.join([*_SETS, 'day_of_week'])}", key)
    return read


def _nth(field: str, value: Mapping[str, object]) -> frozenset[tuple[int, int]]:
    return frozenset(
        (fields.weekday(field, day), number)
        for day, numbers in value.items()
        for number in fields.each(field, numbers, fields.around(5))
    )
