"""The latest measurements of a check, from archived copies of its events."""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from watchbell.alerting.event import perfdata_items
from watchbell.alerting.hours import hours_back, start_of
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import LARGEST, split_id
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

MOST_EVENTS = 20_000
"""The most archived events that are searched, newest first."""
MOST_SERIES, MOST_POINTS = 24, 400
_PAGE = 1_000
_LONGEST = 1 << 16
"""The most bytes of an event that is searched for measurements."""
_HOURS = 48
_VALUE = re.compile(r"([+-]?[0-9]{1,30}(?:[.][0-9]{0,30})?(?:[eE][+-]?[0-9]{1,2})?)([^0-9]{0,10})")
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# KEYS[1] copies of events; ARGV[1], ARGV[2] places, ARGV[3] the longest that is wanted. Returns how
# many there are, and those that have measurements.
_SIFTED = Script(
    READ
    + """
local page, found = read('LRANGE', KEYS[1], ARGV[1], ARGV[2]) or {}, {}
for _, copy in ipairs(page) do
  if #copy <= tonumber(ARGV[3]) and string.find(copy, '"perfdata"', 1, true) then
    found[#found + 1] = copy
  end
end
return {#page, found}
"""
)


class Copy(Struct):
    entity: str
    check: str
    perfdata: str
    time: Annotated[int, Meta(ge=0, le=LARGEST)] | None = None


class Series(Struct, frozen=True):
    key: str
    unit: str
    points: list[tuple[float, float]]
    """Time and value, oldest first. Values of one second are spread over it evenly."""


class Measured(Struct, frozen=True):
    series: list[Series]
    is_complete: bool
    """False where there were more events than are searched."""


async def measured(store: Store, event_id: str, archive_seconds: int, now: int) -> Measured:
    found: list[Copy] = []
    room = MOST_EVENTS
    for hour in hours_back(now, min(archive_seconds // 3_600 + 1, _HOURS)):
        key, first = Alerting(store.prefix).archive(hour), 0
        while room > 0:
            last = first + min(_PAGE, room) - 1
            count, some = await _SIFTED(store, [key], [first, last, _LONGEST])
            found += _of(event_id, some, start_of(hour))
            first, room = first + count, room - count
            if count < _PAGE:
                break
    return Measured(series(found), room > 0)


def _of(event_id: str, copies: Iterable[bytes], start: int) -> Iterator[Copy]:
    """Events of other programs without a time get the start of their hour."""
    entity, check = split_id(event_id)
    for copy in map(_read, copies):
        if copy and copy.check == check and copy.entity.lower() == entity:
            copy.time = start if copy.time is None else copy.time
            yield copy


def _read(raw: bytes) -> Copy | None:
    try:
        return msgspec.json.decode(raw, type=Copy, strict=False)
    except _UNREADABLE:
        return None


def series(copies: Iterable[Copy]) -> list[Series]:
    """By key, in order of first appearance; another unit makes another series. The events come
    newest first."""
    found: dict[tuple[str, str], dict[int, list[float]]] = {}
    for copy in copies:
        for item in perfdata_items(copy.perfdata):
            value = _VALUE.fullmatch(item["value"])
            if value is not None:
                seconds = found.setdefault((item["key"], value[2]), {})
                seconds.setdefault(copy.time or 0, []).append(float(value[1]))
    return [
        Series(key, unit, list(_spread(seconds))[-MOST_POINTS:])
        for (key, unit), seconds in list(found.items())[:MOST_SERIES]
    ]


def _spread(seconds: dict[int, list[float]]) -> Iterator[tuple[float, float]]:
    for time, values in sorted(seconds.items()):
        for place, value in enumerate(reversed(values)):
            yield time + round(place / len(values), 3), value
