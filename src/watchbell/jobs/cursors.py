"""Cursors: the last fire of each event that was handled, by any conductor and with any outcome."""

from collections.abc import Sequence

import msgspec

from watchbell.jobs.claims import CURSORS
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.store.client import Store
from watchbell.store.script import Script

IDLE = "idle"
"""In place of a fingerprint, while an event can't run."""

# KEYS[1] ready; ARGV[1] msgpack: {event, fingerprint}. An event without a cursor, or whose cursor
# has another fingerprint, has handled everything up to now: one that is new, was disabled, or has
# new timings has missed nothing. Returns the cursors.
_MARK = Script(
    LAYOUT
    + """
local seconds = tonumber(redis.call('TIME')[1])
"""
    + CURSORS
    + """
local cursors = {}
for i, pair in ipairs(cmsgpack.unpack(ARGV[1])) do
  local event, fingerprint = pair[1], pair[2]
  local last, known = cursor_of(event)
  if known ~= fingerprint or not last then
    if known ~= '' or not last then last = math.max(last or 0, seconds) end
    set_cursor(event, last, fingerprint)
  end
  cursors[i] = last
end
return cursors
"""
)

# KEYS[1] ready; ARGV[1] event, ARGV[2] time. Returns whether the event exists.
_MOVE = Script(
    LAYOUT
    + """
if redis.call('HEXISTS', jobs.events, ARGV[1]) == 0 then return 0 end
redis.call('HSET', jobs.cursors, ARGV[1], ARGV[2])
redis.call('PUBLISH', jobs.changes, cjson.encode({kind = 'event', id = ARGV[1]}))
return 1
"""
)


async def marked(store: Store, fingerprints: Sequence[tuple[str, str]]) -> list[int]:
    """The cursors of these events, each given with the fingerprint of its timings. A missing one is
    written."""
    args = [msgspec.msgpack.encode(fingerprints)]
    found: list[int] = await _MARK(store, [Jobs(store.prefix).ready()], args)
    return found


async def announce(store: Store, events: Sequence[str]) -> None:
    """Lets every process read these events again, since one of them has missed a change."""
    for event in events:
        message = msgspec.json.encode({"kind": "event", "id": event})
        await store.call("PUBLISH", Jobs(store.prefix).changes(), message)


async def move(store: Store, event: str, to: int) -> bool:
    """Lets an event with `catchup` continue from a time, to repeat or to skip runs. Returns whether
    there is such an event."""
    return bool(await _MOVE(store, [Jobs(store.prefix).ready()], [event, to]))


async def prepare(store: Store, event: str, to: int) -> None:
    """Lets an event that is created next begin after this time, not after its creation."""
    await store.call("HSET", Jobs(store.prefix).cursors(), event, to)
