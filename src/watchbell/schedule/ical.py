"""iCalendar text: `DTSTART`, `RRULE` and their like, as fields of a time restriction."""

import re
from collections.abc import Callable
from typing import Any

from watchbell.schedule import fields
from watchbell.schedule.rules import Rule, Unit

_UNITS = {
    "SECONDLY": Unit.SECOND,
    "MINUTELY": Unit.MINUTE,
    "HOURLY": Unit.HOUR,
    "DAILY": Unit.DAY,
    "WEEKLY": Unit.WEEK,
    "MONTHLY": Unit.MONTH,
    "YEARLY": Unit.YEAR,
}
_DAYS = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
_SETS: dict[str, tuple[str, Callable[[str, object], int]]] = {
    "BYMONTH": ("months", fields.between(1, 12)),
    "BYWEEKNO": ("weeks", fields.around(53)),
    "BYYEARDAY": ("year_days", fields.around(366)),
    "BYMONTHDAY": ("month_days", fields.around(31)),
    "BYHOUR": ("hours", fields.between(0, 23)),
    "BYMINUTE": ("minutes", fields.between(0, 59)),
    "BYSECOND": ("seconds", fields.between(0, 59)),
    "BYSETPOS": ("positions", fields.around(366)),
}
_KEYS = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *_SETS)
_LENGTH = re.compile(
    r"P(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?", re.ASCII
)


def is_rule(text: str) -> bool:
    return "FREQ=" in text.upper()


def rule(field: str, text: str) -> Rule:
    """A rule from `FREQ=WEEKLY;BYDAY=MO,TU`, with or without `RRULE:` before it."""
    body = re.sub(r"^\s*(EX|R)RULE:", "", text, flags=re.IGNORECASE).strip().upper()
    parts: dict[str, str] = {}
    for part in filter(None, body.split(";")):
        key, _, value = part.partition("=")
        if key not in _KEYS or not value:
            fields.refuse(field, f"parts such as FREQ=WEEKLY out of {', '.join(_KEYS)}", part)
        parts[key] = value
    unit = _UNITS.get(parts.get("FREQ", ""))
    if unit is None:
        fields.refuse(f"{field} FREQ", f"one of {', '.join(_UNITS)}", parts.get("FREQ"))
    read: dict[str, Any] = {
        name: fields.each(f"{field} {key}", parts[key].split(","), number)
        for key, (name, number) in _SETS.items()
        if key in parts
    }
    if "UNTIL" in parts:
        read["until"] = fields.last_moment(f"{field} UNTIL", parts["UNTIL"])
    if "COUNT" in parts:
        read["count"] = fields.positive(f"{field} COUNT", parts["COUNT"])
    read["weekdays"], read["nth"] = _weekdays(f"{field} BYDAY", parts.get("BYDAY", ""), unit)
    interval = fields.positive(f"{field} INTERVAL", parts.get("INTERVAL", 1))
    week_start = _day(f"{field} WKST", parts.get("WKST", "MO"))
    return Rule(unit=unit, interval=interval, week_start=week_start, ical=True, **read)


def _day(field: str, text: str) -> int:
    if text not in _DAYS:
        fields.refuse(field, f"one of {', '.join(_DAYS)}", text)
    return _DAYS.index(text)


def _weekdays(
    field: str, text: str, unit: Unit
) -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
    plain, nth = set(), set()
    for part in filter(None, text.split(",")):
        day = _day(field, part[-2:])
        if len(part) == 2:
            plain.add(day)
        elif unit < Unit.MONTH:
            fields.refuse(field, "numbered weekdays in MONTHLY and YEARLY only", part)
        else:
            nth.add((day, fields.around(53)(field, part[:-2])))
    return frozenset(plain), frozenset(nth)


def restriction(text: str) -> dict[str, object]:
    """The fields of a restriction from lines of iCalendar text."""
    parts: dict[str, list[str]] = {}
    for line in re.sub(r"\r?\n[ \t]", "", text).splitlines():
        name, colon, value = line.strip().partition(":")
        name = name.partition(";")[0].upper()
        if not colon and is_rule(line):
            name, value = "RRULE", line
        if name in {"BEGIN", "END", ""}:
            continue
        if name not in {"DTSTART", "DTEND", "DURATION", "RRULE", "EXRULE", "RDATE", "EXDATE"}:
            fields.refuse("RRULE text", "lines such as DTSTART:, DTEND: and RRULE:", line)
        parts.setdefault(name, []).append(value.strip())
    return {
        "start_time": parts.get("DTSTART", [None])[0],
        "end_time": parts.get("DTEND", [None])[0],
        "duration": _length(parts),
        "rrules": parts.get("RRULE", []),
        "exrules": parts.get("EXRULE", []),
        "rtimes": [one for line in parts.get("RDATE", []) for one in line.split(",")],
        "extimes": [one for line in parts.get("EXDATE", []) for one in line.split(",")],
    }


def _length(parts: dict[str, list[str]]) -> int | None:
    if "DURATION" not in parts:
        a_date = re.fullmatch(r"\d{8}", parts.get("DTSTART", [""])[0], re.ASCII)
        return 86_400 if a_date and "DTEND" not in parts else None
    text = parts["DURATION"][0].upper()
    found = _LENGTH.fullmatch(text)
    if found is None:
        fields.refuse("DURATION", "a length such as PT8H30M", text)
    seconds = (604_800, 86_400, 3600, 60, 1)
    return sum(int(n or 0) * s for n, s in zip(found.groups(), seconds, strict=True))
