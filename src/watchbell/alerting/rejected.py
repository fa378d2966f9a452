"""Items of `events` that were rejected: when, why, and their bytes."""

import re
from collections import Counter

import msgspec
from msgspec import Struct

from watchbell.alerting.hours import hours_back
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.store.client import Store
from watchbell.store.script import Script

SHOWN = 1_000
"""Bytes of an item that are kept beside the reason, as text."""
_AT_ONCE = 100
_HOURS = 1_000
"""Hours that are read at once: six weeks."""
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\.\.\.")
_NUMBER = re.compile(r"\d[\d,.]*")
_PLACE = re.compile("([0-9]{10})-([0-9]{1,12})")


class Rejected(Struct):
    """The processor's record of a rejected item."""

    time: int = 0
    reason: str = "unreadable"
    event: str = ""


class Place(Struct, frozen=True):
    """The hour of a rejected item and its number within that hour; the oldest is 1."""

    hour: str
    number: int

    @property
    def id(self) -> str:
        return f"{self.hour}-{self.number}"


class Found(Struct, frozen=True):
    place: Place
    rejected: Rejected
    size: int | None
    """The size of the item; None where its bytes are not kept."""


def place(id_: str) -> Place | None:
    form = _PLACE.fullmatch(id_)
    return None if form is None else Place(form[1], int(form[2]))


def shape(reason: str) -> str:
    """The reason without values, so that equal reasons can be counted."""
    return _NUMBER.sub("N", _QUOTED.sub("…", reason))


# KEYS: lists. Returns the length of each.
_LENGTHS = Script("""
local lengths = {}
for i, key in ipairs(KEYS) do lengths[i] = redis.call('LLEN', key) end
return lengths
""")

# KEYS[1] reasons, KEYS[2] events as they came; ARGV[1] the number of the newest that is wanted,
# ARGV[2] how many, ARGV[3] most bytes of each. Lists grow at their head, so an item is known by its
# number from the tail. Returns of each its reason, and size and beginning of the event that has the
# same number.
_ITEMS = Script("""
local first, found = -ARGV[1], {}
local last = math.min(first + ARGV[2] - 1, -1)
for i, reason in ipairs(redis.call('LRANGE', KEYS[1], first, last)) do
  local raw = redis.call('LINDEX', KEYS[2], first + i - 1)
  found[i] = {reason, raw and #raw or -1, raw and raw:sub(1, ARGV[3]) or ''}
end
return found
""")


async def hours(store: Store, days: int, now: int) -> dict[str, int]:
    """The number of rejected items per hour (UTC, YYYYMMDDHH), newest first."""
    names, keys = list(hours_back(now, days * 24 + 1)), AlertingOwn(store.prefix)
    counts: dict[str, int] = {}
    for first in range(0, len(names), _HOURS):
        some = names[first : first + _HOURS]
        lengths = await _LENGTHS(store, [*map(keys.rejections, some)])
        counts |= {name: n for name, n in zip(some, lengths, strict=True) if n}
    return counts


async def newest(
    store: Store, counts: dict[str, int], count: int, after: Place | None = None
) -> list[Found]:
    """Rejected items, newest first, starting after a given place; `counts` is the result of
    `hours`."""
    found: list[Found] = []
    for hour, total in counts.items():
        if after is not None and hour > after.hour:
            continue
        left = after.number - 1 if after is not None and hour == after.hour else total
        keys = _keys(store, hour)
        while left > 0 and len(found) < count:
            most = min(count - len(found), _AT_ONCE)
            answers = await _ITEMS(store, keys, [left, most, SHOWN])
            found += [_found(Place(hour, left - i), *one) for i, one in enumerate(answers)]
            left -= most
    return found


async def reasons(store: Store, counts: dict[str, int], most: int) -> Counter[str]:
    """Counts the newest items by the shape of their reason."""
    seen: Counter[str] = Counter()
    for hour, total in counts.items():
        key = AlertingOwn(store.prefix).rejections(hour)
        for first in range(0, min(total, most - seen.total()), _AT_ONCE):
            items = await store.call("LRANGE", key, first, first + _AT_ONCE - 1)
            seen.update(shape(_decoded(item).reason) for item in items)
    return seen


async def one(store: Store, where: Place, most: int) -> tuple[Found, bytes] | None:
    """A rejected item with at most `most` of its bytes."""
    if where.number < 1:
        return None
    answers = await _ITEMS(store, _keys(store, where.hour), [where.number, 1, most])
    return (_found(where, *answers[0]), answers[0][2]) if answers else None


def _keys(store: Store, hour: str) -> list[str]:
    own, keys = AlertingOwn(store.prefix), Alerting(store.prefix)
    return [own.rejections(hour), keys.rejected(hour)]


def _found(where: Place, reason: bytes, size: int, begin: bytes) -> Found:
    rejected = _decoded(reason)
    is_same = size >= 0 and begin[:SHOWN].decode(errors="replace") == rejected.event
    return Found(where, rejected, size if is_same else None)


def _decoded(item: bytes) -> Rejected:
    try:
        return msgspec.json.decode(item, type=Rejected)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Rejected(event=item.decode(errors="replace"))
