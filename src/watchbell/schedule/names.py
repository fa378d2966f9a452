"""The names of weekdays, months and times of day, as people write them. Sunday is 0."""

import re

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
ORDINALS = ("first", "second", "third", "fourth", "fifth")

_SHORTEST_WEEKDAY, _SHORTEST_MONTH = 2, 3
_TIME = re.compile(r"(\d{1,2})(?::(\d\d)(?::(\d\d))?)?\s*(am|pm)?", re.ASCII)


def _beginning(word: str, names: tuple[str, ...], shortest: int) -> int | None:
    word = word.lower().removesuffix(".")
    for number, name in enumerate(names):
        if len(word) >= shortest and (name.lower() + "s").startswith(word):
            return number
    return None


def weekday(word: str) -> int | None:
    """The number of `mo`, `Mon`, `monday` or `Mondays`; Sunday is 0."""
    return _beginning(word, WEEKDAYS, _SHORTEST_WEEKDAY)


def month(word: str) -> int | None:
    """The number of `jun` or `June`; January is 1."""
    number = _beginning(word, MONTHS, _SHORTEST_MONTH)
    return None if number is None else number + 1


def time_of_day(text: str) -> int | None:
    """Seconds since midnight of `08:00`, `8`, `8am`, `5:30 pm`, `noon`, `midnight` or `24:00`."""
    named = {"noon": 43_200, "midnight": 0}.get(text)
    if named is not None:
        return named
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.group(1, 2, 3))
    if found[4]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found[4] == "pm" else 0)
    seconds = hour * 3600 + minute * 60 + second
    return seconds if minute < 60 and second < 60 and seconds <= 86_400 else None


def ordinal(word: str) -> int | None:
    """The number of `1st`, `22nd`, `first` or `last`, which is -1."""
    if word == "last":
        return -1
    if word in ORDINALS:
        return ORDINALS.index(word) + 1
    found = re.fullmatch(r"(\d{1,2})(st|nd|rd|th)", word, re.ASCII)
    return int(found[1]) if found else None


def listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
