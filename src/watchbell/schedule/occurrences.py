"""Finds when occurrences of rules start, on a clock without a zone.

Whether a rule has occurrences on a day, and at which times, is decided from that day alone. So a
search takes the same time whether the rule started yesterday or fifteen years ago.
"""

from bisect import bisect_left, bisect_right
from calendar import isleap, monthrange
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from itertools import product
from math import inf

from watchbell.schedule.rules import Rule, Unit
from watchbell.schedule.wallclock import DAY

Times = Sequence[int]
"""Seconds of a day, ascending; a range if possible, since there may be 86,400."""

_FURTHEST = 40 * 366
_LAST_DAY = date.max.toordinal() - 366
_SECONDS_OF = {Unit.SECOND: 1, Unit.MINUTE: 60, Unit.HOUR: 3600}


def _settled(rule: Rule, start: int) -> Rule:
    """The rule with everything filled in that its start decides, except days that short months
    lack."""
    day = date.fromordinal(start // DAY)
    found = replace(
        rule,
        hours=rule.hours or _decided(rule.unit > Unit.HOUR, start % DAY // 3600),
        minutes=rule.minutes or _decided(rule.unit > Unit.MINUTE, start % 3600 // 60),
        seconds=rule.seconds or _decided(rule.unit > Unit.SECOND, start % 60),
    )
    if rule.unit == Unit.WEEK and not rule.names_days:
        found = replace(found, weekdays=frozenset({start // DAY % 7}))
    if rule.unit == Unit.YEAR and not rule.months and not _frees_month(rule):
        found = replace(found, months=frozenset({day.month}))
    if rule.unit >= Unit.MONTH and rule.ical and not rule.names_days:
        found = replace(found, month_days=frozenset({day.day}))
    return found


def _decided(by_start: bool, value: int) -> frozenset[int]:
    return frozenset({value}) if by_start else frozenset()


def _frees_month(rule: Rule) -> bool:
    return rule.names_days if rule.ical else bool(rule.year_days)


class Pattern:
    """The occurrences of one rule from a start on; all readings are of a wall clock."""

    def __init__(self, rule: Rule, start: int, until: int | None) -> None:
        self._rule = _settled(rule, start)
        self._start = start
        self._until = until
        self._first = date.fromordinal(start // DAY)
        stays = rule.unit >= Unit.MONTH and not rule.ical and not rule.names_days
        self._day_or_last = self._first.day if stays else None
        self._of_every_day = self._product()
        self._in_phase = lru_cache(maxsize=None)(self._times_in_phase)
        self._chosen = lru_cache(maxsize=2)(self._choice)
        self._tally = [0]

    def starts(self, day: int) -> Times:
        """The times of a day, by its ordinal, at which occurrences start."""
        if self._rule.count is None:
            return self._uncounted(day)
        self._tally_up_to(day)
        left = self._rule.count - self._tally[max(0, day - self._start // DAY)]
        return self._uncounted(day)[: max(0, left)]

    def _tally_up_to(self, day: int) -> None:
        first = self._start // DAY
        for each in range(first + len(self._tally) - 1, day):
            self._tally.append(self._tally[-1] + len(self._uncounted(each)))

    def _uncounted(self, day: int) -> Times:
        first = self._start // DAY
        if day < first or (self._until is not None and day > self._until // DAY):
            return ()
        if not (self._in_step(day) and self._fits(date.fromordinal(day))):
            return ()
        times = self._times(day)
        if day == first:
            times = times[bisect_left(times, self._start % DAY) :]
        if self._until is not None and day == self._until // DAY:
            times = times[: bisect_right(times, self._until % DAY)]
        return times

    def _in_step(self, day: int) -> bool:
        rule, first = self._rule, self._start // DAY
        if rule.interval == 1 or rule.unit < Unit.DAY:
            return True
        if rule.unit == Unit.DAY:
            return (day - first) % rule.interval == 0
        if rule.unit == Unit.WEEK:
            weeks = (day - rule.week_start) // 7 - (first - rule.week_start) // 7
            return weeks % rule.interval == 0
        at = date.fromordinal(day)
        years = at.year - self._first.year
        if rule.unit == Unit.YEAR:
            return years % rule.interval == 0
        return (years * 12 + at.month - self._first.month) % rule.interval == 0

    def _fits(self, day: date) -> bool:
        rule = self._rule
        if rule.months and day.month not in rule.months:
            return False
        if not self._fits_weekday(day):
            return False
        if self._day_or_last is not None or rule.month_days:
            length = monthrange(day.year, day.month)[1]
            if self._day_or_last is not None and day.day != min(self._day_or_last, length):
                return False
            if rule.month_days and not rule.month_days & {day.day, day.day - length - 1}:
                return False
        if rule.year_days and not rule.year_days & _places_in_year(day):
            return False
        return not rule.weeks or bool(rule.weeks & _week_numbers(day, rule.week_start))

    def _fits_weekday(self, day: date) -> bool:
        rule = self._rule
        weekday = day.toordinal() % 7
        plain = weekday in rule.weekdays
        if not rule.nth:
            return plain or not rule.weekdays
        in_year = rule.ical and rule.unit == Unit.YEAR and not rule.months
        nth = any((weekday, n) in rule.nth for n in _numbers_of_weekday(day, in_year))
        if rule.ical:
            return plain or nth
        return nth and (plain or not rule.weekdays)

    def _times(self, day: int) -> Times:
        rule = self._rule
        if rule.unit < Unit.DAY:
            size = _SECONDS_OF[rule.unit]
            units = (day - self._start // DAY) * (DAY // size) - self._start % DAY // size
            return self._in_phase(-units % rule.interval)
        if rule.positions:
            return self._chosen(self._period(day)).get(day, ())
        return self._of_every_day

    def _product(self) -> Times:
        """The times of a day; for a rule of hours or minutes, those within one of them."""
        rule = self._rule
        hours = rule.hours if rule.unit > Unit.HOUR else {0}
        minutes = (rule.minutes or range(60)) if rule.unit > Unit.MINUTE else {0}
        seconds = (rule.seconds or range(60)) if rule.unit > Unit.SECOND else {0}
        times = sorted(h * 3600 + m * 60 + s for h, m, s in product(hours, minutes, seconds))
        if rule.positions and rule.unit < Unit.DAY:
            wanted = _indexes(rule.positions, len(times))
            times = [time for index, time in enumerate(times) if index in wanted]
        return tuple(times)

    def _times_in_phase(self, phase: int) -> Times:
        rule = self._rule
        size = _SECONDS_OF[rule.unit]
        units = range(phase, DAY // size, rule.interval)
        free = not (rule.hours or rule.minutes or rule.seconds or rule.positions)
        if free and rule.unit == Unit.SECOND:
            return units
        return tuple(
            unit * size + within
            for unit in units
            if self._fits_time(unit * size)
            for within in self._of_every_day
        )

    def _fits_time(self, time: int) -> bool:
        rule = self._rule
        return (
            (not rule.hours or time // 3600 in rule.hours)
            and (rule.unit > Unit.MINUTE or not rule.minutes or time % 3600 // 60 in rule.minutes)
            and (rule.unit > Unit.SECOND or not rule.seconds or time % 60 in rule.seconds)
        )

    def _period(self, day: int) -> range:
        """The days of the week, month or year around a day."""
        at = date.fromordinal(day)
        if self._rule.unit == Unit.WEEK:
            first = day - (day - self._rule.week_start) % 7
            return range(first, first + 7)
        if self._rule.unit == Unit.MONTH:
            first = day - at.day + 1
            return range(first, first + monthrange(at.year, at.month)[1])
        if self._rule.unit == Unit.YEAR:
            first = date(at.year, 1, 1).toordinal()
            return range(first, first + 365 + isleap(at.year))
        return range(day, day + 1)

    def _choice(self, period: range) -> dict[int, Times]:
        days = [day for day in period if self._fits(date.fromordinal(day))]
        times = [(day, time) for day in days for time in self._of_every_day]
        wanted = _indexes(self._rule.positions, len(times))
        chosen: dict[int, list[int]] = {}
        for index in sorted(wanted):
            if 0 <= index < len(times):
                chosen.setdefault(times[index][0], []).append(times[index][1])
        return {day: tuple(of_day) for day, of_day in chosen.items()}


def _indexes(positions: frozenset[int], length: int) -> set[int]:
    return {place - 1 if place > 0 else length + place for place in positions}


def _places_in_year(day: date) -> set[int]:
    place = day.timetuple().tm_yday
    return {place, place - 366 - isleap(day.year)}


def _numbers_of_weekday(day: date, in_year: bool) -> tuple[int, int]:
    """Which one of its name a day is in its month, or year: from the beginning, from the end."""
    place, length = day.day, monthrange(day.year, day.month)[1]
    if in_year:
        place, length = day.timetuple().tm_yday, 365 + isleap(day.year)
    return (place - 1) // 7 + 1, -((length - place) // 7 + 1)


def _week_numbers(day: date, week_start: int) -> set[int]:
    """The number of a day's week, from the beginning and from the end of the year it is of."""
    middle = day.toordinal() - (day.toordinal() - week_start) % 7 + 3
    year = date.fromordinal(middle).year
    number = (middle - date(year, 1, 1).toordinal()) // 7 + 1
    in_last = date(year, 12, 28).toordinal()
    last_middle = in_last - (in_last - week_start) % 7 + 3
    weeks = (last_middle - date(year, 1, 1).toordinal()) // 7 + 1
    return {number, number - weeks - 1}


@lru_cache(maxsize=256)
def _merged(included: tuple[Times, ...], excluded: tuple[Times, ...]) -> Times:
    return tuple(sorted(set[int]().union(*included).difference(*excluded)))


class Plan:
    """Windows of one length that open by patterns and at single points, except for exceptions."""

    def __init__(
        self,
        start: int,
        duration: int,
        patterns: tuple[Pattern, ...],
        points: frozenset[int],
        exceptions: tuple[Pattern, ...],
        holes: frozenset[int],
    ) -> None:
        self._first_day = start // DAY
        self._duration = duration
        self._patterns = patterns
        self._exceptions = exceptions
        self._holes: dict[int, list[int]] = {}
        for hole in sorted(holes):
            self._holes.setdefault(hole // DAY, []).append(hole % DAY)
        self._points = [
            point for point in sorted(points) if point >= start and not self._excepted(point)
        ]
        self._of_day = lru_cache(maxsize=4)(self._starts)
        self._before = lru_cache(maxsize=4)(self._last_before)

    def covers(self, wall: int) -> bool:
        if self._points:
            index = bisect_right(self._points, wall)
            if index and wall - self._points[index - 1] < self._duration:
                return True
        if not self._patterns:
            return False
        day, second = divmod(wall, DAY)
        times = self._of_day(day)
        index = bisect_right(times, second)
        if index:
            return second - times[index - 1] < self._duration
        return wall - self._before(day) < self._duration

    def following(self, wall: int) -> int | None:
        """The first start from a reading on; searches day by day, up to 40 years ahead.

        Only a rule with an interval of many years could start later than that.
        """
        index = bisect_left(self._points, wall)
        point = self._points[index] if index < len(self._points) else None
        first = max(wall // DAY, self._first_day)
        last = min(first + _FURTHEST, _LAST_DAY if point is None else point // DAY)
        for day in range(first, last + 1) if self._patterns else ():
            times = self._of_day(day)
            place = bisect_left(times, wall - day * DAY)
            if place < len(times):
                start = day * DAY + times[place]
                return start if point is None else min(start, point)
        return point

    def _starts(self, day: int) -> Times:
        included = tuple(times for one in self._patterns if (times := one.starts(day)))
        if not included:
            return ()
        excluded = tuple(times for one in self._exceptions if (times := one.starts(day)))
        if day in self._holes:
            excluded += (tuple(self._holes[day]),)
        if len(included) == 1 and not excluded:
            return included[0]
        return _merged(included, excluded)

    def _last_before(self, day: int) -> float:
        """The last start before a day begins, as far back as a window could reach."""
        furthest = max(self._first_day, day - self._duration // DAY - 1)
        for each in range(day - 1, furthest - 1, -1):
            if times := self._starts(each):
                return each * DAY + times[-1]
        return -inf

    def _excepted(self, point: int) -> bool:
        day, second = divmod(point, DAY)
        return second in self._holes.get(day, ()) or any(
            second in one.starts(day) for one in self._exceptions
        )
