"""What follows from decisions: plain Redis commands, run together with an acknowledgement."""

from collections.abc import Sequence

import msgspec

from watchbell.store.queue import Effects

Command = Sequence[str | int | float | msgspec.Raw]

# ARGV[1] msgpack: commands, flat, each after the number of its words. One that the store refuses
# (a key of a wrong type, left by somebody else) is told and stops none of the others. Returns what
# was refused.
run = Effects("""
-- Three commands are ours. CLAIM: an entity that nobody named yet gets its id, and then the keys
-- that go with it.
local function claim(ids, names, by_name, by_id, entity, id)
  local answer = redis.pcall('HSETNX', ids, entity, id)
  if answer ~= 1 then return answer end
  redis.pcall('HSET', names, id, entity)
  redis.pcall('SET', by_name, id)
  return redis.pcall('HSET', by_id, 'name', entity)
end

-- FORGET: a check is taken out of the failing ones of everybody who is alerted about it.
local function forget(media, begin, id)
  local members = redis.pcall('SMEMBERS', media)
  if members.err then return members end
  for _, member in ipairs(members) do redis.pcall('ZREM', begin .. member, id) end
  return redis.pcall('DEL', media)
end

local function is_open(key, windows, now)
  local start = redis.pcall('GET', key)
  if type(start) ~= 'string' then return false end
  local length = redis.pcall('ZSCORE', windows, start)
  local last = type(length) == 'string' and tonumber(start) and tonumber(start) + tonumber(length)
  return not last or last > now
end

-- COUNT: a check is put among the failing ones that a contact is alerted about, unless it fails
-- no more, is disabled, or is in maintenance by now.
local function count(alerted, media, member, now, id, failed, enabled, check, ...)
  local windows = {...}
  if type(redis.pcall('ZSCORE', failed, id)) ~= 'string'
      or type(redis.pcall('ZSCORE', enabled, check)) ~= 'string'
      or is_open(windows[1], windows[2], now) or is_open(windows[3], windows[4], now) then
    return false
  end
  redis.pcall('SADD', media, member)
  return redis.pcall('ZADD', alerted, now, id)
end

local ours = {CLAIM = claim, FORGET = forget, COUNT = count}
local refused, words, at = {}, cmsgpack.unpack(ARGV[1]), 1
local pcall, unpack, total = redis.pcall, unpack, #words
while at < total do
  local command, answer = ours[words[at + 1]]
  if command then
    answer = command(unpack(words, at + 2, at + words[at]))
  else
    answer = pcall(unpack(words, at + 1, at + words[at]))
  end
  if type(answer) == 'table' and answer.err then
    -- A store without memory refuses as long as a script has written nothing: all comes again.
    if string.sub(answer.err, 1, 4) == 'OOM ' then error(answer) end
    refused[#refused + 1] = words[at + 1] .. ' ' .. words[at + 2] .. ': ' .. answer.err
  end
  at = at + words[at] + 1
end
return refused
""")


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


def packed(commands: Sequence[Command]) -> bytes:
    words: list[str | int | float | msgspec.Raw] = []
    for command in commands:
        words.append(len(command))
        words += command
    return msgspec.msgpack.encode(words)
