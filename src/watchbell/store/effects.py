"""Effects: what is written together with the acknowledgement of a batch, as Lua or as commands."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from watchbell.store.client import Argument, Store
from watchbell.store.queue_scripts import COMMON
from watchbell.store.script import RAISE_NOT_NOW, Script

Word = str | int | float | msgspec.Raw
Command = Sequence[Word]


class Effects:
    """Lua over KEYS and ARGV that is run together with an acknowledgement: both happen, or neither.

    The store does not undo what a failing script wrote: look first, then write, and raise nothing.
    """

    def __init__(self, lua: str) -> None:
        # ARGV[2] batch, ARGV[3] ms of the lease, ARGV[4] items in hand, ARGV[5] how many of them
        # are acknowledged; the rest of KEYS and ARGV are the effects'.
        self._script = Script(
            f"local function effects(KEYS, ARGV) {lua}\nend\n"
            + COMMON
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

# ARGV[1] msgpack: commands, flat, each after the number of its words. One that the store refuses
# (a key of a wrong type, left by somebody else) is reported and stops none of the others. Returns
# what was refused. Besides the commands of Redis there are the three below, and a domain's own.
_BEGIN = (
    RAISE_NOT_NOW
    + """
local refused = {}
local function check_reply(reply, command, key)
  if type(reply) == 'table' and reply.err then
    raise_not_now(reply)
    refused[#refused + 1] = command .. ' ' .. key .. ': ' .. reply.err
  end
end

local commands, finish = {}, nil

-- HSET_EXPIRE key seconds field value …: a hash that is kept for so many seconds.
function commands.HSET_EXPIRE(key, seconds, ...)
  local reply = redis.pcall('HSET', key, ...)
  return type(reply) == 'table' and reply or redis.pcall('EXPIRE', key, seconds)
end

-- LPUSH_CAPPED key most seconds text: a text at the head of a list of at most so many, which is
-- kept for so many seconds.
function commands.LPUSH_CAPPED(key, most, seconds, text)
  local length = redis.pcall('LPUSH', key, text)
  if type(length) == 'table' then return length end
  if length > most then redis.pcall('LTRIM', key, 0, most - 1) end
  return redis.pcall('EXPIRE', key, seconds)
end

-- HSET_MANY field value key …: a field of many hashes gets the same value.
function commands.HSET_MANY(field, value, ...)
  for _, key in ipairs({...}) do
    check_reply(redis.pcall('HSET', key, field, value), 'HSET', key)
  end
end
"""
)

_RUN = """
local words, at = cmsgpack.unpack(ARGV[1]), 1
local pcall, unpack, total = redis.pcall, unpack, #words
while at < total do
  local command, reply = commands[words[at + 1]]
  if command then
    reply = command(unpack(words, at + 2, at + words[at]))
  else
    reply = pcall(unpack(words, at + 1, at + words[at]))
  end
  check_reply(reply, words[at + 1], words[at + 2])
  at = at + words[at] + 1
end
if finish then finish() end
return refused
"""


class CommandEffects:
    """Runs packed commands: those of Redis, ours, and the `extension` of a domain.

    The extension is Lua that adds functions to the table `commands`, by name. Each gets the words
    that follow its name and returns a reply of Redis, or nothing. If it sets `finish`, that runs
    after all commands.
    """

    def __init__(self, extension: str = "") -> None:
        lua = _BEGIN + extension + _RUN
        self.acknowledging = Effects(lua)
        self.alone = Script(lua)
        """For commands that follow from no batch."""


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
