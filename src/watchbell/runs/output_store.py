"""Reads the output of one run from the store: a sorted set of numbered lines, or Cronken's list."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct

from watchbell.store.client import Store
from watchbell.store.script import Script

MOST_LINES = 2_000
MOST_BYTES = 512 << 10
"""The most lines of a window."""

_PAGE = 1_000
_EVERY = 0.3
_SEARCHED_AT_ONCE = 2_000
_MOST_SEARCHED = 20_000
_MOST_SEARCHED_BYTES = 4 << 20
_MOST_HITS = 1_000
_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""Escape sequences of terminals, such as colours."""

# KEYS[1] output; ARGV[1] time and ARGV[2] number of the line after which to begin, ARGV[3] how many
# to give at the most. Returns them, with their times where they have some.
_OUTPUT = Script("""
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'zset' then
  local after = '(' .. ARGV[1]
  local found = redis.call('ZRANGEBYSCORE', KEYS[1], after, '+inf', 'WITHSCORES',
                           'LIMIT', 0, ARGV[3])
  return {found, 1}
end
if kind == 'list' then
  return {redis.call('LRANGE', KEYS[1], ARGV[2], ARGV[2] + ARGV[3] - 1), 0}
end
return {{}, 0}
""")

# KEYS[1] output; ARGV[1] how many. Returns the last lines, and whether they have numbers.
_TAIL = Script("""
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'zset' then return {redis.call('ZRANGE', KEYS[1], -ARGV[1], -1), 1} end
if kind == 'list' then return {redis.call('LRANGE', KEYS[1], -ARGV[1], -1), 0} end
return {{}, 0}
""")

# KEYS[1] output; ARGV[1] place of the first line, counted from 0, or empty for the one after the
# line of ARGV[2] time and ARGV[3] number; ARGV[4] place before which to stop, or empty; ARGV[5]
# lines and ARGV[6] bytes that are enough; ARGV[7] where 1, the last of them are given rather than
# the first. Returns how many lines there are, how many of the first are without a gap, the place
# from which was asked, that of the first given, the lines, and whether they have times. Read in
# small steps, since a line may be long.
_WINDOW = Script("""
local key, step = KEYS[1], 20
local kind = redis.call('TYPE', key).ok
local is_set = kind == 'zset'
if not is_set and kind ~= 'list' then return {0, 0, 0, 0, {}, 0} end
local total = is_set and redis.call('ZCARD', key) or redis.call('LLEN', key)

local function number(place)
  local found = redis.call('ZRANGE', key, place, place)[1] or ''
  return tonumber(string.match(found, '^(%d+)\t') or place + 1)
end

-- Lines are numbered as they were printed, so the first place at which the number is larger than
-- it would be without a gap is found by halving.
local function complete()
  if not is_set or number(total - 1) == total then return total end
  local low, high = 0, total
  while low < high do
    local middle = math.floor((low + high) / 2)
    if number(middle) == middle + 1 then low = middle + 1 else high = middle end
  end
  return low
end

local function slice(first, last)
  if is_set then return redis.call('ZRANGE', key, first, last, 'WITHSCORES') end
  return redis.call('LRANGE', key, first, last)
end

local first = tonumber(ARGV[1])
if not first and is_set then first = redis.call('ZCOUNT', key, '-inf', ARGV[2]) end
first = math.min(math.max(first or tonumber(ARGV[3]), 0), total)
local stop = math.min(tonumber(ARGV[4]) or total, total)
local most, bytes = tonumber(ARGV[5]), tonumber(ARGV[6])
local width = is_set and 2 or 1
local pieces, count = {}, 0

local function weigh(lines)
  for i = 1, #lines, width do bytes = bytes - #lines[i] end
  count = count + #lines / width
  pieces[#pieces + 1] = lines
end

local given = first
if ARGV[7] == '1' then
  given = stop
  while given > first and count < most and bytes > 0 do
    local from = math.max(given - math.min(step, most - count), first)
    weigh(slice(from, given - 1))
    given = from
  end
  for i = 1, math.floor(#pieces / 2) do
    pieces[i], pieces[#pieces + 1 - i] = pieces[#pieces + 1 - i], pieces[i]
  end
else
  while first + count < stop and count < most and bytes > 0 do
    weigh(slice(first + count, math.min(first + count + math.min(step, most - count), stop) - 1))
  end
end
local lines = {}
for _, piece in ipairs(pieces) do
  for _, part in ipairs(piece) do lines[#lines + 1] = part end
end
return {total, complete(), first, given, lines, is_set and 1 or 0}
""")


class OutputLine(Struct, frozen=True):
    number: int
    """Counted from 1; missing numbers are lines that were left out."""
    at: float
    """When it was printed; 0 if not known."""
    text: bytes


class OutputWindow(Struct, frozen=True, kw_only=True):
    """Consecutive lines of an output."""

    total: int
    """How many lines there are."""
    complete: int
    """How many of the first lines have no gap between them. The others are the newest, and may
    still be replaced while the run is in progress."""
    asked: int
    """The place from which lines were requested, counted from 0."""
    first: int
    """The place of the first of `lines`."""
    lines: list[OutputLine]


class Hits(Struct, frozen=True):
    places: list[int]
    following: int | None
    """The place from which to continue; None once everything was searched."""


class OutputStore:
    """The output of one run, under its key."""

    def __init__(self, store: Store, key: str) -> None:
        self._store, self._key = store, key

    async def lines(self, after: OutputLine | None = None, most: int = _PAGE) -> list[OutputLine]:
        """Lines after `after`; none if the run printed no more, or its output is gone."""
        at, number = (after.at, after.number) if after else (0.0, 0)
        found, has_times = await _OUTPUT(self._store, [self._key], [f"{at:.6f}", number, most])
        return _lines(found, number + 1, has_times=has_times)

    async def window(
        self, first: int, most: int = MOST_LINES, stop: int | None = None
    ) -> OutputWindow:
        """Lines from the place `first`, up to but not including `stop`."""
        return await self._window([first, 0, 0, "" if stop is None else stop, most], last=False)

    async def end(self, most: int = MOST_LINES, stop: int | None = None) -> OutputWindow:
        """The last lines, or the last before the place `stop`."""
        return await self._window([0, 0, 0, "" if stop is None else stop, most], last=True)

    async def following(self, after: OutputLine | None) -> OutputWindow:
        """The first lines after `after`."""
        return await self._window([*_after(after), "", MOST_LINES], last=False)

    async def newest(self, after: OutputLine | None, most: int = MOST_LINES) -> OutputWindow:
        """The last lines after `after`; if there are too many, with a gap before them."""
        return await self._window([*_after(after), "", most], last=True)

    async def _window(self, asked: list[Any], *, last: bool) -> OutputWindow:
        answer = await _WINDOW(self._store, [self._key], [*asked, MOST_BYTES, int(last)])
        total, complete, first, given, found, has_times = answer
        lines = _lines(found, given + 1, has_times=has_times)
        return OutputWindow(total=total, complete=complete, asked=first, first=given, lines=lines)

    async def search(self, text: str, start: int, *, backward: bool = False) -> Hits:
        return await search(self, text, start, backward=backward)

    async def follow(
        self, is_over: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[list[OutputLine]]:
        """All output, followed until the run is over."""
        last: OutputLine | None = None
        while True:
            was_over = await is_over()  # before the lines are read, so that none is missed
            while found := await self.lines(last):
                last = found[-1]
                yield found
            if was_over:
                return
            await asyncio.sleep(_EVERY)

    async def last_number(self) -> int:
        """The number of the last line; 0 if there is none."""
        found, has_numbers = await _TAIL(self._store, [self._key], [1])
        return _line(found[0], b"0").number if found and has_numbers else 0

    async def tail(self, most: int) -> str:
        """The last lines, as the record of a run contains them."""
        found, has_numbers = await _TAIL(self._store, [self._key], [most])
        texts = [line.partition(b"\t")[2] if has_numbers else line for line in found]
        return b"".join(texts).decode(errors="replace")


class Windows(Protocol):
    """Output that is read in windows."""

    async def window(
        self, first: int, most: int = MOST_LINES, stop: int | None = None
    ) -> OutputWindow: ...

    async def end(self, most: int = MOST_LINES, stop: int | None = None) -> OutputWindow: ...


async def search(output: Windows, text: str, start: int, *, backward: bool = False) -> Hits:
    """Places of lines that contain the text, ignoring case and colours.

    Searches a bounded number of lines, from `start` on or backward from before it.
    """
    wanted, places = text.casefold(), list[int]()
    lines, weight = _MOST_SEARCHED, _MOST_SEARCHED_BYTES
    while True:
        if backward:
            found = await output.end(_SEARCHED_AT_ONCE, start)
        else:
            found = await output.window(start, _SEARCHED_AT_ONCE)
        hits = [
            found.first + i
            for i, line in enumerate(found.lines)
            if wanted in _searchable(line.text)
        ]
        places += reversed(hits) if backward else hits
        start = found.first if backward else found.first + len(found.lines)
        if start == (0 if backward else found.total) or not found.lines:
            return Hits(places, None)
        lines -= len(found.lines)
        weight -= sum(len(line.text) for line in found.lines)
        if lines <= 0 or weight <= 0 or len(places) >= _MOST_HITS:
            return Hits(places, start)


def _after(line: OutputLine | None) -> list[Any]:
    return ["", f"{line.at:.6f}" if line else "-inf", line.number if line else 0]


def _lines(found: list[bytes], first: int, *, has_times: bool) -> list[OutputLine]:
    """Lines of a sorted set with their times, or those of a list, numbered from `first`."""
    if has_times:
        return [_line(*pair) for pair in zip(found[::2], found[1::2], strict=True)]
    return [OutputLine(number, 0, text) for number, text in enumerate(found, first)]


def _line(member: bytes, at: bytes) -> OutputLine:
    number, _, text = member.partition(b"\t")
    return OutputLine(int(number) if number.isdigit() else 0, float(at), text)


def _searchable(text: bytes) -> str:
    return _ESCAPES.sub(b"", text).decode(errors="replace").casefold()
