"""Explains how clock changes affect fires: which are moved, come twice, or come only once."""

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from watchbell.schedule import wallclock, zones
from watchbell.schedule.calendars import Calendar
from watchbell.schedule.firing import Limited, Schedule

_UTC = ZoneInfo("UTC")
_1970 = wallclock.shown(datetime.fromtimestamp(0, UTC))


def zone_of(schedule: Schedule) -> ZoneInfo | None:
    """The zone of a schedule; None for one that counts seconds, or never fires."""
    calendar = _calendar(schedule)
    return calendar.zone if calendar else None


def remark(schedule: Schedule, fire: int) -> str:
    """How a clock change affects this fire; empty if it does not."""
    calendar = _calendar(schedule)
    if calendar is None:
        return ""
    return _moved(calendar, fire) or _shown_twice(calendar, fire) or _shown_again(calendar, fire)


def _calendar(schedule: Schedule) -> Calendar | None:
    inner = schedule.schedule if isinstance(schedule, Limited) else schedule
    return inner if isinstance(inner, Calendar) else None


def _moved(calendar: Calendar, fire: int) -> str:
    around = zones.stretch(fire, calendar.zone)
    before = zones.stretch(around.begin - 1, calendar.zone)
    if not calendar.once or fire != around.begin:
        return ""
    never_shown = range(fire + before.shift - _1970, fire + around.shift - _1970)
    on_a_clock_never_set = replace(calendar, zone=_UTC)
    wanted = on_a_clock_never_set.next_after(never_shown.start - 1)
    if wanted is None or wanted not in never_shown:
        return ""
    return f"clocks are set forward and never show {_time(wanted)}; it runs right after"


def _shown_twice(calendar: Calendar, fire: int) -> str:
    around = zones.stretch(fire, calendar.zone)
    after = zones.stretch(around.end, calendar.zone)
    again = fire + around.shift - after.shift
    if after.shift >= around.shift or not after.begin <= again < after.end:
        return ""
    times = "the first time only" if calendar.once else "both times"
    return f"clocks are set back and show {_time(fire + around.shift)} twice; it runs {times}"


def _shown_again(calendar: Calendar, fire: int) -> str:
    around = zones.stretch(fire, calendar.zone)
    before = zones.stretch(around.begin - 1, calendar.zone)
    if fire + around.shift >= around.begin + before.shift:
        return ""
    return f"clocks were set back and show {_time(fire + around.shift)} for the second time"


def _time(reading: int) -> str:
    second = reading % wallclock.DAY
    shown = f"{second // 3600:02}:{second % 3600 // 60:02}"
    return f"{shown}:{second % 60:02}" if second % 60 else shown
