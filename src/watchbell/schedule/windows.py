"""Reads recurring windows from plain English, as hashes of time restrictions."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

from watchbell.errors import Refused
from watchbell.schedule import names, rules, wallclock
from watchbell.schedule.occurrences import Pattern
from watchbell.schedule.wallclock import DAY

_EPOCH = date(2000, 1, 1).toordinal()
_HORIZON = 9 * 366
_FILLERS = frozenset({"on", "at", "from", "in", "the", "of", "every", "each", "month", "months"})
_DAYS = {
    "daily": range(7),
    "weekday": range(1, 6),
    "weekdays": range(1, 6),
    "workdays": range(1, 6),
    "weekend": (0, 6),
    "weekends": (0, 6),
}
_EXAMPLE = (
    "enter, for example, 'mon-fri 08:00-18:00', 'sat,sun', '1st mon 09:00-10:00' or 'day 1,15'"
)


@dataclass
class _Parsed:
    """The parts of one window that were read so far."""

    text: str
    weekdays: list[int] = field(default_factory=list)
    nth: dict[int, list[int]] = field(default_factory=dict)
    month_days: list[int] = field(default_factory=list)
    months: list[int] = field(default_factory=list)
    date: int | None = None
    hours: tuple[int, int] | None = None

    @property
    def has_days(self) -> bool:
        return bool(self.weekdays or self.nth or self.month_days or self.date)

    def refuse(self, word: str) -> Refused:
        return Refused(f"'{word}' was not understood in '{self.text}'; {_EXAMPLE}")


def windows(text: str) -> list[dict[str, object]]:
    """The hashes of all windows of a text, separated by `;`."""
    return [window(part) for part in text.split(";") if part.strip()] or [window("")]


def window(text: str) -> dict[str, object]:
    """The hash of one window. Its first occurrence is in the year 2000 or soon after.

    A window whose end is not after its start ends on the next day.
    """
    parsed = _Parsed(" ".join(text.split()))
    words = _words(text)
    if not words:
        raise Refused(f"a window is missing; {_EXAMPLE}")
    while words:
        _take(parsed, words)
    return _hash(parsed)


def _words(text: str) -> list[str]:
    text = re.sub("[\N{EN DASH}\N{EM DASH}]", "-", text.lower())
    text = re.sub(r"\b(every ?day|each day|always)\b", "daily", text)
    text = re.sub(r"\ball[ -]day( long)?\b", "00:00-24:00", text)
    text = re.sub(r"\s+(am|pm)\b", r"\1", text)
    text = re.sub(r"\s+(to|until|till|through)\s+", "-", text)
    text = re.sub(r"\s+and\s+", ",", text)
    text = re.sub(r",\s*(?=\d{1,2}(?::\d\d|am|pm))", " ", text)
    text = re.sub(r"\s*([-,])\s*", r"\1", text)
    return [word for word in text.split() if word not in _FILLERS]


def _take(parsed: _Parsed, words: list[str]) -> None:
    """Reads the next part, and removes its words."""
    word = words.pop(0)
    if ordinals := _list(word, names.ordinal, 31):
        _take_ordinals(parsed, word, ordinals, words)
    elif word in {"day", "days"} and words and (days := _list(words[0], _number, 31)):
        _once(parsed, words.pop(0), "days", again=parsed.has_days)
        parsed.month_days = days
    elif word in _DAYS:
        _once(parsed, word, "days", again=parsed.has_days)
        parsed.weekdays = list(_DAYS[word])
    elif weekdays := _list(word, names.weekday, 6, first=0):
        _once(parsed, word, "days", again=parsed.has_days)
        parsed.weekdays = weekdays
    elif (months := _list(word, names.month, 12)) and not parsed.months:
        parsed.months = months
    elif wallclock.is_date(word) and (day := wallclock.stamp(word)) is not None:
        _once(parsed, word, "days", again=parsed.has_days)
        parsed.date = day.toordinal()
    elif (hours := _hours(word)) is not None:
        _once(parsed, word, "hours", again=parsed.hours is not None)
        parsed.hours = hours
    else:
        raise parsed.refuse(word)


def _take_ordinals(parsed: _Parsed, word: str, ordinals: list[int], words: list[str]) -> None:
    _once(parsed, word, "days", again=parsed.has_days)
    following = words[0] if words else ""
    if weekdays := _list(following, names.weekday, 6, first=0):
        words.pop(0)
        if any(number > 5 for number in ordinals):
            raise parsed.refuse(word)
        parsed.nth = dict.fromkeys(weekdays, ordinals)
        return
    if following in {"day", "days"}:
        words.pop(0)
    parsed.month_days = ordinals


def _once(parsed: _Parsed, word: str, what: str, *, again: bool) -> None:
    if again:
        raise Refused(
            f"'{word}' names {what} a second time in '{parsed.text}'; separate windows by ';'"
        )


def _number(word: str) -> int | None:
    return int(word) if re.fullmatch(r"\d{1,2}", word, re.ASCII) else None


def _list(word: str, read: Callable[[str], int | None], last: int, first: int = 1) -> list[int]:
    """The numbers of `mon-wed,fri` in their order; none if any part is something else."""
    found: list[int] = []
    for part in word.split(","):
        ends = [read(end) for end in part.split("-")]
        if len(ends) > 2 or None in ends:
            return []
        low, high = (number for number in (ends[0], ends[-1]) if number is not None)
        if len(ends) == 1 and low == -1:
            found.append(low)
            continue
        if not (first <= low <= last and first <= high <= last):
            return []
        beyond = high if low <= high else high + last - first + 1
        found += [(n - first) % (last - first + 1) + first for n in range(low, beyond + 1)]
    return list(dict.fromkeys(found))


def _hours(word: str) -> tuple[int, int] | None:
    """Start and end of `08:00-18:00`, `8am-6pm`, `22:00-06:00`: the end may be past midnight."""
    ends = word.split("-")
    if len(ends) != 2:
        return None
    start, end = names.time_of_day(ends[0]), names.time_of_day(ends[1])
    if start is None or end is None or start == DAY:
        return None
    bare = ends[0].isdigit() or ends[1].isdigit()
    if bare and end <= start:
        raise Refused(f"'{word}' may mean morning or evening; enter, for example, '09:00-17:00'")
    return start, end if end > start else end + DAY


def _rule(parsed: _Parsed) -> dict[str, object]:
    validations: dict[str, object] = {}
    if parsed.months:
        validations["month_of_year"] = sorted(parsed.months)
    if parsed.nth:
        validations["day_of_week"] = {str(day): numbers for day, numbers in parsed.nth.items()}
    elif parsed.month_days:
        validations["day_of_month"] = parsed.month_days
    elif parsed.weekdays and len(parsed.weekdays) < 7:
        validations["day"] = sorted(parsed.weekdays)
        return {
            "validations": validations,
            "rule_type": "Weekly",
            "interval": 1,
            "week_start": 0,
        }
    monthly = parsed.nth or parsed.month_days
    unit = "Monthly" if monthly else "Daily"
    return {"validations": validations, "rule_type": unit, "interval": 1}


def _hash(parsed: _Parsed) -> dict[str, object]:
    opens, closes = parsed.hours or (0, DAY)
    if parsed.date is not None and parsed.months:
        raise Refused(f"'{parsed.text}' names a date and months; enter one of them")
    rrules = [] if parsed.date is not None else [_rule(parsed)]
    first = parsed.date if parsed.date is not None else _first_day(parsed, rrules[0])
    return {
        "start_time": _stamp(first * DAY + opens),
        "end_time": _stamp(first * DAY + closes),
        "rrules": rrules,
        "exrules": [],
        "rtimes": [],
        "extimes": [],
    }


def _first_day(parsed: _Parsed, rule: dict[str, object]) -> int:
    pattern = Pattern(rules.from_hash("rrules[0]", rule), _EPOCH * DAY, None)
    for day in range(_EPOCH, _EPOCH + _HORIZON):
        if pattern.starts(day):
            return day
    raise Refused(f"'{parsed.text}' never occurs; {_EXAMPLE}")


def _stamp(wall: int) -> str:
    second = wall % DAY
    day = date.fromordinal(wall // DAY)
    return f"{day:%Y-%m-%d} {second // 3600:02}:{second % 3600 // 60:02}:{second % 60:02}"
