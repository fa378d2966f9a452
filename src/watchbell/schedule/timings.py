"""The `schedule` rules of an event's timings: arrays of years, months, days, down to minutes."""

from collections.abc import Callable, Mapping
from zoneinfo import ZoneInfo

from watchbell.schedule import bitsets, fields, zones
from watchbell.schedule.calendars import ALL_HOURS, ALL_MONTHS, SIXTY, Calendar
from watchbell.schedule.days import FIRST_YEAR, Days


def from_timing(value: object, zone: ZoneInfo) -> Calendar:
    """An array that is missing or empty is any; a day has to fit its date and its weekday.

    Days of the month are counted from its end as -1, -2, and so on. `zone` is that of a rule
    which names none.
    """
    rule = fields.mapping("timing", value)
    if rule.get("timezone"):
        zone = zones.named("timing.timezone", rule["timezone"])
    hours = _set(rule, "hours", fields.between(0, 23)) or ALL_HOURS
    minutes = _set(rule, "minutes", fields.between(0, 59)) or SIXTY
    return Calendar(
        zone=zone,
        hours=hours,
        minutes=minutes,
        days=_days(rule),
        months=_set(rule, "months", fields.month) or ALL_MONTHS,
        years=_years(rule),
        once=hours != ALL_HOURS and minutes != SIXTY,
    )


def _each(
    rule: Mapping[str, object], name: str, read: Callable[[str, object], int]
) -> frozenset[int]:
    return fields.each(f"timing.{name}", rule.get(name), read)


def _set(rule: Mapping[str, object], name: str, read: Callable[[str, object], int]) -> int:
    return bitsets.of(_each(rule, name, read))


def _days(rule: Mapping[str, object]) -> tuple[Days, ...]:
    dates = _each(rule, "days", fields.around(31))
    weekdays = _set(rule, "weekdays", fields.weekday)
    by_date = Days(
        dates=bitsets.of(day for day in dates if day > 0),
        from_end=bitsets.of(-day for day in dates if day < 0),
    )
    return (*([by_date] if dates else []), *([Days(weekdays=weekdays)] if weekdays else []))


def _years(rule: Mapping[str, object]) -> int:
    years = _each(rule, "years", fields.between(1, 9999))
    if not years:
        return bitsets.ANY
    return bitsets.of(year - FIRST_YEAR for year in years if year >= FIRST_YEAR)
