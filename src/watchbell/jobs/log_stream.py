"""Reads the output of a job that is not archived yet: parts in `files`, then a stream.

A place is the number of stored lines before a line. It differs from the number of the line by what
was left out before.
"""

import math
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.jobs.keys import Jobs
from watchbell.jobs.log_lines import Chunk
from watchbell.jobs.log_members import Part, Position
from watchbell.store.client import Argument, Store
from watchbell.store.script import READ, Script

_OVER = (b'"finishing"', b'"complete"')
_PARTS = msgspec.json.Decoder(Part)

# Lua for scripts about the stream of a log. `entry` gives the first entry from the given id on;
# entries that other programs spoiled count as empty ones at the end of what was before them.
ENTRIES = (
    READ
    + """
local log = KEYS[1]
local function decoded(raw)
  local ok, value = pcall(cjson.decode, raw or '')
  return ok and type(value) == 'table' and value or {}
end
local function sequence(entry) return tonumber(string.match(entry[1], '^%d+')) end
local function value(entry, name)
  local fields = entry[2]
  for i = 1, #fields, 2 do if fields[i] == name then return fields[i + 1] end end
  return ''
end
local function line(entry) return tonumber(value(entry, 'line')) or 0 end
local function first(from) return (read('XRANGE', log, from, '+', 'COUNT', 1) or {})[1] end
local function last() return (read('XREVRANGE', log, '+', '-', 'COUNT', 1) or {})[1] end
"""
)

# KEYS log, parts, job; ARGV[1] place; ARGV[2] where 1, what ends before that place is wanted, or
# before the end where it is below 0; else what begins with it; ARGV[3] bytes and ARGV[4] lines that
# are enough; ARGV[5] where `offset`, ARGV[1] is no place but a number of bytes. Returns the last
# part, whether the stream begins after what is wanted, the state of the job, the first entry of the
# stream, the last, and those that are wanted.
_READ = Script(
    ENTRIES
    + """
local part = read('LINDEX', KEYS[2], -1)
local before = decoded(part)
local oldest, newest = first('-'), last()
local state = read('HGET', KEYS[3], 'state')
if not oldest then return {part, 1, state, false, false, {}} end
local shift = part and (tonumber(before.end_line) or 0) - (tonumber(before.end_place) or 0)
              or line(oldest)
local place, backward = tonumber(ARGV[1]), ARGV[2] == '1'
local by_offset = ARGV[5] == 'offset'
local wanted = by_offset and place or place + shift
local bytes, lines, entries = tonumber(ARGV[3]), tonumber(ARGV[4]), {}

local function number(entry)
  return by_offset and tonumber(value(entry, 'offset')) or line(entry)
end

-- The last entry that begins before what is wanted does, found by halving.
local function found(target)
  local low, high, best = sequence(oldest), sequence(newest), oldest
  while low <= high do
    local middle = math.floor((low + high) / 2)
    local entry = first(string.format('%.0f', middle))
    if entry and number(entry) < target then
      best, low = entry, sequence(entry) + 1
    else
      high = middle - 1
    end
  end
  return best
end

if backward then
  local entry = place < 0 and newest or found(wanted)
  local from = line(entry)
  while entry and bytes > 0 and lines >= 0 do
    table.insert(entries, 1, entry)
    bytes = bytes - #value(entry, 'text')
    lines = lines - (from - line(entry))
    from = line(entry)
    entry = (read('XREVRANGE', log, '(' .. entry[1], '-', 'COUNT', 1) or {})[1]
  end
  return {part, entry and 0 or 1, state, oldest, newest, entries}
end
local entry, from = found(wanted), nil
while entry and bytes > 0 and (not from or line(entry) <= from + lines) do
  entries[#entries + 1] = entry
  if number(entry) >= wanted then from = from or line(entry) end
  if #entries > 1 or from then bytes = bytes - #value(entry, 'text') end
  entry = first('(' .. entry[1])
end
return {part, wanted <= number(oldest) and 1 or 0, state, oldest, newest, entries}
"""
)


class Tail(Struct, frozen=True, kw_only=True):
    """The stream of a log, as far as it was asked for."""

    exists: bool = False
    place: int = 0
    """Of the first line that begins in the stream, or continues there."""
    shift: int = 0
    """By how much the number of a line before is larger than the place."""
    is_after: bool = False
    """Whether what was asked for may begin before the stream."""
    is_first: bool = False
    """Whether `chunks` begin with the first of the stream."""
    is_last: bool = False
    """Whether they end with the last."""
    ended: int = 0
    """Lines of the whole log that have ended."""
    is_open: bool = False
    """Whether there is a last line that has not ended."""
    is_clean: bool = True
    """Whether a line begins with the stream."""
    is_live: bool = False
    """Whether the job may still print something."""
    chunks: list[Chunk] = []


class LogStream:
    def __init__(self, store: Store, job: str) -> None:
        keys = Jobs(store.prefix)
        self._store, self._keys = store, [keys.log(job), keys.log_parts(job), keys.job(job)]

    async def forward(self, place: int, most_bytes: int, most_lines: int) -> Tail:
        return await self._read([place, 0, most_bytes, most_lines, "line"])

    async def from_offset(self, offset: int, most_bytes: int) -> Tail:
        return await self._read([offset, 0, most_bytes, 1 << 40, "offset"])

    async def backward(self, stop: int | None, most_bytes: int, most_lines: int) -> Tail:
        place = -1 if stop is None else stop
        return await self._read([place, 1, most_bytes, most_lines, "line"])

    async def parts(self) -> list[Part]:
        found = await self._store.call("LRANGE", self._keys[1], 0, -1)
        return [part for raw in found if (part := parsed(raw))]

    async def _read(self, args: list[Argument]) -> Tail:
        answer = await _READ(self._store, self._keys, args)
        raw_part, is_after, state, oldest, newest, entries = answer
        part = parsed(raw_part) if raw_part else None
        first, last = chunk_of(oldest), chunk_of(newest)
        before = part.end if part else Position(line=first.line if first else 0)
        shift = before.line - before.place
        chunks = [chunk for entry in entries if (chunk := chunk_of(entry))]
        return Tail(
            exists=first is not None or part is not None,
            place=before.place,
            shift=shift,
            is_after=bool(is_after) and part is not None,
            is_first=bool(chunks) and chunks[0] == first,
            is_last=not last or (bool(chunks) and chunks[-1] == last),
            ended=last.following - shift if last else before.place,
            is_open=not last.text.endswith(b"\n") if last else before.is_open,
            is_clean=not before.is_open or (first is not None and first.offset != before.offset),
            is_live=state is not None and state not in _OVER,
            chunks=chunks,
        )


def parsed(raw: bytes) -> Part | None:
    try:
        return _PARTS.decode(raw)
    except msgspec.MsgspecError:
        return None


def chunk_of(entry: Any) -> Chunk | None:
    """None for what is no chunk of ours."""
    if not entry:
        return None
    found = dict(zip(entry[1][::2], entry[1][1::2], strict=False))
    try:
        at, offset, line = float(found[b"at"]), int(found[b"offset"]), int(found[b"line"])
        chunk = Chunk(at, offset, line, found[b"text"])
    except (KeyError, ValueError):
        return None
    return chunk if math.isfinite(at) and offset >= 0 and line >= 0 else None
