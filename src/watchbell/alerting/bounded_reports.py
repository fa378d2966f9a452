"""Check events of our own loops, held back while alerting does not process what is queued."""

from collections.abc import Sequence

import msgspec

from watchbell.alerting.keys import Alerting
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import Script

# Lua for scripts that report. Needs events, unreported, own.most_events. While that many events
# wait for alerting, or `events` is no list, only the latest report of each check is kept, until
# `return_held` finds room for it.
REPORT = """
local function report(check, event)
  local length = redis.pcall('LLEN', events)
  if type(length) == 'table' or length >= own.most_events then
    redis.call('HSET', unreported, check, event)
  else
    redis.call('HDEL', unreported, check)
    redis.call('LPUSH', events, event)
  end
end
"""

_BEGIN = (
    """
local events, unreported = KEYS[1], KEYS[2]
local own = {most_events = tonumber(ARGV[1])}
"""
    + REPORT
)

# KEYS events, unreported; ARGV[1] most events, ARGV[2] msgpack: {check, event}.
_PUSH = Script(
    _BEGIN + "for _, one in ipairs(cmsgpack.unpack(ARGV[2])) do report(one[1], one[2]) end"
)

# KEYS events, unreported; ARGV[1] most events. Adds events that were kept back, as many as there is
# room for. Returns how many events wait for alerting, -1 where `events` is no list, and how many
# checks have one that is kept back.
_RETURN = Script(
    _BEGIN
    + """
local length = redis.pcall('LLEN', events)
if type(length) == 'table' then return {-1, redis.call('HLEN', unreported)} end
local room = own.most_events - length
if room > 0 then
  local found = redis.call('HSCAN', unreported, 0, 'COUNT', 500)[2]
  for i = 1, math.min(#found, 2 * room), 2 do report(found[i], found[i + 1]) end
end
return {length, redis.call('HLEN', unreported)}
"""
)


async def push(
    store: Store, unreported: str, reports: Sequence[tuple[str, bytes]], most: int
) -> None:
    """Reports, each `ENTITY:CHECK` and its event. `unreported` is the key of the caller's hash of
    held events, `most` the length of the queue from which on events are held."""
    if reports:
        items = [(check, verbatim(event)) for check, event in reports]
        keys = [Alerting(store.prefix).events(), unreported]
        await _PUSH(store, keys, [most, msgspec.msgpack.encode(items)])


async def return_held(store: Store, unreported: str, most: int) -> tuple[int, int]:
    """Queues held events where there is room. Returns how many events wait for alerting (-1 where
    `events` is no list) and of how many checks an event is still held."""
    length, held = await _RETURN(store, [Alerting(store.prefix).events(), unreported], [most])
    return length, held
