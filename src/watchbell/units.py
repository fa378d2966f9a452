"""Lengths of time, sizes, times and numbers of things in words."""

import re
from datetime import UTC, datetime
from fractions import Fraction
from string import digits

from watchbell.errors import Refused

_UNITS = {
    ("s", "sec", "secs", "second", "seconds"): 1,
    ("m", "min", "mins", "minute", "minutes"): 60,
    ("h", "hr", "hrs", "hour", "hours"): 3600,
    ("d", "day", "days"): 86_400,
    ("w", "wk", "wks", "week", "weeks"): 604_800,
    ("mo", "month", "months"): 30 * 86_400,
    ("y", "yr", "yrs", "year", "years"): 365 * 86_400,
}
_SECONDS = {name: seconds for spellings, seconds in _UNITS.items() for name in spellings}
_HALF = Fraction(1, 2)
_COUNTED = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {
    **{word: Fraction(number) for number, word in enumerate(_COUNTED.split(), 1)},
    "a": Fraction(1),
    "an": Fraction(1),
    "half": _HALF,
}
_TOKEN = re.compile(r"\d{1,12}(?:\.\d{1,9})?|[^\W\d_]+|\S", re.ASCII)
_LONGEST = 10_000 * 365 * 86_400
_SIZES = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(
    r"(\d{1,15}(?:\.\d{1,9})?)\s*(?:([kmgt])(?:i?b)?|(bytes?|b))?", re.IGNORECASE | re.ASCII
)


def duration(text: str, bare: int = 1) -> int:
    """Seconds of `4 hours`, `90 min`, `1d12h`, `an hour and a half` or `3600`.

    A month is 30 days and a year is 365. A number without a unit counts units of `bare` seconds.
    """
    text = " ".join(text.split())
    words = [word for word in _TOKEN.findall(text.lower()) if word not in {",", "and"}]
    if not words:
        raise Refused("a length of time is missing; say, for example, '4 hours' or '1d12h'")
    is_number = len(words) == 1 and words[0][0] in digits
    total = Fraction(words[0]) * bare if is_number else _sum(text, words)
    if total > _LONGEST:
        raise Refused(f"'{text}' is longer than 10000 years")
    return round(total)


def _sum(text: str, words: list[str]) -> Fraction:
    total = Fraction()
    last_unit = 0
    while words:
        number = _number(text, words)
        if words[:2] == ["a", "half"]:
            number += _HALF
            del words[:2]
        if words and words[0] in _SECONDS:
            last_unit = _SECONDS[words.pop(0)]
            total += number * last_unit
        elif number == _HALF and last_unit:
            total += number * last_unit
        else:
            unit = f"'{words[0]}'" if words else "its end"
            raise _not_understood(text, unit, "a unit such as minutes")
    return total


def _number(text: str, words: list[str]) -> Fraction:
    word = words.pop(0)
    if word in {"a", "an"} and words and words[0] == "half":
        word = words.pop(0)
    if word == "half" and len(words) > 1 and words[0] in {"a", "an"}:
        words.pop(0)
    if word in _NUMBERS:
        return _NUMBERS[word]
    if word[0] in digits:
        return Fraction(word)
    raise _not_understood(text, f"'{word}'", "a number")


def _not_understood(text: str, word: str, expected: str) -> Refused:
    return Refused(
        f"{word} was not understood in '{text}': expected {expected};"
        " say, for example, '4 hours' or '1d12h'"
    )


def in_words(seconds: int) -> str:
    """`1 day, 2 hours, 3 minutes, 4 seconds`, without the parts that are zero."""
    if seconds < 0:
        return f"minus {in_words(-seconds)}"
    parts = []
    rest = int(seconds)
    for name, size in (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
    return ", ".join(parts) or "0 seconds"


def size(text: str, bare: int = 1) -> int:
    """Bytes of `512 MiB`, `2G` or `100 kB`, in powers of 1,024.

    A number without a unit counts units of `bare` bytes.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise Refused(f"{text!r} was not understood as a size; say, for example, '512 MiB'")
    number, prefix, plain = found.groups()
    unit = _SIZES[prefix.lower()] if prefix else 1 if plain else bare
    return round(Fraction(number) * unit)


def in_bytes(count: int) -> str:
    amount, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def counted(number: int, noun: str) -> str:
    """`1 job`, `1,200 jobs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def utc_day(time: float) -> str:
    """A day as a date, such as `20261124`."""
    return f"{datetime.fromtimestamp(time, UTC):%Y%m%d}"


def utc_time(time: int) -> str:
    """A time for people, such as `2026-11-24 14:00:00 UTC`."""
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"@{time}"  # beyond the year 9999
