"""Calendars of times and dates, and the search for the next one.

All are sets of bits in which a shift finds the next number, so a schedule takes a few hundred
bytes, and a search a few microseconds.
"""

from calendar import isleap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final
from zoneinfo import ZoneInfo

from watchbell.schedule import wording, zones
from watchbell.schedule.bitsets import ANY, lowest, numbers
from watchbell.schedule.days import FIRST_YEAR, Days
from watchbell.schedule.firing import Schedule
from watchbell.schedule.wallclock import DAY

ALL_HOURS: Final = (1 << 24) - 1
SIXTY: Final = (1 << 60) - 1
ALL_MONTHS: Final = (2 << 12) - 2
LAST_YEAR: Final = 9998

_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_CYCLE = 400
"""Years after which dates fall on the same weekdays and weeks again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar(Schedule):
    """Fires when the clock of a zone shows a time that is in all sets."""

    zone: ZoneInfo
    hours: int = ALL_HOURS
    minutes: int = SIXTY
    seconds: int = 1
    days: tuple[Days, ...] = ()
    """A date has to be in each of these."""
    months: int = ALL_MONTHS
    weeks: int = ANY
    """Week numbers of ISO 8601."""
    years: int = ANY
    """Counted from 1970."""
    once: bool
    """Whether a time fires once a day even on days of clock changes. See `zones.next_moment`."""

    def next_after(self, instant: float) -> int | None:
        return zones.next_moment(self._following, self.zone, instant, once=self.once)

    def describes(self) -> str:
        when = wording.when(self.hours, self.minutes, self.seconds, self.days)
        period = wording.period(self.months, self.weeks, self.years)
        return f"{when} {period}".rstrip() + f", {self.zone.key or 'local time'}"

    def _following(self, reading: int) -> int | None:
        day, second = divmod(reading, DAY)
        today = date.fromordinal(day)
        dates = self._dates(today.year, today.month, day - today.day)
        if dates >> today.day & 1:
            time = self._time_from(second)
            if time is not None:
                return day * DAY + time
        later = dates >> (today.day + 1)
        if later:
            return (day + 1 + lowest(later)) * DAY + self._first_time()
        return self._after_month(today.year, today.month)

    def _after_month(self, year: int, month: int) -> int | None:
        for each in self._years_from(year):
            later = self.months >> month + 1 << month + 1 if each == year else self.months
            for one in numbers(later):
                before = date(each, one, 1).toordinal() - 1
                dates = self._dates(each, one, before)
                if dates:
                    return (before + lowest(dates)) * DAY + self._first_time()
        return None

    def _years_from(self, year: int) -> Iterator[int]:
        """Enough years to include every kind of year; after them the calendar repeats."""
        for _ in range(_CYCLE + 1):
            year = max(year, FIRST_YEAR)
            later = self.years >> (year - FIRST_YEAR)
            year += lowest(later)
            if not later or year > LAST_YEAR:
                return
            yield year
            year += 1

    def _dates(self, year: int, month: int, before: int) -> int:
        """The dates of a month whose first day is the one after `before`."""
        if not (self.months >> month & 1 and self.years >> max(0, year - FIRST_YEAR) & 1):
            return 0
        length = 29 if month == 2 and isleap(year) else _LENGTHS[month]
        dates = (2 << length) - 2
        for days in self.days:
            dates &= days.within((before + 1) % 7, length)
        return dates if self.weeks == ANY else dates & self._in_weeks(before)

    def _in_weeks(self, before: int) -> int:
        dates = 0
        day = 1
        while day <= 31:
            following = day + 7 - (before + day - 1) % 7
            if self.weeks >> date.fromordinal(before + day).isocalendar().week & 1:
                dates |= (1 << following) - (1 << day)
            day = following
        return dates

    def _first_time(self) -> int:
        return lowest(self.hours) * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)

    def _time_from(self, second: int) -> int | None:
        """The first time of a day from a second of it on."""
        hour, minute = second // 3600, second % 3600 // 60
        if self.hours >> hour & 1:
            if self.minutes >> minute & 1 and (later := self.seconds >> second % 60):
                return second + lowest(later)
            if later := self.minutes >> minute + 1:
                minute += 1 + lowest(later)
                return hour * 3600 + minute * 60 + lowest(self.seconds)
        if later := self.hours >> hour + 1:
            hour += 1 + lowest(later)
            return hour * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)
        return None
