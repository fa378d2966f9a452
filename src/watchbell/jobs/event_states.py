"""Reads what is known of the last jobs of events: all of it, or what has changed since."""

from collections.abc import Mapping, Sequence

import msgspec
from redis.exceptions import ResponseError

from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import EventState
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

_AT_ONCE = 500
"""States that one call reads, since the store does nothing else meanwhile."""

_NEWEST = Script(READ + "return read('GET', KEYS[1]) or '0'")

# KEYS state_changes, event_states, sequence. ARGV[1] the number of the last change that was read,
# ARGV[2] the most changes to read, then events to read in any case. Returns the number of the last
# change, how many changes were read, and events with their states. The number is less than ARGV[1]
# if the store has lost changes.
_CHANGED = Script(
    READ
    + """
local last = tonumber(read('GET', KEYS[3]) or 0) or 0
if last < tonumber(ARGV[1]) then return {tostring(last), 0} end
local changes = read(
  'ZRANGE', KEYS[1], '(' .. ARGV[1], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES') or {}
local found = {changes[#changes] or ARGV[1], #changes / 2}
local function add(event)
  found[#found + 1] = event
  found[#found + 1] = read('HGET', KEYS[2], event) or ''
end
for i = 1, #changes, 2 do add(changes[i]) end
for i = 3, #ARGV do add(ARGV[i]) end
return found
"""
)


class EventStates:
    """The states of all events, kept in memory."""

    def __init__(self, store: Store) -> None:
        self._store, keys = store, Jobs(store.prefix)
        self._keys = [keys.state_changes(), keys.event_states(), keys.sequence()]
        self._known: dict[str, EventState] = {}
        self._last: bytes | None = None
        self._redefined: set[str] = set()

    def definition_changed(self, kind: str, id_: str) -> None:
        """An event that was deleted has no state; neither has a new one of that name."""
        if kind == "event" and self._last is not None:
            self._redefined.add(id_)

    async def current(self) -> Mapping[str, EventState]:
        """By the ids of events; those without a finished job are missing. One caller at a time."""
        if self._last is None:
            self._last = await self._newest()
            self._known = await every(self._store)
        while not await self._follow():
            pass
        return self._known

    async def _newest(self) -> bytes:
        found: bytes = await _NEWEST(self._store, self._keys[2:])
        return found if found.isdigit() else b"0"

    async def _follow(self) -> bool:
        """Reads some changes. Returns whether those were all."""
        assert self._last is not None
        redefined = sorted(self._redefined)[:_AT_ONCE]
        last, count, *found = await _CHANGED(
            self._store, self._keys, [self._last, _AT_ONCE, *redefined]
        )
        if float(last) < float(self._last):
            self._last, self._known = await self._newest(), await every(self._store)
            return False
        for name, raw in replies.pairs(found):
            if raw:
                self._known[replies.text(name)] = _read(raw)
            else:
                self._known.pop(replies.text(name), None)
        self._redefined.difference_update(redefined)
        self._last = last
        return int(count) < _AT_ONCE and not self._redefined


async def every(store: Store) -> dict[str, EventState]:
    """By the ids of events; those without a finished job are missing."""
    try:
        found = await replies.hash_fields(store, Jobs(store.prefix).event_states())
    except ResponseError:  # the key belongs to another program
        return {}
    return {replies.text(name): _read(raw) for name, raw in found.items()}


async def some(store: Store, events: Sequence[str]) -> dict[str, EventState]:
    """As `every`, of these events."""
    if not events:
        return {}
    found = await store.call("HMGET", Jobs(store.prefix).event_states(), *events)
    return {name: _read(raw) for name, raw in zip(events, found, strict=True) if raw is not None}


def _read(raw: bytes) -> EventState:
    """What another program has spoiled counts as unknown."""
    try:
        return msgspec.json.decode(raw, type=EventState)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return EventState()
