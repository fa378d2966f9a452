"""Presence: processes report every few seconds, stamped by the store's clock."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from watchbell.store.client import Store, patiently
from watchbell.store.script import Script

SKEW = 30
"""Seconds by which a report may seem to come from the future."""


class Stamped(NamedTuple):
    """A text with the store's time in it, in seconds with so many decimals."""

    before: str
    decimals: int
    after: str


Word = str | int | Stamped

# KEYS[1] any key of the namespace, by which a cluster finds the server; ARGV[1] msgpack: commands;
# a word that is a list of what stands before the time, its decimals and what stands after it is
# made into one text. All commands of one report have the same time.
_REPORT = Script("""
local time = redis.call('TIME')
local function text(word)
  if type(word) ~= 'table' then return word end
  local before, decimals, after = unpack(word)
  local fraction = string.sub(string.format('%06d', time[2]), 1, decimals)
  return before .. time[1] .. (decimals > 0 and '.' .. fraction or '') .. after
end
for _, command in ipairs(cmsgpack.unpack(ARGV[1])) do
  for i, word in ipairs(command) do command[i] = text(word) end
  redis.call(unpack(command))
end
""")

# KEYS[1] as above; ARGV[1] msgpack: commands that read. Returns the time and their replies.
_READ = Script("""
local replies = {}
for i, command in ipairs(cmsgpack.unpack(ARGV[1])) do replies[i] = redis.call(unpack(command)) end
return {redis.call('TIME')[1] .. '', replies}
""")


async def report(store: Store, key: str, *commands: Sequence[Word]) -> None:
    """Runs commands that record a presence; `key` is one that they write."""
    await _REPORT(store, [key], [msgspec.msgpack.encode(commands)])


async def read(store: Store, key: str, *commands: Sequence[str | int]) -> tuple[int, list[Any]]:
    """The store's time, in whole seconds, and the replies, as they are at that time."""
    time, replies = await _READ(store, [key], [msgspec.msgpack.encode(commands)])
    return int(time), replies


def is_silent(seen: float, now: float, after: float) -> bool:
    """Whether the last report is older than `after` seconds.

    A report from the future was made before a clock was set back; it counts as old.
    """
    return not -SKEW <= now - seen < after


class Presence:
    """Reports every so many seconds, and sooner when what it reports has changed."""

    def __init__(self, report: Callable[[], Awaitable[None]], every: float) -> None:
        self._report, self._every = report, every
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled; a store that is away is waited for."""
        while True:
            self._changed.clear()
            await patiently(self._report)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every):
                    await self._changed.wait()

    def hurry(self) -> None:
        self._changed.set()
