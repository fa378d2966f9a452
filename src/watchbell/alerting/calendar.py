"""Maintenance of all checks within a range of time, with equal windows grouped.

There is no index of windows, because other programs write them too. All checks are read, a slice at
a time; a check without windows costs one command.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Iterable
from typing import Any

from msgspec import Struct

from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.keys import Alerting
from watchbell.alerting.maintenance import LATEST
from watchbell.alerting.windows import Kind, Window
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.replies import number, text_or_none

KINDS: tuple[Kind, ...] = ("scheduled", "unscheduled")
_AT_ONCE = 250
_ID = re.compile("(scheduled|unscheduled)-([0-9]{1,13})-([0-9]{1,13})-([0-9a-f]{12})")

# given[1], given[2] the range. Its windows, flat: kind, start, duration, summary.
_WITHIN = CheckScript("""
local kinds = {'scheduled', 'unscheduled'}
local places = {}
for i, kind in ipairs(kinds) do places[i] = key(kind .. '_windows', entity, check) end
if redis.call('EXISTS', unpack(places)) == 0 then return false end
local from, to, found = tonumber(given[1]), tonumber(given[2]), {}
for i, kind in ipairs(kinds) do
  local windows = redis.call('ZRANGE', places[i], 0, -1, 'WITHSCORES')
  for at = 1, #windows, 2 do
    local start, length = tonumber(windows[at]), tonumber(windows[at + 1])
    if start and length > 0 and start < to and start + length > from then
      found[#found + 1] = {kind, windows[at], windows[at + 1],
        redis.call('GET', key(kind .. '_summary', entity, check, windows[at]))}
    end
  end
end
return #found > 0 and found
""")


class Named(Struct, frozen=True):
    """Kind and start of a group, as its id has them."""

    kind: Kind
    start: int


class Alike(Struct, frozen=True):
    """Windows of one or more checks with the same kind, start, length and summary."""

    kind: Kind
    window: Window
    checks: list[str]
    """Sorted."""

    @property
    def id(self) -> str:
        digest = hashlib.sha256(self.window.summary.encode()).hexdigest()[:12]
        return f"{self.kind}-{self.window.start}-{self.window.duration}-{digest}"

    @property
    def order(self) -> str:
        """The sort key: by start, then by id."""
        return f"{self.window.start:013} {self.id}"


def named(id_: str) -> Named | None:
    """None where the text is not a group's id."""
    form = _ID.fullmatch(id_)
    if form is None:
        return None
    kind: Kind = "scheduled" if form[1] == "scheduled" else "unscheduled"
    return Named(kind, int(form[2]))


def grouped(found: Iterable[tuple[str, Kind, Window]]) -> list[Alike]:
    """Sorted by start; a window that is found twice counts once."""
    groups: dict[tuple[Kind, Window], set[str]] = {}
    for check, kind, window in found:
        groups.setdefault((kind, window), set()).add(check)
    alike = [Alike(kind, window, sorted(ids)) for (kind, window), ids in groups.items()]
    return sorted(alike, key=lambda one: one.order)


async def within(store: Store, start: int, end: int) -> list[Alike]:
    """All windows that overlap [start, end)."""
    return grouped([one async for one in _found(store, start, end)])


async def _found(store: Store, start: int, end: int) -> AsyncIterator[tuple[str, Kind, Window]]:
    async for page in replies.scored_members(store, Alerting(store.prefix).all_checks()):
        ids = [check for check, _ in page]
        async for check, records in _WITHIN.over(store, ids, [start, end], _AT_ONCE):
            for kind, window in map(_window, records):
                if window is not None:
                    yield check, kind, window


def _window(record: list[Any]) -> tuple[Kind, Window | None]:
    kind: Kind = "scheduled" if record[0] == b"scheduled" else "unscheduled"
    start, duration = number(record[1]), number(record[2])
    if start is None or not 0 <= start <= LATEST or duration is None:
        return kind, None
    return kind, Window(start, min(duration, LATEST), text_or_none(record[3]) or "")
