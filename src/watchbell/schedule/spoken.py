"""Reads moments and spans of time from plain English.

A time that comes twice, because clocks are set back, means the first one; a time that is skipped
means the first moment after the gap. Lengths are elapsed time: `in 1 day` is 86,400 seconds from
now, whatever clocks do; `tomorrow 08:00` is what the clock shows.
"""

import re
from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from watchbell.errors import Refused
from watchbell.schedule import dates, names, wallclock
from watchbell.schedule.wallclock import DAY
from watchbell.schedule.windows import window, windows
from watchbell.units import duration, in_words

__all__ = ["duration", "in_words", "moment", "remark", "span", "window", "windows"]

_NAMED_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_EXAMPLE = (
    "enter, for example, 'in 2 hours', 'tomorrow 08:00', 'mon 9am', '24 nov 14:00',"
    " '24/11/2026 14:00' or '2026-11-24 14:00'"
)
_SPAN_EXAMPLE = (
    "enter, for example, 'more than 2 hours ago', 'before tomorrow', 'on 2026-11-20'"
    " or 'between now and mon 09:00'"
)
_LARGEST = 10**12

Bounds = tuple[int | None, int | None]


def moment(text: str, now: float, zone: ZoneInfo, *, nearest: bool = False) -> int:
    """Epoch seconds of a moment; a day alone is its beginning, a weekday the next one after now.

    A date without a year is the next one, or the `nearest` to now. `24/11` is read day first,
    `11/24` month first, because no month is the 24th.
    """
    plain = _plain(text)
    found = _relative(plain, now) if plain else None
    if found is None and plain:
        found = _on_the_clock(_day_first(plain), now, zone, nearest=nearest)
    if found is None:
        raise Refused(f"'{plain}' was not understood as a time; {_EXAMPLE}")
    return found


def _plain(text: str) -> str:
    """In lower case, with single spaces and without `at`."""
    plain = " ".join(text.lower().split())
    return re.sub(r"^at | at(?= )|,", "", plain)


def remark(text: str) -> str | None:
    """How a date was read if its day and month could be swapped; None if it is clear."""
    return dates.remark(_plain(text))


def _day_first(plain: str) -> str:
    """`9am tomorrow` as `tomorrow 9am`."""
    match = re.fullmatch(r"(\S*:\S*(?: ?[ap]m)?|\d+ ?[ap]m|noon|midnight) (?:on )?(.+)", plain)
    return f"{match[2]} {match[1]}" if match else plain


def _relative(plain: str, now: float) -> int | None:
    """Relative to now, or seconds since 1970."""
    if plain == "now":
        return int(now)
    if match := re.fullmatch(r"@?(\d+)|@?(\d{6,})\.\d+", plain, re.ASCII):
        seconds = int((match[1] or match[2])[:20])
        if seconds > _LARGEST:
            raise Refused(f"'{plain}' is too far off: expected seconds since 1970")
        return seconds
    if match := re.fullmatch(r"(?:in |\+ ?)(.+?)(?: from now)?|(.+) (?:from now|later)", plain):
        return int(now) + duration(match[1] or match[2])
    if match := re.fullmatch(r"(.+) ago|- ?(.+)", plain):
        return int(now) - duration(match[1] or match[2])
    return None


def _on_the_clock(plain: str, now: float, zone: ZoneInfo, *, nearest: bool) -> int | None:
    if (stamp := wallclock.stamp(plain.upper())) is not None:
        return _stamped(stamp, zone)
    today = wallclock.reading(now, zone) // DAY
    if (dated := dates.leading(plain, today, nearest=nearest)) is not None:
        return _at(*dated, zone)
    day, _, time = plain.partition(" ")
    if day in _NAMED_DAYS:
        return _at(today + _NAMED_DAYS[day], time, zone)
    if day in {"next", "last"}:
        day, _, time = time.partition(" ")
        return _on_weekday(day, time, now, zone, backwards=plain.startswith("last"))
    if names.weekday(day) is not None:
        return _on_weekday(day, time, now, zone, backwards=False)
    if (date := wallclock.stamp(day)) is not None:
        return _at(date.toordinal(), time, zone)
    today_at = _at(today, plain, zone)
    if today_at is not None and today_at <= now:
        return _at(today + 1, plain, zone)
    return today_at


def _stamped(stamp: datetime, zone: ZoneInfo) -> int:
    if stamp.tzinfo is not None:
        return int(stamp.timestamp())
    return wallclock.epoch(wallclock.shown(stamp), zone)


def _at(day: int, time: str, zone: ZoneInfo) -> int | None:
    second = names.time_of_day(time) if time else 0
    return None if second is None else wallclock.epoch(day * DAY + second, zone)


def _on_weekday(word: str, time: str, now: float, zone: ZoneInfo, *, backwards: bool) -> int | None:
    weekday = names.weekday(word)
    today = wallclock.reading(now, zone) // DAY
    if weekday is None or _at(today, time, zone) is None:
        return None
    ahead = (weekday - today) % 7
    days = (today + ahead - 7, today + ahead, today + ahead + 7)
    moments = [_at(day, time, zone) for day in days]
    found = [m for m in moments if m is not None and (m < now if backwards else m > now)]
    return (max if backwards else min)(found)


def span(text: str, now: float, zone: ZoneInfo) -> Bounds:
    """The bounds [from, to) that a filter names; None where it has no bound.

    `more than 2 hours ago`, `before tomorrow`, `since yesterday`, `on 2026-11-20`,
    `between now and tomorrow 08:00`, `last 2 hours`.
    """
    plain = _plain(text)
    for pattern, read in _SPANS:
        if match := re.fullmatch(pattern, plain):
            return _ordered(plain, read(match, now, zone))
    raise Refused(f"'{plain}' was not understood as a span of time; {_SPAN_EXAMPLE}")


def _ordered(plain: str, bounds: Bounds) -> Bounds:
    if bounds[0] is not None and bounds[1] is not None and bounds[0] > bounds[1]:
        raise Refused(f"'{plain}' ends before it begins; put the earlier time first")
    return bounds


def _far(match: re.Match[str], now: float, zone: ZoneInfo) -> Bounds:
    """More, or less, than a length from now."""
    more = match[1] in {"more than", "over"}
    past = match[0].endswith(" ago")
    at = moment(f"{match[2]} ago" if past else f"in {match[2]}", now, zone)
    if past:
        return (None, at) if more else (at, int(now))
    return (at, None) if more else (int(now), at)


def _around_now(match: re.Match[str], now: float, _: ZoneInfo) -> Bounds:
    length = duration(match[2])
    if match[1] in {"last", "past"}:
        return int(now) - length, int(now)
    return int(now), int(now) + length


def _until(match: re.Match[str], now: float, zone: ZoneInfo) -> Bounds:
    return None, moment(match[1], now, zone, nearest=True)


def _since(match: re.Match[str], now: float, zone: ZoneInfo) -> Bounds:
    return moment(match[1], now, zone, nearest=True), None


def _between(match: re.Match[str], now: float, zone: ZoneInfo) -> Bounds:
    """Lengths may contain `and`, so each `and` is tried as the one between the two times."""
    middle = " and " if match[0].startswith("between") else " to "
    parts = match[1].split(middle)
    refusal = Refused(f"'{match[0]}' was not understood: expected two times around '{middle}'")
    for index in range(1, len(parts)):
        try:
            first = moment(middle.join(parts[:index]), now, zone, nearest=True)
            return first, moment(middle.join(parts[index:]), now, zone, nearest=True)
        except Refused as refused:
            refusal = refused
    raise refusal


def _on(match: re.Match[str], now: float, zone: ZoneInfo) -> Bounds:
    day = wallclock.reading(moment(match[1], now, zone, nearest=True), zone) // DAY
    return wallclock.epoch(day * DAY, zone), wallclock.epoch((day + 1) * DAY, zone)


_SPANS: list[tuple[str, Callable[[re.Match[str], float, ZoneInfo], Bounds]]] = [
    (r"(?:in )?(more than|over|less than|under) (.+?)(?: ago| from now)?", _far),
    (r"(?:in |within |during )?(?:the )?(last|past|next|coming) (\d.*|an? .*)", _around_now),
    (r"between (.+ and .+)", _between),
    (r"from (.+ to .+)", _between),
    (r"(?:before|until|till|by) (.+)", _until),
    (r"(?:after|since|from) (.+)", _since),
    (r"on (.+)", _on),
    (r"(yesterday|today|tomorrow|\d{4}-\d\d-\d\d)", _on),
]
