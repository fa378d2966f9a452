"""Work queues over plain lists: what is taken is held under a lease until it is acknowledged.

Producers push to the list as they always did. A taker moves up to N items in one round trip into a
list of its own; effects and acknowledgement are one script; what a dead taker held goes back to the
front of the queue in its order. Where items of one key must stay in order (`order_by`), an item
whose key another taker holds is handed to that taker, or left in the queue where it has plenty.
What is urgent (`urgent`) is moved to the front of a long queue before more is taken from it.
A batch may be acknowledged piece by piece, in order: what is left of it stays in hand.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal

from msgspec import Struct

from watchbell import ids
from watchbell.errors import LeaseLost
from watchbell.probes import probe
from watchbell.store.client import BLOCK, Argument, Store, patiently
from watchbell.store.keys import StoreKeys, tagged
from watchbell.store.lease import kept
from watchbell.store.script import Script
from watchbell.store.urgent import KEYED, Urgency

_keys = StoreKeys()

# Seconds before a taker looks again at a queue whose items all belong to what others hold.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.002, 0.1

# Shared by the scripts below: KEYS[1] queue, KEYS[2] takers, KEYS[3] batches, KEYS[4] attempts,
# KEYS[5] the taker's own list, KEYS[6] the keys it holds; ARGV[1] taker.
_COMMON = """
local queue, takers, batches, attempts, mine, held = unpack(KEYS, 1, 6)
local taker = ARGV[1]

local function milliseconds()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The newest first onto the end that is taken from, so that the oldest is the next one taken.
local function give_back(list, side)
  repeat until not redis.call('LMOVE', list, queue, 'RIGHT', side)
end

local function in_hand(who)
  local batch = redis.call('HGET', batches, who)
  if not batch then return nil, 0 end
  local seq, count = string.match(batch, '^(%d+):(%d+)$')
  return seq, tonumber(count)
end
"""

# ARGV[2] ms of the lease, ARGV[3] most items, ARGV[4] most bytes, ARGV[5] side taken from,
# ARGV[6] and ARGV[7] what the lists and sets of all takers begin with, ARGV[8…] the fields that
# make an item's key. Returns the batch's number (0 where there is nothing, -1 where all there is
# has to wait for others), the attempts at its first item by processes that died, the items.
# A batch not yet acknowledged is returned again, so a lost answer loses nothing. An item that a
# process died with comes alone, so that it can take nobody else down with it.
_TAKE = Script(
    _COMMON
    + KEYED
    + """
local lease, most, most_bytes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local side, lists, helds, fields = ARGV[5], ARGV[6], ARGV[7], {unpack(ARGV, 8)}
local now = milliseconds()

for _, dead in ipairs(redis.call('ZRANGEBYSCORE', takers, '-inf', now)) do
  if dead ~= taker then
    local _, count = in_hand(dead)
    if count > 0 then
      local counted = {}  -- equal items share a count, and one death is one
      for _, item in ipairs(redis.call('LRANGE', lists .. dead, 0, count - 1)) do
        local digest = redis.sha1hex(item)
        if not counted[digest] then redis.call('HINCRBY', attempts, digest, 1) end
        counted[digest] = true
      end
      redis.call('EXPIRE', attempts, 86400)
    end
    give_back(lists .. dead, side)
    redis.call('DEL', helds .. dead)
    redis.call('HDEL', batches, dead)
    redis.call('ZREM', takers, dead)
  end
end

local function tried(item)
  return tonumber(redis.call('HGET', attempts, redis.sha1hex(item)) or '0')
end

local seq, count = in_hand(taker)
if count > 0 and redis.call('ZSCORE', takers, taker) then
  redis.call('ZADD', takers, now + lease, taker)
  local items = redis.call('LRANGE', mine, 0, count - 1)
  return {seq, tried(items[1]), items}
end

local function key_of_item(item)
  local object = decoded(item)
  return object and key_of(object, fields) or ''
end

local others = {}
for _, other in ipairs(#fields > 0 and redis.call('ZRANGE', takers, 0, -1) or {}) do
  if other ~= taker and redis.call('LLEN', lists .. other) > 0 then others[#others + 1] = other end
end

-- The keys that another holds: a set that is made when it is asked for, from the list it mirrors,
-- and dropped when that list changes. A taker alone at its queue never pays for it.
local function held_by(other)
  local set = helds .. other
  if redis.call('EXISTS', set) == 0 then
    for _, item in ipairs(redis.call('LRANGE', lists .. other, 0, -1)) do
      redis.call('SADD', set, key_of_item(item))
    end
  end
  return set
end

local function holders_of(names)
  local holders = {}
  for _, other in ipairs(others) do
    for i, held in ipairs(redis.call('SMISMEMBER', held_by(other), unpack(names))) do
      if held == 1 then holders[i] = other end
    end
  end
  return holders
end

-- Piece by piece: what nobody holds is ours; what another holds is handed over, or stays in the
-- queue where that taker has plenty, and then so does everything of the same key behind it.
local items, fresh, left = redis.call('LRANGE', mine, 0, most - 1), {}, {}
local bytes, blocked, advanced = 0, {}, true
while #items < most and bytes < most_bytes and advanced do
  local room = math.min(most - #items, 128)
  local piece = redis.call(side == 'RIGHT' and 'RPOP' or 'LPOP', queue, room)
  if not piece then break end
  local names = {}
  for i, item in ipairs(#others > 0 and piece or {}) do names[i] = key_of_item(item) end
  local holders = #others > 0 and holders_of(names) or {}
  advanced = false
  for i, item in ipairs(piece) do
    local holder = holders[i]
    if holder and (blocked[names[i]] or redis.call('LLEN', lists .. holder) >= 2 * most) then
      blocked[names[i]] = true
      left[#left + 1] = item
    else
      advanced = true
      if holder then
        redis.call('RPUSH', lists .. holder, item)
      else
        items[#items + 1] = item
        fresh[#fresh + 1] = item
        bytes = bytes + #item
      end
    end
  end
end
for i = #left, 1, -1 do redis.call(side == 'RIGHT' and 'RPUSH' or 'LPUSH', queue, left[i]) end
if #items == 0 then return {#left > 0 and -1 or 0, 0, {}} end
for first = 1, #fresh, 1000 do
  redis.call('RPUSH', mine, unpack(fresh, first, math.min(first + 999, #fresh)))
end
redis.call('DEL', held)

if redis.call('EXISTS', attempts) == 1 then
  for i, item in ipairs(items) do
    if tried(item) > 0 then
      for beyond = #items, math.max(i, 2), -1 do items[beyond] = nil end
      break
    end
  end
end
seq = redis.call('HINCRBY', batches, 'seq', 1)
redis.call('HSET', batches, taker, seq .. ':' .. #items)
redis.call('ZADD', takers, now + lease, taker)
return {seq, tried(items[1]), items}
"""
)

# ARGV[2] ms of the lease. Returns 1 if the taker's lease was still there.
_EXTEND = Script(
    _COMMON
    + """
if not redis.call('ZSCORE', takers, taker) then return 0 end
redis.call('ZADD', takers, milliseconds() + tonumber(ARGV[2]), taker)
return 1
"""
)

# ARGV[2] side taken from. Gives everything back and takes the taker off the list.
_RELEASE = Script(
    _COMMON
    + """
if not redis.call('ZSCORE', takers, taker) then return 0 end
give_back(mine, ARGV[2])
redis.call('DEL', held)
redis.call('HDEL', batches, taker)
return redis.call('ZREM', takers, taker)
"""
)


class Queue(Struct, frozen=True, kw_only=True):
    key: str
    side: Literal["LEFT", "RIGHT"] = "RIGHT"
    """The end that is taken from: RIGHT where producers LPUSH, LEFT where they RPUSH."""
    order_by: tuple[str, ...] = ()
    """The JSON fields whose values together are the key within which order is kept."""


class Batch(Struct, frozen=True):
    """What was taken at once, or a piece of it."""

    seq: int
    items: list[bytes]
    attempts: int
    """How many processes died holding it; above 0 only for an item that comes alone."""
    left: int
    """Items in hand when its turn comes, its own included."""

    def pieces(self, most: int) -> "list[Batch]":
        """The same in pieces of so many items, to be acknowledged one by one, in order."""
        return [
            Batch(self.seq, self.items[at : at + most], self.attempts, self.left - at)
            for at in range(0, len(self.items), most)
        ]


class Effects:
    """Lua over KEYS and ARGV that is run together with an acknowledgement: both happen, or neither.

    The store does not undo what a failing script wrote: look first, then write, and raise nothing.
    """

    def __init__(self, lua: str) -> None:
        # ARGV[2] batch, ARGV[3] ms of the lease, ARGV[4] items in hand, ARGV[5] how many of them
        # are acknowledged; the rest of KEYS and ARGV are the effects'.
        self._script = Script(
            f"local function effects(KEYS, ARGV) {lua}\nend\n"
            + _COMMON
            + """
if not redis.call('ZSCORE', takers, taker) then return {'lost'} end
local seq, count = in_hand(taker)
local left, done = tonumber(ARGV[4]), tonumber(ARGV[5])
if seq ~= ARGV[2] or count < left then return {'already'} end
if count > left then error('what was taken before this is not acknowledged yet') end
local answer = effects({unpack(KEYS, 7)}, {unpack(ARGV, 6)})
if redis.call('EXISTS', attempts) == 1 then
  for _, item in ipairs(redis.call('LRANGE', mine, 0, done - 1)) do
    redis.call('HDEL', attempts, redis.sha1hex(item))
  end
end
redis.call('LTRIM', mine, done, -1)
redis.call('DEL', held)
if count > done then
  redis.call('HSET', batches, taker, seq .. ':' .. count - done)
else
  redis.call('HDEL', batches, taker)
end
redis.call('ZADD', takers, milliseconds() + tonumber(ARGV[3]), taker)
return {'done', redis.call('LLEN', mine), answer}
"""
        )

    async def __call__(
        self, store: Store, keys: Sequence[str], args: Sequence[Argument]
    ) -> tuple[bytes, int | None, Any]:
        """What became of it, how many items the taker has beyond the batch, and their answer."""
        outcome, *rest = await self._script(store, keys, args)
        left, *answer = rest or [None]
        return outcome, left, answer[0] if answer else None


NOTHING = Effects("return false")


class Taker:
    """One worker at a queue, with at most one batch in hand. Every call bears being repeated."""

    def __init__(
        self,
        store: Store,
        queue: Queue,
        *,
        lease: float = 15,
        most: int = 500,
        most_bytes: int = 4 << 20,
        urgent: Urgency | None = None,
    ) -> None:
        self.name = ids.process_name()
        self._store, self._queue = store, queue
        self._lease, self._most, self._most_bytes = lease, most, most_bytes
        base = tagged(queue.key)
        self._keys = [
            queue.key,
            _keys.takers(base),
            _keys.batches(base),
            _keys.attempts(base),
            _keys.taken(base, self.name),
            _keys.held(base, self.name),
        ]
        self._begin = [_keys.taken(base, ""), _keys.held(base, "")]
        self._urgent, self._resting = urgent, _keys.resting(base)
        self._crowded = self._has_nothing = self._is_behind = False

    @property
    def _milliseconds(self) -> int:
        return round(self._lease * 1000)

    async def take(self) -> Batch | None:
        """Up to `most` items, or None where there is nothing for us."""
        if self._urgent is not None and self._is_behind:
            keys = [self._queue.key, self._resting]
            await self._urgent.lift(self._store, keys, self._queue.side)
        args: list[Argument] = [
            self.name,
            self._milliseconds,
            self._most,
            self._most_bytes,
            self._queue.side,
        ]
        seq, attempts, items = await _TAKE(
            self._store, self._keys, [*args, *self._begin, *self._queue.order_by]
        )
        probe("queue.taken")
        self._crowded = int(seq) < 0
        self._is_behind = len(items) == self._most
        return Batch(int(seq), items, int(attempts), len(items)) if items else None

    async def acknowledge(
        self,
        batch: Batch,
        effects: Effects = NOTHING,
        keys: Sequence[str] = (),
        args: Sequence[Argument] = (),
    ) -> Any:
        """The effects' answer, once they and the acknowledgement are done; None if they had been.

        `batch` is what was taken, or the next piece of it. Raises LeaseLost where it went back to
        the queue in the meantime.
        """
        probe("queue.before_acknowledge")
        all_keys = [*self._keys, *keys]
        all_args = [
            *(self.name, batch.seq, self._milliseconds, batch.left, len(batch.items)),
            *args,
        ]
        outcome, left, answer = await patiently(lambda: effects(self._store, all_keys, all_args))
        probe("queue.acknowledged")
        self._has_nothing = left == 0
        if outcome == b"lost":
            raise LeaseLost(f"batch {batch.seq} of {self._queue.key} went back to the queue")
        return answer

    def holding(self) -> AbstractAsyncContextManager[None]:
        """The lease is extended while the body works; raises LeaseLost in its place once lost."""
        lost = LeaseLost(f"what was taken from {self._queue.key} went back to the queue")
        return kept(self._extend, self._lease, lost)

    async def batches(self) -> AsyncGenerator[Batch, None]:
        """Batch after batch for ever; the one before has to be acknowledged, or it comes again."""
        pause = _SHORTEST_PAUSE
        while True:
            batch = await patiently(self.take)
            if batch is not None:
                pause = _SHORTEST_PAUSE
                self._has_nothing = False
                yield batch
                if self._has_nothing and len(batch.items) < self._most:
                    await patiently(self._wait)  # most likely there is nothing to take
            elif self._crowded:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            else:
                await patiently(self._wait)

    async def release(self) -> None:
        """Gives back what is in hand, at once, in its order."""
        self._is_behind = True
        await _RELEASE(self._store, self._keys, [self.name, self._queue.side])

    async def _extend(self) -> bool:
        return bool(await _EXTEND(self._store, self._keys, [self.name, self._milliseconds]))

    async def _wait(self) -> None:
        # Moves the next item onto its own place: a look that blocks until there is one.
        side, key = self._queue.side, self._queue.key
        await self._store.call("BLMOVE", key, key, side, side, min(BLOCK, self._lease / 3))
