"""Urgent items of a long queue: moved to its front, each behind all earlier items of its key.

A queue is a plain list, so the only way to overtake is to move items within it. One script looks
through what waits and moves, so that nothing is lost or seen twice by whoever dies or takes in the
meantime. It looks at a limited number of items, and rests in proportion to that number.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from watchbell import ids
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

KEYED = """
-- Equal keys for all spellings of a name that differ in case; keys that meet by chance do no harm.
local function plain(value)
  return type(value) == 'string' and (string.gsub(string.lower(value), '[^ -~]', '?')) or ''
end

local function key_of(object, fields)
  local parts = {}
  for i, field in ipairs(fields) do parts[i] = plain(object[field]) end
  return table.concat(parts, ':')
end

local function decoded(item)
  local ok, object = pcall(cjson.decode, item)
  return ok and type(object) == 'table' and object or nil
end

-- The JSON of items: of one that is an id, what is stored under a key that begins with `payloads`.
local function texts_of(items, payloads)
  if payloads == '' then return items end
  local texts, keys, places = {}, {}, {}
  for i, item in ipairs(items) do
    texts[i] = item
    if string.byte(item) ~= 123 and #item <= 100 then  -- 123 is {
      keys[#keys + 1], places[#places + 1] = payloads .. item, i
    end
  end
  for i, text in ipairs(#keys > 0 and redis.call('MGET', unpack(keys)) or {}) do
    if text then texts[places[i]] = text end
  end
  return texts
end
"""

FIRST, SOON = 2, 1
"""Ranks: what goes before everything, and what does so where it is the exception."""
_ITEMS, _KEYS, _MOVED, _CLOSELY = 100_000, 1_000, 2_000, 3_000
_FEW, _TRIED = 200, 500
_REST = 1_000

# KEYS[1] queue, KEYS[2] a key that exists while the queue rests; ARGV[1] side taken from, ARGV[2]
# items at the front that are taken next, ARGV[3] most items looked at, ARGV[4] most keys that go
# first, ARGV[5] most items moved, ARGV[6] most items decoded that may go first, ARGV[7] most keys
# that go soon, ARGV[8] most items decoded that may do so, ARGV[9] least ms of rest, ARGV[10] a text
# that is no item, ARGV[11] a word of items that are not urgent, or none, ARGV[12] msgpack: words
# that items of rank 2 contain, ARGV[13] those of rank 1, ARGV[14] fields of the key, ARGV[15] what
# the keys of payloads begin with. The rest of ARGV is `rank_of`'s, a function of an item's object.
# Returns how many items were moved.
_LIFT = """
local queue, resting = KEYS[1], KEYS[2]
if redis.call('EXISTS', resting) == 1 then return 0 end
local is_right, front, no_item, quiet = ARGV[1] == 'RIGHT', tonumber(ARGV[2]), ARGV[10], ARGV[11]
local most_keys, most_moved, few = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[7])
local tries = {tonumber(ARGV[8]), tonumber(ARGV[6])}
local words = {cmsgpack.unpack(ARGV[13]), cmsgpack.unpack(ARGV[12])}
local fields = cmsgpack.unpack(ARGV[14])
local length = math.min(redis.call('LLEN', queue), tonumber(ARGV[3]))
local find, match = string.find, string.match

local function rest(work)
  redis.call('SET', resting, 1, 'PX', math.max(tonumber(ARGV[9]), math.floor(work)))
end

-- Calls a function with the items that are taken as the first-th to the last-th, until it says so:
-- with its place, its JSON, and the item itself.
local function each(first, last, look)
  for from = first, last, 500 do
    local to = math.min(from + 499, last)
    local items = is_right and redis.call('LRANGE', queue, -to, -from)
      or redis.call('LRANGE', queue, from - 1, to - 1)
    local texts = texts_of(items, ARGV[15])
    for n = from, to do
      local at = is_right and to - n + 1 or n - from + 1
      if look(n, texts[at], items[at]) then return end
    end
  end
end

local function contains(item, some)
  for _, word in ipairs(some) do
    if find(item, word, 1, true) then return true end
  end
  return false
end

local function rank_at_first_sight(item)
  if quiet ~= '' and find(item, quiet, 1, true) or #item > 65536 then return 0 end
  if tries[2] > 0 and contains(item, words[2]) then return 2 end
  return tries[1] > 0 and contains(item, words[1]) and 1 or 0
end

-- The keys of what is urgent, in their order, with the last of its places. What is urgent and has
-- nothing else before it is in its place.
local places, ranks, order, soon, is_behind = {}, {}, {}, 0, false
each(front + 1, length, function(n, item)
  local may = rank_at_first_sight(item)
  local object = may > 0 and decoded(item)
  if object then tries[may] = tries[may] - 1 end
  local rank = object and rank_of(object) or 0
  if rank < 2 then is_behind = true end
  if rank == 0 or not is_behind then return false end
  local key = key_of(object, fields)
  if not places[key] then order[#order + 1] = key end
  if not places[key] and rank == 1 then soon = soon + 1 end
  places[key], ranks[key] = n, math.max(rank, ranks[key] or 0)
  return #order - soon >= most_keys
end)
local is_soon = soon <= few and tries[1] > 0
local last, names = 0, {}
for _, key in ipairs(order) do
  if ranks[key] == 2 or is_soon then
    last = math.max(last, places[key])
    names[match(key, '^[^:]*')] = true
  else
    places[key] = nil
  end
end
rest(length / 100)
if last == 0 then return 0 end

-- The key of an item, where its first field is one of the names. Fields are found without decoding
-- wherever they are written plainly, since most items are only passed by.
local patterns, plain_of, found, counts = {}, {}, {}, {}
for i, field in ipairs(fields) do patterns[i] = '"' .. field .. '"%s*:%s*"([^"\\\\]*)"' end

local function known_key(item)
  local parts = {}
  for i, pattern in ipairs(patterns) do
    local value = match(item, pattern)
    if not value then
      local object = decoded(item)
      return object and key_of(object, fields)
    end
    local part = plain_of[value]
    if not part then
      part = plain(value)
      plain_of[value] = part
    end
    if i == 1 and not names[match(part, '^[^:]*')] then return nil end
    parts[i] = part
  end
  return table.concat(parts, ':')
end

each(1, last, function(n, text, item)
  local key = known_key(text)
  if key and places[key] and n <= places[key] then
    found[#found + 1] = {n, item, key}
    counts[key] = (counts[key] or 0) + 1
  end
  return false
end)

-- As many whole keys as may be moved, those that go first before the others.
local chosen, total = {}, 0
for rank = 2, 1, -1 do
  for _, key in ipairs(order) do
    local count = ranks[key] == rank and counts[key]
    if count and total + count <= most_moved then
      chosen[key], total = true, total + count
    end
  end
end
if total == 0 then return 0 end
for _, one in ipairs(found) do
  if chosen[one[3]] then redis.call('LSET', queue, is_right and -one[1] or one[1] - 1, no_item) end
end
redis.call('LREM', queue, is_right and -total or total, no_item)
for rank = 1, 2 do
  for i = #found, 1, -1 do
    local _, item, key = unpack(found[i])
    if chosen[key] and ranks[key] == rank then
      redis.call(is_right and 'RPUSH' or 'LPUSH', queue, item)
    end
  end
end
rest(math.max(length / 40, total))
return total
"""


class Urgency:
    """What is urgent in a queue, and within which key its order is kept."""

    def __init__(
        self,
        rank_of: str,
        *,
        first: Sequence[str],
        soon: Sequence[str],
        order_by: Sequence[str],
        quiet: str = "",
        front: int = 0,
        args: Sequence[Argument] = (),
        payloads: str = "",
    ) -> None:
        """`rank_of` is the body of a Lua function of `object`, an item's JSON, and of `given`,
        which are `args`; it returns FIRST, SOON or 0. An item of rank FIRST or SOON has one of
        these words in its text, and not `quiet`; one that spells it in another way waits for its
        turn. So does what is among the first `front` items, which are taken next anyway.
        `payloads` is as in `Queue`."""
        self._script = Script(
            f"{KEYED}local given = {{unpack(ARGV, 16)}}\n"
            f"local function rank_of(object) {rank_of}\nend\n{_LIFT}"
        )
        self._words = [msgspec.msgpack.encode(tuple(words)) for words in (first, soon, order_by)]
        self._front, self._quiet, self._args = front, quiet, [payloads, *args]

    async def lift(self, store: Store, keys: Sequence[str], side: Literal["LEFT", "RIGHT"]) -> int:
        """Moves what is urgent before everything else; how many items that were."""
        limits = (_ITEMS, _KEYS, _MOVED, _CLOSELY, _FEW, _TRIED, _REST)
        args: list[Argument] = [side, self._front, *limits, f"moved {ids.token()}", self._quiet]
        moved: int = await self._script(store, keys, [*args, *self._words, *self._args])
        return moved


def spellings(*words: str) -> list[str]:
    """As producers write a state."""
    return [spelling for word in words for spelling in (word, word.upper(), word.capitalize())]
