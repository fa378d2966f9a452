"""How series are kept: four rings of buckets in one text, each bucket with its sum and count. Pure.

A bucket begins with its number, the time divided by the seconds of a bucket. So one that was never
written, or has not been written since the ring came around, is a gap.
"""

import struct
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

Resolution = Literal["hour", "day", "month", "year"]

_SLOT = struct.Struct("<IHd")
SLOT = _SLOT.size
LUA_SLOT = "<I4I2d"
"""The same for Lua: number, count, sum."""


class Ring(Struct, frozen=True):
    step: int
    """Seconds of a bucket."""
    slots: int
    place: int
    """Bytes before it."""

    @property
    def size(self) -> int:
        return self.slots * SLOT


def _rings(*shapes: tuple[Resolution, int, int]) -> dict[Resolution, Ring]:
    found, place = dict[Resolution, Ring](), 0
    for name, step, slots in shapes:
        found[name] = Ring(step, slots, place)
        place += found[name].size
    return found


RINGS = _rings(
    ("hour", 60, 180),
    ("day", 120, 1_080),
    ("month", 3_600, 768),
    ("year", 43_200, 736),
)
SIZE = sum(ring.size for ring in RINGS.values())
"""Bytes of a series, whatever its age."""
SPANS: dict[Resolution, int] = {
    "hour": 3_600,
    "day": 86_400,
    "month": 31 * 86_400,
    "year": 366 * 86_400,
}
"""Seconds that each resolution shows, unless asked for more."""


class Points(Struct, frozen=True):
    """Averages at equal distances."""

    start: int
    """Seconds since the epoch, of the first."""
    step: int
    values: list[float | None]
    """None for a gap."""


class Window(Struct, frozen=True):
    """The buckets between two times, as far as the ring reaches back."""

    resolution: Resolution
    first: int
    """Number of the first bucket."""
    count: int

    @property
    def start(self) -> int:
        return self.first * RINGS[self.resolution].step


def window(resolution: Resolution, since: float, until: float) -> Window:
    """Both ends count. `until` is at most the present: buckets of the future are never shown."""
    ring = RINGS[resolution]
    last = int(until // ring.step)
    first = max(int(since // ring.step), last - ring.slots + 1, 0)
    return Window(resolution, first, max(last - first + 1, 0))


def points(raw: bytes, asked: Window) -> Points:
    """What a ring has for a window. `raw` is the ring alone."""
    values: list[float | None] = [None] * asked.count
    for number, average in _buckets(raw):
        place = number - asked.first
        if 0 <= place < asked.count:
            values[place] = average
    return Points(asked.start, RINGS[asked.resolution].step, values)


def _buckets(raw: bytes) -> Iterator[tuple[int, float]]:
    for number, count, total in _SLOT.iter_unpack(raw[: len(raw) // SLOT * SLOT]):
        # The last is false for what is no number, which only another program writes.
        if number and count and total - total == 0:
            yield number, round(total / count, 5)
