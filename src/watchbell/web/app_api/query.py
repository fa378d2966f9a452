"""The query language of searches: `event:e1 -tags:slow code:1|2 date:>=2026-11-01`. Pure.

All terms of a query must match. `*` matches everything.
"""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from watchbell.errors import Refused

LONGEST = 2_000
MOST_TERMS = 100
_TERM = re.compile(r'([-+]?)(?:([A-Za-z_][\w.]*):)?("(?:[^"\\]|\\.)*"|[^\s"]+)')
_YEAR_FIRST = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})", re.ASCII)
_YEAR_LAST = re.compile(r"(\d{1,2})[-/](\d{1,2})[-/](\d{4})", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?", re.ASCII)
_NO_VALUE = re.compile(r"[A-Za-z_][\w.]*:")
_COMPARED = re.compile(r"(>=|<=|>|<)(.+)", re.DOTALL)


class Term(Struct, frozen=True, kw_only=True):
    field: str
    """Empty for words without one."""
    values: tuple[str, ...] = ()
    """One of these; none for a range."""
    low: float | None = None
    """At least."""
    high: float | None = None
    """Less than."""
    is_negated: bool = False


class Fields(Struct, frozen=True):
    """The fields of a kind of record."""

    words: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    times: tuple[str, ...] = ()


def parse(text: str, fields: Fields, zone: ZoneInfo) -> list[Term]:
    """The terms of a query; none for one that matches everything. Raises Refused."""
    if len(text) > LONGEST:
        raise _wrong(f"it is longer than {LONGEST:,} characters")
    if text.lstrip().startswith("("):
        raise _wrong("queries in parentheses are not supported; use FIELD:VALUE terms")
    found: list[Term] = []
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        match = _TERM.match(text, place)
        if match is None or (match.end() < len(text) and not text[match.end()].isspace()):
            raise _wrong(f"{text[place : place + 40]!r} can't be read")
        place = match.end()
        sign, field, value = match.groups()
        if field is None and value == "*" and not sign:
            continue
        found.append(_term(field or "", _unquoted(value), fields, zone, is_negated=sign == "-"))
    if len(found) > MOST_TERMS:
        raise _wrong(f"it has more than {MOST_TERMS} terms")
    return found


def _term(field: str, value: str, fields: Fields, zone: ZoneInfo, *, is_negated: bool) -> Term:
    if field in fields.times or field in fields.numbers:
        low, high = _range(field, value, fields, zone)
        return Term(field=field, low=low, high=high, is_negated=is_negated)
    if field and field not in fields.words:
        known = ", ".join(sorted((*fields.words, *fields.numbers, *fields.times)))
        raise _wrong(f"there is no field {field[:40]!r}; expected one of {known}")
    values = tuple(one for one in value.split("|") if one)
    if not values or (not field and _NO_VALUE.fullmatch(value)):
        raise _wrong(f"a value is missing after {field or value!r}")
    return Term(field=field, values=values, is_negated=is_negated)


def _unquoted(value: str) -> str:
    if value.startswith('"') and value.endswith('"') and len(value) > 1:
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value


def _range(
    field: str, value: str, fields: Fields, zone: ZoneInfo
) -> tuple[float | None, float | None]:
    """From, and up to but not including."""
    first, dots, last = value.partition("..")
    if dots:
        return _span(field, first, fields, zone)[0], _span(field, last, fields, zone)[1]
    compared = _COMPARED.fullmatch(value)
    if compared is None:
        return _span(field, value, fields, zone)
    low, high = _span(field, compared[2], fields, zone)
    return {">=": (low, None), ">": (high, None), "<": (None, low), "<=": (None, high)}[compared[1]]


def _span(field: str, value: str, fields: Fields, zone: ZoneInfo) -> tuple[float, float]:
    """What a value stands for: a day, or just itself."""
    if field in fields.times and (day := _day(value)) is not None:
        try:
            start = datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
            next_day = day + timedelta(days=1)
            end = datetime(next_day.year, next_day.month, next_day.day, tzinfo=zone).timestamp()
        except (ValueError, OverflowError):
            raise _wrong(f"{value!r} is no date") from None
        return start, end
    if _NUMBER.fullmatch(value) is None:
        expected = "a date such as 2026-11-30, or a time" if field in fields.times else "a number"
        raise _wrong(f"{field}: expected {expected}, got {value[:40]!r}")
    number = float(value)
    return number, math.nextafter(number, math.inf)


def _day(value: str) -> date | None:
    if found := _YEAR_FIRST.fullmatch(value):
        year, month, day = map(int, found.groups())
    elif found := _YEAR_LAST.fullmatch(value):
        month, day, year = map(int, found.groups())
    else:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        raise _wrong(f"{value!r} is no date") from None


def _wrong(reason: str) -> Refused:
    return Refused(reason, field="query", code="search")


def matches(term: Term, record: Mapping[str, Any]) -> bool:
    """Whether a record, with a value or several for each field, fits. Words without a field are
    searched in the text of the field with the empty name."""
    value = record.get(term.field)
    return _fits(term, value) is not term.is_negated


def fits(terms: Iterable[Term], record: Mapping[str, Any]) -> bool:
    """Whether a record matches all of them."""
    return all(matches(term, record) for term in terms)


def _fits(term: Term, value: Any) -> bool:
    if not term.field:
        text = str(value or "").lower()
        return any(one.lower() in text for one in term.values)
    if term.values:
        found = value if isinstance(value, list | tuple) else (value,)
        wanted = {one.lower() for one in term.values}
        return any(str(one).lower() in wanted for one in found if one is not None)
    if not isinstance(value, int | float):
        return False
    return (term.low is None or value >= term.low) and (term.high is None or value < term.high)
