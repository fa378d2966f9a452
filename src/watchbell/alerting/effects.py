"""What follows from decisions: plain Redis commands, run together with an acknowledgement."""

from collections.abc import Iterable, Sequence

import msgspec

from watchbell.store.queue import Effects
from watchbell.store.script import RAISE_NOT_NOW, Script

Word = str | int | float | msgspec.Raw
Command = Sequence[Word]

FORGET = """
-- FORGET: a check is taken out of the failing ones of everybody who is alerted about it.
local function forget(media, begin, id)
  local members = redis.pcall('SMEMBERS', media)
  if members.err then return members end
  for _, member in ipairs(members) do redis.pcall('ZREM', begin .. member, id) end
  return redis.pcall('DEL', media)
end
"""

# ARGV[1] msgpack: commands, flat, each after the number of its words. One that the store refuses
# (a key of a wrong type, left by somebody else) is told and stops none of the others. Returns what
# was refused.
_RUN = (
    RAISE_NOT_NOW
    + FORGET
    + """
-- Ten commands are ours: those that look before they write, and what is often written together.
local refused = {}
local function look_at(answer, command, key)
  if type(answer) == 'table' and answer.err then
    raise_not_now(answer)
    refused[#refused + 1] = command .. ' ' .. key .. ': ' .. answer.err
  end
end

-- CLAIM: an entity that nobody named yet gets an id, and then the keys that go with it. One that
-- other programs named without the two indexes keeps its own, since its contacts go by it.
local function claim(ids, names, by_name, begin, entity, id)
  local known = redis.pcall('GET', by_name)
  if type(known) == 'string' and known ~= '' then id = known end
  local answer = redis.pcall('HSETNX', ids, entity, id)
  if answer ~= 1 then return answer end
  redis.pcall('HSET', names, id, entity)
  redis.pcall('SET', by_name, id)
  return redis.pcall('HSET', begin .. id, 'name', entity)
end

local function is_open(key, windows, now)
  local start = redis.pcall('GET', key)
  if type(start) ~= 'string' then return false end
  local length = redis.pcall('ZSCORE', windows, start)
  local last = type(length) == 'string' and tonumber(start) and tonumber(start) + tonumber(length)
  return not last or last > now
end

-- COUNT: a check is put among the failing ones that contacts' media are alerted about (for each
-- its name and its set), unless it fails no more, is disabled, or is in maintenance by now.
local function count(media, now, id, failed, enabled, check, planned, planned_windows, open,
    open_windows, ...)
  if type(redis.pcall('ZSCORE', failed, id)) ~= 'string'
      or type(redis.pcall('ZSCORE', enabled, check)) ~= 'string'
      or redis.call('EXISTS', planned, open) > 0
      and (is_open(planned, planned_windows, now) or is_open(open, open_windows, now)) then
    return false
  end
  local named, members = {...}, {}
  for i = 1, #named, 2 do
    local answer = redis.pcall('ZADD', named[i + 1], now, id)
    if type(answer) == 'table' then return answer end
    members[#members + 1] = named[i]
  end
  return redis.pcall('SADD', media, unpack(members))
end

-- RECORD: a hash that is kept for so many seconds.
local function record(key, seconds, ...)
  local answer = redis.pcall('HSET', key, ...)
  return type(answer) == 'table' and answer or redis.pcall('EXPIRE', key, seconds)
end

-- NOTE: a text is put before so many others, which are kept for so many seconds.
local function note(key, most, seconds, text)
  local length = redis.pcall('LPUSH', key, text)
  if type(length) == 'table' then return length end
  if length > most then redis.pcall('LTRIM', key, 0, most - 1) end
  return redis.pcall('EXPIRE', key, seconds)
end

-- HOLD: keys that hold alerts back, each after its end and its milliseconds to live. Its expiry is
-- recorded too: where an operator changes that, it counts instead of the recorded end.
local function hold(ends, expiries, ...)
  local words, scored, expire = {...}, {}, {}
  for i = 1, #words, 3 do
    local key = words[i + 2]
    local answer = redis.pcall('SET', key, 'd', 'PX', words[i + 1])
    if answer.err then return answer end
    scored[#scored + 1], scored[#scored + 2] = words[i], key
    expire[#expire + 1], expire[#expire + 2] = key, redis.call('PEXPIRETIME', key)
  end
  local answer = redis.pcall('ZADD', ends, unpack(scored))
  return type(answer) == 'table' and answer or redis.pcall('HSET', expiries, unpack(expire))
end

-- FREE: such keys and their records go.
local function free(ends, expiries, ...)
  redis.pcall('DEL', ...)
  local answer = redis.pcall('ZREM', ends, ...)
  return type(answer) == 'table' and answer or redis.pcall('HDEL', expiries, ...)
end

-- TIDY: keys whose recorded end has come go with their records, so many at once. One whose expiry
-- was changed lives until then.
local function tidy(ends, expiries, now, most)
  local keys = redis.pcall('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, most)
  if keys.err or #keys == 0 then return keys end
  local recorded = redis.pcall('HMGET', expiries, unpack(keys))
  for i, key in ipairs(keys) do
    local expiry = not recorded.err and recorded[i]
    if not expiry or tonumber(expiry) == redis.call('PEXPIRETIME', key) then
      redis.call('DEL', key)
    end
  end
  redis.pcall('HDEL', expiries, unpack(keys))
  return redis.pcall('ZREM', ends, unpack(keys))
end

-- ACT: an action is recorded under its second, or the next one that has no action yet.
local function act(actions, now, action)
  local answer = redis.pcall('HSETNX', actions, now, action)
  while answer == 0 do
    now = now + 1
    answer = redis.pcall('HSETNX', actions, now, action)
  end
  return answer
end

-- HEAR: a field of many hashes gets the same value.
local function hear(field, value, ...)
  for _, key in ipairs({...}) do
    look_at(redis.pcall('HSET', key, field, value), 'HSET', key)
  end
end

local ours = {
  CLAIM = claim, FORGET = forget, COUNT = count, RECORD = record, NOTE = note, HOLD = hold,
  FREE = free, TIDY = tidy, ACT = act, HEAR = hear
}
local words, at = cmsgpack.unpack(ARGV[1]), 1
local pcall, unpack, total = redis.pcall, unpack, #words
while at < total do
  local command, answer = ours[words[at + 1]]
  if command then
    answer = command(unpack(words, at + 2, at + words[at]))
  else
    answer = pcall(unpack(words, at + 1, at + words[at]))
  end
  look_at(answer, words[at + 1], words[at + 2])
  at = at + words[at] + 1
end
return refused
"""
)

run = Effects(_RUN)
alone = Script(_RUN)
"""The same, where nothing is to be acknowledged."""


def verbatim(value: bytes) -> msgspec.Raw:
    """Bytes as they are: the store's scripts know only texts, which may hold any bytes there."""
    size = len(value)
    if size < 32:
        head = bytes([0xA0 | size])
    elif size < 1 << 16:
        head = b"\xda" + size.to_bytes(2, "big")
    else:
        head = b"\xdb" + size.to_bytes(4, "big")
    return msgspec.Raw(head + value)


def flat(commands: Iterable[Command]) -> list[Word]:
    """The words of the commands, each command after their number.

    Thousands of commands wait for their turn. As a list of lists they would cost a third of all our
    time, since Python's garbage collector looks through every list that it finds alive.
    """
    words: list[Word] = []
    for command in commands:
        words.append(len(command))
        words += command
    return words


def packed(words: Sequence[Word]) -> bytes:
    return msgspec.msgpack.encode(words)
