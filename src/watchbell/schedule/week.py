"""Converts time restrictions to and from a weekly grid of half hours that people paint."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

from watchbell.errors import Refused
from watchbell.schedule import recurrence, wallclock, windows
from watchbell.schedule.description import clock
from watchbell.schedule.names import WEEKDAYS
from watchbell.schedule.occurrences import Pattern
from watchbell.schedule.recurrence import Restriction
from watchbell.schedule.rules import Rule, Unit
from watchbell.schedule.wallclock import DAY

HALF_HOUR = 1_800
SLOTS = DAY // HALF_HOUR
_WEEK = 7 * SLOTS
_MOST_RULES = 100
_MONDAY_FIRST = (*range(1, 7), 0)

Grid = tuple[str, ...]
"""Seven days from Sunday on, each 48 half hours: `1` where it is painted, else `0`."""

ALWAYS: Grid = ("1" * SLOTS,) * 7


@dataclass(frozen=True, slots=True)
class NotWeekly:
    """Restrictions that a week of half hours can't show."""

    reasons: tuple[str, ...]
    """Each restriction in words, and why it can't be painted."""

    def __str__(self) -> str:
        return "; ".join(self.reasons)


def grid_of(restrictions: Iterable[Mapping[str, object]], today: date) -> Grid | NotWeekly:
    """The week of these restrictions from today on; the whole week if there are none."""
    painted: set[int] | None = None
    reasons = []
    for value in restrictions:
        painted = painted or set()
        try:
            one = recurrence.parse(value)
        except Refused as error:
            reasons.append(f"a time that can't be read: {error}")
            continue
        if why_not := _why_not(one, today):
            reasons.append(f"{one.describe()}: {why_not}")
        else:
            painted |= _half_hours(one)
    if reasons:
        return NotWeekly(tuple(reasons))
    if painted is None:
        return ALWAYS
    marks = "".join("1" if slot in painted else "0" for slot in range(_WEEK))
    return tuple(marks[at : at + SLOTS] for at in range(0, _WEEK, SLOTS))


def restrictions_of(grid: Grid) -> list[dict[str, object]]:
    """The restrictions of a week; none for the whole week."""
    if grid == ALWAYS:
        return []
    found: dict[tuple[int, int], list[str]] = {}
    for day in _MONDAY_FIRST:
        for hours in _windows(grid, day):
            found.setdefault(hours, []).append(WEEKDAYS[day])
    if not found:
        raise Refused(
            "no time is selected, so nothing would ever match; select some, or delete the rule",
            field="time_restrictions",
        )
    return [
        windows.window(f"{','.join(days)} {_clock(begin)}-{_clock(end)}")
        for (begin, end), days in found.items()
    ]


def _why_not(one: Restriction, today: date) -> str:
    """Why a restriction can't be painted; empty if it can."""
    if one.start.tzinfo is not None or one.end.tzinfo is not None:
        return "it is in UTC, not in local time"
    if one.exceptions or one.times or one.except_times:
        return "single times are added or left out"
    if not one.rules:
        return "it does not repeat"
    if not all(map(_is_weekly, one.rules)):
        return "it is not the same every week"
    if one.start.date() > today:
        return f"it begins on {one.start:%Y-%m-%d}"
    length = wallclock.shown(one.end) - wallclock.shown(one.start)
    if length % HALF_HOUR or not all(_is_on_half_hours(rule, one.start) for rule in one.rules):
        return "it does not begin and end on half hours"
    return "" if len(one.rules) <= _MOST_RULES else "it has too many rules"


def _is_weekly(rule: Rule) -> bool:
    return (
        rule.unit in (Unit.DAY, Unit.WEEK)
        and rule.interval == 1
        and not (rule.months or rule.weeks or rule.year_days or rule.month_days)
        and not (rule.nth or rule.positions)
        and rule.until is None
        and rule.count is None
    )


def _is_on_half_hours(rule: Rule, start: datetime) -> bool:
    """Decided by the rule's sets alone, since a rule with all seconds opens very often."""
    minutes, seconds = rule.minutes or {start.minute}, rule.seconds or {start.second}
    return minutes <= {0, 30} and seconds <= {0}


def _starts(one: Restriction) -> Iterator[int]:
    """The seconds of a week, from Sunday on, at which windows open."""
    start = wallclock.shown(one.start)
    later = (start // DAY // 7 + 2) * 7
    for rule in one.rules:
        pattern = Pattern(rule, start, None)
        for day in range(7):
            yield from (day * DAY + time for time in pattern.starts(later + day))


def _half_hours(one: Restriction) -> set[int]:
    length = min((wallclock.shown(one.end) - wallclock.shown(one.start)) // HALF_HOUR, _WEEK)
    return {
        slot % _WEEK
        for start in _starts(one)
        for slot in range(start // HALF_HOUR, start // HALF_HOUR + length)
    }


def _windows(grid: Grid, day: int) -> Iterator[tuple[int, int]]:
    """Begin and end, in half hours, of the windows that open on a day. A window past midnight of at
    most a day is one window."""
    for begin, end in _runs(grid[day]):
        if begin == 0 and _night(grid, (day - 1) % 7) is not None:
            continue
        night = _night(grid, day) if end == SLOTS else None
        yield night or (begin, end)


def _night(grid: Grid, day: int) -> tuple[int, int] | None:
    """The window over the midnight that ends a day, if there is one."""
    evening = next((run for run in _runs(grid[day]) if run[1] == SLOTS), None)
    morning = next((run for run in _runs(grid[(day + 1) % 7]) if run[0] == 0), None)
    if evening is None or morning is None or morning[1] >= evening[0]:
        return None
    return evening[0], SLOTS + morning[1]


def _runs(row: str) -> Iterator[tuple[int, int]]:
    at = 0
    for mark, slots in groupby(row):
        end = at + len(list(slots))
        if mark == "1":
            yield at, end
        at = end


def _clock(slot: int) -> str:
    return "24:00" if slot == SLOTS else clock(slot * HALF_HOUR)
