"""The Lua scripts of the queue: taking, extending and releasing what a taker holds."""

from watchbell.store.script import Script
from watchbell.store.urgent import KEYED

# Shared by the scripts below: KEYS[1] queue, KEYS[2] takers, KEYS[3] batches, KEYS[4] attempts,
# KEYS[5] the taker's own list, KEYS[6] the keys it holds; ARGV[1] taker.
COMMON = """
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
# ARGV[6] and ARGV[7] what the lists and sets of all takers begin with, ARGV[8] what the keys of
# payloads begin with, ARGV[9…] the fields that make an item's key. Returns the batch's number (0
# where there is nothing, -1 where all there is has to wait for others), the attempts at its first
# item by processes that died, the items, and the facts about them.
# A batch not yet acknowledged is returned again, so a lost answer loses nothing. An item that a
# process died with comes alone, so that it can take nobody else down with it.
_TAKE = """
local lease, most, most_bytes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local side, lists, helds, payloads = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local fields = {unpack(ARGV, 9)}
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
  return {seq, tried(items[1]), items, facts({queue}, items)}
end

local function key_of_item(item)
  local object = decoded(texts_of({item}, payloads)[1])
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
if #items == 0 then return {#left > 0 and -1 or 0, 0, {}, false} end
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
return {seq, tried(items[1]), items, facts({queue}, items)}
"""


def taking(facts: str) -> Script:
    """The script that takes items. `facts` is Lua that reads what is needed to handle them, in the
    same round trip: over KEYS[1], the queue, and ARGV, the items. It may raise nothing."""
    lua = f"local function facts(KEYS, ARGV) {facts}\nend\n"
    return Script(lua + COMMON + KEYED + _TAKE)


TAKE = taking("return false")

# ARGV[2] ms of the lease. Returns 1 if the taker's lease was still there.
EXTEND = Script(
    COMMON
    + """
if not redis.call('ZSCORE', takers, taker) then return 0 end
redis.call('ZADD', takers, milliseconds() + tonumber(ARGV[2]), taker)
return 1
"""
)

# ARGV[2] side taken from. Gives everything back and takes the taker off the list.
RELEASE = Script(
    COMMON
    + """
if not redis.call('ZSCORE', takers, taker) then return 0 end
give_back(mine, ARGV[2])
redis.call('DEL', held)
redis.call('HDEL', batches, taker)
return redis.call('ZREM', takers, taker)
"""
)
