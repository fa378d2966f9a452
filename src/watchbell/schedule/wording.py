"""Describes sets of times and days in words."""

from collections.abc import Sequence
from itertools import product

from watchbell.schedule import bitsets
from watchbell.schedule.bitsets import ANY, numbers
from watchbell.schedule.days import FIRST_YEAR, Days
from watchbell.schedule.description import clock, in_runs, place
from watchbell.schedule.names import MONTHS, WEEKDAYS, listed

_ONLY_0 = 1
_MOST_TIMES = 6
_MOST_YEARS = 6
_SIZES = {"second": 60, "minute": 60, "hour": 24}
_LARGER = {"second": "minute", "minute": "hour", "hour": "day"}
_WEEK = (*WEEKDAYS[1:], WEEKDAYS[0])
_NAMED = {0b0111110: "weekdays", 0b1000001: "weekends"}
_COUNTED = [str(number) for number in range(100)]


def when(hours: int, minutes: int, seconds: int, days: Sequence[Days]) -> str:
    """Such as `at 02:30 on weekdays`."""
    named = f"on {' if on '.join(_days(each) for each in days)}" if days else ""
    if hours.bit_count() * minutes.bit_count() * seconds.bit_count() <= _MOST_TIMES:
        return f"at {_times(hours, minutes, seconds)} {named or 'every day'}"
    often = _often([("second", seconds), ("minute", minutes), ("hour", hours)])
    return " ".join([*often, named] if named else often)


def period(months: int, weeks: int, years: int) -> str:
    """Such as `in June in 2026`; empty if nothing is restricted."""
    words = []
    if len(named := numbers(months)) < len(MONTHS):
        words.append("in " + in_runs([MONTHS[month - 1] for month in named], MONTHS))
    if weeks != ANY:
        words.append(f"in week {_runs(weeks)}")
    if years != ANY:
        words.append(f"in {_years(years)}")
    return " ".join(words)


def _times(hours: int, minutes: int, seconds: int) -> str:
    times = product(numbers(hours), numbers(minutes), numbers(seconds))
    return listed([clock(hour * 3600 + minute * 60 + second) for hour, minute, second in times])


def _often(sets: list[tuple[str, int]]) -> list[str]:
    """Words from the smallest unit on that is not just 0, without larger units that are any."""
    while len(sets) > 1 and sets[0][1] == _ONLY_0:
        sets = sets[1:]
    (smallest, bits), *larger = sets
    words = [_unit(smallest, bits)]
    if smallest == "hour" and _is_run(bits):
        return [f"every hour {_span(bits, ':00')}"]
    for unit, each in larger:
        step = _step(unit, each)
        if unit == "hour" and step != 1 and _is_run(each):
            words.append(_span(each, ":59"))
        elif step > 1:
            words.append(f"of every {step} {unit}s")
        elif step == 0:
            words.append(f"of {unit} {_runs(each)}")
        elif words[-1].startswith("at "):
            words.append(f"of every {unit}")
    return words


def _unit(unit: str, bits: int) -> str:
    step = _step(unit, bits)
    if step == 0:
        return f"at {unit} {_runs(bits)}"
    if step == 1:
        return f"every {unit}"
    return f"every {step} {unit}s" + (f" of each {_LARGER[unit]}" if _SIZES[unit] % step else "")


def _step(unit: str, bits: int) -> int:
    """The step of a set that goes from 0 to the end of the unit in equal steps; otherwise 0."""
    members = numbers(bits)
    step = members[1] if len(members) > 1 else 0
    return step if step and bits == bitsets.of(range(0, _SIZES[unit], step)) else 0


def _is_run(hours: int) -> bool:
    members = numbers(hours)
    return 1 < len(members) < _SIZES["hour"] and members[-1] - members[0] == len(members) - 1


def _span(hours: int, end: str) -> str:
    members = numbers(hours)
    return f"from {members[0]:02}:00 to {members[-1]:02}{end}"


def _runs(bits: int) -> str:
    return in_runs([str(number) for number in numbers(bits)], _COUNTED)


def _years(bits: int) -> str:
    years = [FIRST_YEAR + number for number in numbers(bits)]
    if not years:
        return "past years"
    if len(years) > 2 and years[-1] - years[0] == len(years) - 1:
        return f"{years[0]} to {years[-1]}"
    words = [str(year) for year in years[:_MOST_YEARS]]
    more = len(years) - len(words)
    return listed([*words, f"{more} more years"] if more else words)


def _days(days: Days) -> str:
    words = []
    if days.dates:
        words.append(f"day {_runs(days.dates)}")
    words += [f"the {place(-number)} day" for number in numbers(days.from_end)]
    if days.last_workday:
        words.append("the last weekday of the month")
    if days.weekdays:
        names = [name for name in _WEEK if days.weekdays >> WEEKDAYS.index(name) & 1]
        words.append(_NAMED.get(days.weekdays) or in_runs(names, _WEEK))
    nth = [divmod(number, 7) for number in numbers(days.nth)]
    words += [f"the {place(n + 1)} {WEEKDAYS[weekday]}" for n, weekday in nth]
    words += [f"the last {WEEKDAYS[weekday]}" for weekday in numbers(days.last)]
    return " or ".join(words)
