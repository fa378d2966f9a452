"""Moves logs from the store to files: the older half of a long one while its job is in progress,
and the whole of it once the job has finished.

Files are written first, under names that nobody reads yet; then one script makes them count. So a
process may be killed at any moment, and two may do the same at the same time.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from watchbell import logs
from watchbell.files.objects import Files
from watchbell.jobs import log_members
from watchbell.jobs.keys import Jobs
from watchbell.jobs.log_lines import Chunk
from watchbell.jobs.log_members import Index, Member, Part, Position
from watchbell.jobs.log_reader import index_file, log_file
from watchbell.jobs.log_stream import ENTRIES, chunk_of, parsed
from watchbell.probes import probe
from watchbell.store.client import Store
from watchbell.store.script import Script

LONG = 4 << 20
"""Bytes of a log in the store above which its older half is moved."""
MANY = 4_000
"""Likewise, chunks."""
_PART = 2 << 20
_SLICE = 1_000

# KEYS[1] live; ARGV[1] rank of the first job to look at, ARGV[2] how many; ARGV[3] what the keys of
# logs begin with; ARGV[4] bytes and ARGV[5] chunks that are long. Returns how many jobs it has
# looked at, and those with a long log.
_SURVEY = Script("""
local function offset(entries)
  for i = 1, #entries[1][2], 2 do
    if entries[1][2][i] == 'offset' then return tonumber(entries[1][2][i + 1]) or 0 end
  end
  return 0
end
local found = {}
local ids = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1)
for _, id in ipairs(ids) do
  local key = ARGV[3] .. id
  local length = redis.pcall('XLEN', key)
  if type(length) == 'number' and length > 1 then
    local first = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)
    local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)
    if length > tonumber(ARGV[5]) or offset(last) - offset(first) > tonumber(ARGV[4]) then
      found[#found + 1] = id
    end
  end
end
return {#ids, found}
""")

# KEYS log, parts; ARGV[1] bytes and ARGV[2] chunks. Returns the last part, how many chunks and
# bytes there are, and the first chunks, as many as asked for and at least one.
_FIRST = Script(
    ENTRIES
    + """
local function offset(entry) return entry and tonumber(value(entry, 'offset')) or 0 end
local entries, bytes, entry = {}, tonumber(ARGV[1]), first('-')
local size = offset(last()) - offset(entry)
while entry and bytes > 0 and #entries < tonumber(ARGV[2]) do
  entries[#entries + 1] = entry
  bytes = bytes - #value(entry, 'text')
  entry = first('(' .. entry[1])
end
return {read('LINDEX', KEYS[2], -1), read('XLEN', log) or 0, size, entries}
"""
)

# KEYS log, parts; ARGV[1] id of the first and ARGV[2] of the last chunk that was moved; ARGV[3] the
# part that has them now, or empty where there is nothing to keep of them; ARGV[4] its name. Returns
# whether its file counts; it does not where somebody else has moved some of them.
_MOVE = Script(
    ENTRIES
    + """
local entry = first('-')
if not entry or entry[1] ~= ARGV[1] then
  for _, part in ipairs(read('LRANGE', KEYS[2], 0, -1) or {}) do
    if decoded(part).name == ARGV[4] then return 1 end
  end
  return 0
end
if ARGV[3] ~= '' then redis.call('RPUSH', KEYS[2], ARGV[3]) end
redis.call('XTRIM', log, 'MINID', string.format('%.0f-0', sequence({ARGV[2]}) + 1))
return 1
"""
)

# KEYS log, parts. Returns all parts, and all chunks.
_ALL = Script(
    ENTRIES
    + """
return {read('LRANGE', KEYS[2], 0, -1) or {}, read('XRANGE', log, '-', '+') or {}}
"""
)


class LogArchive:
    def __init__(self, store: Store, files: Files) -> None:
        self._store, self._files = store, files
        self._log = logs.get(role="conductor")

    async def long_logs(self) -> list[str]:
        """The jobs in progress whose logs are long."""
        keys, found, rank = Jobs(self._store.prefix), list[str](), 0
        while True:
            args = [rank, _SLICE, keys.log.literals[0], LONG, MANY]
            looked, some = await _SURVEY(self._store, [keys.live()], args)
            found += [one.decode(errors="replace") for one in some]
            rank += looked
            if looked < _SLICE:
                return found

    async def shorten(self, job: str) -> None:
        """Moves the beginning of a log to files until what is left in the store is short. Who
        writes a log may wait for it."""
        while await self._move_first(job):
            pass

    async def _move_first(self, job: str) -> bool:
        """Moves some chunks. Returns whether there may be more to move."""
        raw, length, size, entries = await _FIRST(
            self._store, self._keys(job), [min(_PART, LONG // 2), MANY // 2]
        )
        if size <= LONG and length <= MANY:
            return False
        chunks = [chunk for entry in entries if (chunk := chunk_of(entry))]
        first, last = entries[0][0], entries[-1][0]
        name = f"{parts_folder(job)}/{first.decode()}_{last.decode()}.gz"
        part = await self._written_part(name, chunks, parsed(raw) if raw else None)
        packed = msgspec.json.encode(part) if part else b""
        if not await _MOVE(self._store, self._keys(job), [first, last, packed, name]):
            await self._files.delete([name])
        probe("jobs.log_part_moved")
        return True

    async def _written_part(
        self, name: str, chunks: Sequence[Chunk], before: Part | None
    ) -> Part | None:
        if not chunks:
            return None
        begin = before.end if before else Position(line=chunks[0].line)
        members, data, end = await asyncio.to_thread(log_members.written, chunks, begin)
        await self._files.put(name, data)
        probe("jobs.log_part_written")
        return Part(
            name=name,
            offset=chunks[0].offset,
            line=chunks[0].line,
            size=sum(member.size for member in members),
            members=tuple(members),
            end_place=end.place,
            end_line=end.line,
            end_offset=end.offset,
            is_open=end.is_open,
        )

    async def archive(self, job: str) -> bool:
        """Writes the log of a finished job into one file. Returns whether there was anything to
        write; the log in the store is left to the caller."""
        await self.shorten(job)
        raw_parts, entries = await _ALL(self._store, self._keys(job))
        parts = [part for raw in raw_parts if (part := parsed(raw))]
        chunks = [chunk for entry in entries if (chunk := chunk_of(entry))]
        parts = [part for part in parts if await self._is_there(job, part)]
        if not parts and not chunks:
            return False
        begin = parts[-1].end if parts else Position(line=chunks[0].line)
        rest, data, end = await asyncio.to_thread(log_members.written, chunks, begin)
        members = list(_shifted([*(part.members for part in parts), rest]))
        await self._files.put(log_file(job), self._content(parts, data))
        probe("jobs.log_file_written")
        await self._files.put(index_file(job), Index(tuple(members), end).packed())
        probe("jobs.log_archived")
        return True

    async def _is_there(self, job: str, part: Part) -> bool:
        if await self._files.find(part.name) is not None:
            return True
        self._log.error("a part of a log is missing", job=job, file=part.name)
        return False

    async def _content(self, parts: Sequence[Part], rest: bytes) -> AsyncIterator[bytes]:
        for part in parts:
            async for piece in self._files.stream(part.name):
                yield piece
        yield rest

    async def remove_parts(self, job: str) -> None:
        names = [one.name async for one in self._files.list(parts_folder(job))]
        await self._files.delete(names)

    def _keys(self, job: str) -> list[str]:
        keys = Jobs(self._store.prefix)
        return [keys.log(job), keys.log_parts(job)]


def parts_folder(job: str) -> str:
    return f"jobs/{job}/parts"


def _shifted(groups: Sequence[Sequence[Member]]) -> Iterator[Member]:
    """The members of several files as members of one."""
    start = 0
    for member in (member for group in groups for member in group):
        yield replace(member, start=start)
        start += member.length
