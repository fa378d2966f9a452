"""Readers of single values in definitions: each returns the value, or refuses it by its field."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from watchbell.errors import Refused, refuse_for
from watchbell.jobs.big_numbers import SUSPECT, bounded
from watchbell.schedule.fields import integer, refuse

Reader = Callable[[str, Any], Any]
T = TypeVar("T")

LONGEST_TIME = 10 * 366 * 86_400
LAST_MOMENT = 253_370_764_800
"""The year 9999."""
LARGEST = 1 << 53
"""The largest whole number that every reader of JSON keeps exactly."""
LONGEST_TITLE = 200
LONGEST_ID = 64
LONGEST_TEXT = 1 << 20
MOST_ITEMS = 1_000
MOST_BYTES = 1 << 20
DEEPEST = 32

_ID = re.compile(r"[A-Za-z0-9_]+")
_TARGET = re.compile(r"[^\s,:*\x00-\x1f\x7f]+")
_ADDRESS = re.compile(r"[^@\s,<>\x00-\x1f\x7f]+@[^@\s,<>\x00-\x1f\x7f]+")
_URL = re.compile(r"https?://[^\s/?#\x00-\x1f\x7f][^\s\x00-\x1f\x7f]*", re.IGNORECASE)
_UNREADABLE = (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError)


def plain(value: object) -> Any:
    """The value as it is after a way through JSON. Raises Refused where it can't be JSON."""
    try:
        raw = msgspec.json.encode(value)
        if len(raw) > MOST_BYTES:
            raise Refused(f"{len(raw):,} bytes are too many; expected at most {MOST_BYTES:,}")
        found = msgspec.json.decode(raw)
        found = bounded(found) if SUSPECT.search(raw) else found
    except _UNREADABLE as error:
        raise Refused(f"expected JSON: {error}") from None
    if _is_deep(found):
        raise Refused(f"lists and objects are nested too deep; expected at most {DEEPEST} levels")
    return found


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def anything(_field: str, value: Any) -> Any:
    return value


def line(most: int = LONGEST_TITLE, *, least: int = 0) -> Reader:
    """Text in one line."""

    def reader(field: str, value: Any) -> str:
        if not isinstance(value, str) or not (not value or value.isprintable()):
            refuse(field, "one line of text without control characters", value)
        stripped = value.strip()
        if not least <= len(stripped) <= most:
            refuse(field, f"{least or 'at most'}{' to' if least else ''} {most} characters", value)
        return stripped

    return reader


def text(field: str, value: Any) -> str:
    if not isinstance(value, str) or "\0" in value or len(value) > LONGEST_TEXT:
        refuse(field, f"text without NUL of at most {LONGEST_TEXT:,} characters", value)
    return value


def identifier(field: str, value: Any) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value) or len(value) > LONGEST_ID:
        refuse(field, f"an id: 1 to {LONGEST_ID} letters, digits and _", value)
    return value


def optional_identifier(field: str, value: Any) -> str:
    return "" if value == "" else identifier(field, value)


def target(field: str, value: Any) -> str:
    """The id of a server or group."""
    if not isinstance(value, str) or not _TARGET.fullmatch(value) or len(value) > 253:
        refuse(field, "the id of a server or group", value)
    return value


def addresses(field: str, value: Any) -> str:
    """Addresses of mail, separated by commas."""
    found = [one.strip() for one in value.split(",")] if isinstance(value, str) else [""]
    found = [one for one in found if one]
    is_empty = isinstance(value, str) and not value.strip()
    if not is_empty and (not found or not all(map(_ADDRESS.fullmatch, found))):
        refuse(field, "mail addresses separated by commas", value)
    if len(found) > MOST_ITEMS:
        refuse(field, f"at most {MOST_ITEMS} addresses", value)
    return ", ".join(found)


def url(field: str, value: Any) -> str:
    if value == "":
        return ""
    if not isinstance(value, str) or not _URL.fullmatch(value) or len(value) > 4_000:
        refuse(field, "a URL that begins with http:// or https://", value)
    return value


def yes_or_no(field: str, value: Any) -> bool:
    """Also accepts 0 and 1, as programs for Cronicle send them."""
    if value not in (True, False):
        refuse(field, "true or false", value)
    return bool(value)


def one_of(words: Iterable[str]) -> Reader:
    known = tuple(words)

    def reader(field: str, value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            refuse(field, f"one of {', '.join(known)}", value)
        return value

    return reader


def whole(least: int, most: int) -> Reader:
    def reader(field: str, value: Any) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        number = integer(value)
        if number is None or not least <= number <= most:
            refuse(field, f"a whole number from {least:,} to {most:,}", value)
        return number

    return reader


def number(least: float, most: float) -> Reader:
    def reader(field: str, value: Any) -> float:
        found = value if isinstance(value, float) else integer(value)
        if found is None or not least <= found <= most:
            refuse(field, f"a number from {least:g} to {most:,.15g}", value)
        return found

    return reader


def moment(field: str, value: Any) -> int:
    """Seconds since the epoch; fractions are cut off."""
    cut = int(value) if isinstance(value, float) and abs(value) <= LAST_MOMENT else value
    found = integer(cut)
    if found is None or not 0 <= found <= LAST_MOMENT:
        refuse(field, "a time in seconds since 1970", value)
    return found


def array(reader: Reader, most: int = MOST_ITEMS) -> Reader:
    """A list without duplicates, in its order. A single value counts as a list of it."""

    def read(field: str, value: Any) -> tuple[Any, ...]:
        items = value if isinstance(value, list) else [value]
        if len(items) > most:
            refuse(field, f"at most {most} items", value)
        return tuple(dict.fromkeys(reader(field, one) for one in items))

    return read


def numbers(least: int, most: int) -> Reader:
    """A sorted list of whole numbers."""
    reader = array(whole(least, most))
    return lambda field, value: tuple(sorted(reader(field, value)))


def items(reader: Reader, most: int = MOST_ITEMS) -> Reader:
    """A list of objects; the field of each has its place in it."""

    def read(field: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) > most:
            refuse(field, f"a list of at most {most} objects", value)
        found, wrong = [], list[Refused]()
        for place, one in enumerate(value):
            try:
                found.append(reader(f"{field}[{place}]", one))
            except Refused as error:
                wrong += error.every
        refuse_for(wrong)
        return tuple(found)

    return read


def mapping(field: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        refuse(field, "an object", value)
    return value


def environment(field: str, value: Any) -> dict[str, str]:
    found = {}
    for name, each in mapping(field, value).items():
        if not name or "=" in name or "\0" in name:
            refuse(field, "names of variables without =", name)
        found[name] = text(f"{field}.{name}", str(each) if _is_number(each) else each)
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def account(field: str, value: Any) -> str:
    """The name or number of an account or group of the system."""
    found = str(value) if _is_number(value) else value
    if not isinstance(found, str) or not re.fullmatch(r"[\w.\-$]{0,64}", found):
        refuse(field, "the name or number of an account", value)
    return found


def fields(
    path: str, value: Mapping[str, Any], readers: Mapping[str, Reader], *, strict: bool
) -> dict[str, Any]:
    """What the readers make of the properties; None counts as absent. An unknown property is
    refused if it has a value and `strict`, and else ignored. All that is wrong is refused at
    once."""
    found, wrong = {}, list[Refused]()
    for name, each in value.items():
        if each is None:
            continue
        field, reader = f"{path}.{name}" if path else name, readers.get(name)
        if reader is None:
            if strict and each not in ("", [], {}, False, 0):
                reason = f"there is no such property; expected {', '.join(readers)}"
                wrong.append(Refused(reason, field=field))
            continue
        try:
            found[name] = reader(field, each)
        except Refused as error:
            wrong += error.every
    refuse_for(wrong)
    return found
