"""Time restrictions in words."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import prod

from watchbell.schedule.names import MONTHS, ORDINALS, WEEKDAYS, listed
from watchbell.schedule.rules import Rule, Unit
from watchbell.schedule.wallclock import DAY
from watchbell.units import in_words


def described(
    start: datetime,
    length: int,
    rules: Sequence[Rule],
    exceptions: Sequence[Rule],
    times: Sequence[datetime],
    except_times: Sequence[datetime],
) -> str:
    phrases = [f"{_days(rule, start)}, {_hours(rule, start, length)}" for rule in rules]
    if not rules:
        phrases.append(f"once, {_moment(start)} to {_moment(start + timedelta(seconds=length))}")
    if times:
        phrases.append(f"{listed([_moment(time) for time in times])}, for {in_words(length)}")
    return "; ".join(phrases) + _excepted(start, exceptions, except_times)


def starts_described(
    start: datetime,
    rules: Sequence[Rule],
    exceptions: Sequence[Rule],
    times: Sequence[datetime],
    except_times: Sequence[datetime],
) -> str:
    """As `described`, of occurrences that have no length."""
    phrases = [", ".join([_days(rule, start), *_at(rule, start)]) for rule in rules]
    phrases += [_moment(time) for time in (times if rules else (start, *times))]
    return "; ".join(phrases) + _excepted(start, exceptions, except_times)


def _excepted(start: datetime, exceptions: Sequence[Rule], except_times: Sequence[datetime]) -> str:
    excepted = [_days(rule, start) for rule in exceptions]
    excepted += [_moment(time) for time in except_times]
    return f"; except {listed(excepted)}" if excepted else ""


def _at(rule: Rule, start: datetime) -> list[str]:
    sets = (rule.hours, rule.minutes, rule.seconds)
    if rule.unit < Unit.DAY or prod(max(1, len(each)) for each in sets) > 6:
        return _times(rule, start)
    return [f"at {listed(_openings(rule, start))}"]


def _moment(moment: datetime) -> str:
    shown = moment.strftime("%Y-%m-%d %H:%M:%S").removesuffix(":00")
    return shown if moment.tzinfo is None else f"{shown} UTC"


def clock(seconds: int) -> str:
    shown = f"{seconds // 3600 % 24:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    return shown.removesuffix(":00")


def _hours(rule: Rule, start: datetime, length: int) -> str:
    if rule.unit < Unit.DAY or rule.hours or rule.minutes or rule.seconds:
        return ", ".join([*_times(rule, start), f"for {in_words(length)}"])
    opens = start.hour * 3600 + start.minute * 60 + start.second
    if opens == 0 and length == DAY:
        return "all day"
    if length >= DAY:
        return f"from {clock(opens)} for {in_words(length)}"
    closes = "24:00" if opens + length == DAY else clock(opens + length)
    return f"{clock(opens)} to {closes}"


def _times(rule: Rule, start: datetime) -> list[str]:
    if rule.unit >= Unit.DAY and rule.hours and len(rule.hours) * len(rule.minutes or "0") <= 6:
        return [f"from {listed(_openings(rule, start))}"]
    sets = (("hour", rule.hours), ("minute", rule.minutes), ("second", rule.seconds))
    return [f"in {name} {_numbers(values)}" for name, values in sets if values]


def _openings(rule: Rule, start: datetime) -> list[str]:
    hours = rule.hours or {start.hour}
    minutes = rule.minutes or {start.minute}
    seconds = rule.seconds or {start.second}
    return [
        clock(hour * 3600 + minute * 60 + second)
        for hour in sorted(hours)
        for minute in sorted(minutes)
        for second in sorted(seconds)
    ]


def _days(rule: Rule, start: datetime) -> str:
    words = [_which(rule, start)]
    if rule.months:
        words.append("in " + in_runs([MONTHS[month - 1] for month in sorted(rule.months)], MONTHS))
    if rule.weeks:
        words.append(f"in week {_numbers(rule.weeks)}")
    if rule.positions:
        words.append(f"(only the {listed([place(n) for n in _ordered(rule.positions)])} of these)")
    if rule.until is not None:
        words.append(f"until {_moment(rule.until)}")
    if rule.count is not None:
        words.append("once" if rule.count == 1 else f"{rule.count} times")
    return " ".join(words)


def _which(rule: Rule, start: datetime) -> str:
    days = _named_days(rule)
    every = _every(rule)
    if rule.unit in {Unit.WEEK, Unit.DAY} and rule.interval == 1:
        return days or (WEEKDAYS[start.isoweekday() % 7] if rule.unit == Unit.WEEK else every)
    if rule.unit >= Unit.WEEK and not days:
        days = _day_of_start(rule, start)
    return f"{every} on {days}" if days else every


def _every(rule: Rule) -> str:
    name = rule.unit.name.lower()
    return f"every {name}" if rule.interval == 1 else f"every {rule.interval} {name}s"


def _day_of_start(rule: Rule, start: datetime) -> str:
    if rule.unit == Unit.WEEK:
        return WEEKDAYS[start.isoweekday() % 7]
    if rule.unit == Unit.MONTH or rule.months:
        return f"day {start.day}"
    return f"{start.day} {MONTHS[start.month - 1]}"


def _named_days(rule: Rule) -> str:
    words = []
    if rule.weekdays:
        week = (*WEEKDAYS[1:], WEEKDAYS[0])
        words.append(
            in_runs([name for name in week if WEEKDAYS.index(name) in rule.weekdays], week)
        )
    if rule.nth:
        ordered = sorted(rule.nth, key=lambda pair: (pair[1] < 0, pair[1], pair[0]))
        words.append(listed([f"the {place(n)} {WEEKDAYS[day]}" for day, n in ordered]))
    if rule.month_days:
        words.append(_month_days(rule.month_days))
    if rule.year_days:
        words.append(f"day {_numbers(rule.year_days)} of the year")
    both = " or " if rule.ical and rule.weekdays and rule.nth else " that is "
    return both.join(words)


def place(number: int) -> str:
    if number < 0:
        return "last" if number == -1 else f"{place(-number)} last"
    return ORDINALS[number - 1] if number <= len(ORDINALS) else f"{number}th"


def _month_days(days: frozenset[int]) -> str:
    words = [f"the {place(day)} day" for day in _ordered(days) if day < 0]
    counted = [str(day) for day in _ordered(days) if day > 0]
    return listed([f"day {listed(counted)}", *words] if counted else words)


def _ordered(numbers: frozenset[int]) -> list[int]:
    return sorted(numbers, key=lambda number: (number < 0, abs(number)))


def _numbers(numbers: frozenset[int]) -> str:
    return listed([str(n) if n >= 0 else place(n) for n in _ordered(numbers)])


def in_runs(names: list[str], order: Sequence[str]) -> str:
    """`Monday to Friday and Sunday`: three or more that follow each other are one range."""
    if len(names) == len(order):
        return "every day" if len(order) == 7 else "every month"
    runs: list[list[str]] = []
    for name in names:
        if runs and order.index(runs[-1][-1]) + 1 == order.index(name):
            runs[-1].append(name)
        else:
            runs.append([name])
    parts = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else run for run in runs]
    return listed([part for run in parts for part in run])
