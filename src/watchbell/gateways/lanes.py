"""The lanes of a medium: which addresses have alerts waiting, and who works on each of them.

A claim is the right of one process to work on one lane. It has a name of its own, from the script
that grants it to the one that releases it, so a lane that is claimed again is never taken for the
claim before. What the store knows decides: memory only holds the claims that are being worked on.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell import ids
from watchbell.clock import SYSTEM, Clock
from watchbell.errors import StoreUnavailable
from watchbell.gateways.keys import Gateways
from watchbell.gateways.outbox import LANES, LEASE, Item, Unreadable
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.script import Script

# KEYS[1] lanes, KEYS[2] outbox, KEYS[3] claims; ARGV[1] name of the claims, ARGV[2] ms of the
# lease, ARGV[3] most lanes, ARGV[4] most alerts of each, ARGV[5] 1 where the same was asked before
# and the answer got lost, ARGV[6…] what lists of alerts, sets of checks and lanes of earlier
# versions begin with, ARGV[9…] lane and name of each claim that the process works on.
# Returns ms until the next lane is due (-1 for none), then each lane and its items, each with its
# id and check.
_CLAIM = Script(
    LANES
    + """
local lanes, outbox, claims = unpack(KEYS)
local name, lease, most, depth = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local box = {lanes = lanes, claims = claims, alerts = ARGV[6], checks = ARGV[7]}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found, working = {}, {}
for i = 9, #ARGV, 2 do working[ARGV[i]] = ARGV[i + 1] end

-- Earlier versions kept a lane as one list of alerts. They go before what came since.
local function convert(lane)
  local old = redis.call('LRANGE', ARGV[8] .. lane, 0, -1)
  for n = #old, 1, -1 do
    local item = redis.call('HGET', outbox, old[n])
    if item then
      local is_read, alert = pcall(function() return cjson.decode(item).alert.event_id .. '' end)
      local digest = redis.sha1hex(is_read and alert or '')
      local check = lane .. '-' .. string.sub(digest, 1, 16)
      redis.call('LPUSH', box.alerts .. check, old[n])
      redis.call('ZADD', box.checks .. lane, 'LT', time[1] * 1000000 + time[2] + n, check)
    end
  end
  redis.call('DEL', ARGV[8] .. lane)
end

local function items_of(lane)
  local items = {}
  for _, check in ipairs(redis.call('ZRANGE', box.checks .. lane, 0, depth - 1)) do
    if #items >= depth then break end
    local waiting = redis.call('LRANGE', box.alerts .. check, 0, depth - #items - 1)
    for i, item in ipairs(#waiting > 0 and redis.call('HMGET', outbox, unpack(waiting)) or {}) do
      if item then
        items[#items + 1] = {waiting[i], check, item}
      else
        dequeue(box, lane, check, waiting[i])
      end
    end
  end
  return items
end

local function grant(lane)
  if redis.call('EXISTS', ARGV[8] .. lane) == 1 then convert(lane) end
  local items = items_of(lane)
  if redis.call('EXISTS', box.checks .. lane) == 0 then
    redis.call('ZREM', lanes, lane)
    redis.call('HDEL', claims, lane)
  else
    redis.call('ZADD', lanes, now + lease, lane)
    redis.call('HSET', claims, lane, name)
    found[#found + 1] = lane
    found[#found + 1] = items
  end
end

if ARGV[5] == '1' then
  local held = redis.call('HGETALL', claims)
  for i = 1, #held, 2 do
    if held[i + 1] == name then grant(held[i]) end
  end
end
local room = most - #found / 2
for _, lane in ipairs(redis.call('ZRANGEBYSCORE', lanes, '-inf', now, 'LIMIT', 0, room)) do
  if working[lane] and working[lane] == redis.call('HGET', claims, lane) then
    redis.call('ZADD', lanes, now + lease, lane)  -- the process slept, and nobody took it since
  else
    grant(lane)
  end
end
local first = redis.call('ZRANGE', lanes, 0, 0, 'WITHSCORES')
return {first[2] and math.max(0, first[2] - now) or -1, unpack(found)}
"""
)

# KEYS[1] lanes, KEYS[2] claims; ARGV[1] ms of the lease, ARGV[2…] lane and name of each claim.
# Returns 1 for each that is still held.
_EXTEND = Script("""
local time = redis.call('TIME')
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local held = {}
for i = 2, #ARGV, 2 do
  local is_held = redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[i + 1]
  if is_held then redis.call('ZADD', KEYS[1], 'XX', ends, ARGV[i]) end
  held[#held + 1] = is_held and 1 or 0
end
return held
""")

# KEYS[1] lanes, KEYS[2] claims; ARGV[1…] what the names of the claims, lists of alerts and sets of
# checks begin with.
_RELEASE = Script(
    LANES
    + """
local box = {lanes = KEYS[1], claims = KEYS[2], alerts = ARGV[2], checks = ARGV[3]}
local held = redis.call('HGETALL', KEYS[2])
for i = 1, #held, 2 do
  if string.sub(held[i + 1], 1, #ARGV[1]) == ARGV[1] then
    free(box, held[i], 0)
  end
end
"""
)


class Claim(Struct, eq=False):
    """One process's right to one lane, and the alerts that came with it."""

    lane: str
    name: str
    items: list[Item]
    until: float
    """When the lease ends by this process's monotonic clock; nothing is sent after it."""
    unreadable: list[Unreadable] = []
    """What another program left in place of an alert."""

    @property
    def failed_before(self) -> bool:
        return any(item.tries for item in self.items)


def _claim(lane: str, name: str, found: list[tuple[bytes, bytes, bytes]], until: float) -> Claim:
    claim = Claim(lane, name, [], until)
    for id_, check, raw in found:
        try:
            claim.items.append(msgspec.json.decode(raw, type=Item))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            texts = id_.decode(errors="replace"), check.decode(errors="replace")
            claim.unreadable.append(Unreadable(*texts, raw, str(error)))
    return claim


class Lanes:
    def __init__(
        self, store: Store, medium: str, lease: float = LEASE, clock: Clock = SYSTEM
    ) -> None:
        self._store, self._lease, self._clock = store, lease, clock
        self._token, self._number = ids.token(), 0
        keys = Gateways(store.prefix)
        self._lanes, self._claims = keys.lanes(medium), keys.claims(medium)
        self._outbox = keys.outbox(medium)
        self._begin = [keys.alerts(medium, ""), keys.checks(medium, "")]
        self._begin.append(keys.lane(medium, ""))

    @property
    def _milliseconds(self) -> int:
        return round(self._lease * 1000)

    async def claim(
        self, lanes: int, depth: int, working: Iterable[Claim] = ()
    ) -> tuple[list[Claim], float | None]:
        """Lanes that are due, up to `depth` alerts of each, and the seconds until the next is due.

        `working` is what this process works on, oldest claim first: such a lane is not granted
        again while it is still held, even after its lease.
        """
        self._number += 1
        name, repeated = f"{self._token}:{self._number}", False
        names = [self._lanes, self._outbox, self._claims]
        held = _pairs(working)

        async def ask() -> tuple[float, list[Any]]:
            nonlocal repeated
            args: list[Argument] = [name, self._milliseconds, lanes, depth, int(repeated)]
            asked = self._clock.monotonic()
            try:
                return asked, await _CLAIM(self._store, names, [*args, *self._begin, *held])
            except StoreUnavailable:
                repeated = True
                raise

        asked, (wait, *found) = await patiently(ask)
        until = asked + self._lease
        claims = [
            _claim(lane.decode(), name, items, until)
            for lane, items in zip(found[::2], found[1::2], strict=True)
        ]
        return claims, None if wait < 0 else wait / 1000

    async def extend(self, claims: Sequence[Claim]) -> list[Claim]:
        """The claims whose lease was lost; that of all others begins anew."""
        names, asked = [self._lanes, self._claims], self._clock.monotonic()
        held = await _EXTEND(self._store, names, [self._milliseconds, *_pairs(claims)])
        lost = []
        for claim, is_held in zip(claims, held, strict=True):
            claim.until = asked + self._lease if is_held else 0
            if not is_held:
                lost.append(claim)
        return lost

    async def release(self) -> None:
        """Frees every lane that was ever claimed here, also one whose claim got lost on its way."""
        names = [self._lanes, self._claims]
        await _RELEASE(self._store, names, [f"{self._token}:", *self._begin[:2]])


def _pairs(claims: Iterable[Claim]) -> list[str]:
    return [word for claim in claims for word in (claim.lane, claim.name)]
