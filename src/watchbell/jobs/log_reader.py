"""Finds the chunks of a log, wherever they are: in a stream, in parts, in a record or in a file."""

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Sequence

from msgspec import Struct

from watchbell.errors import NotFound
from watchbell.files.objects import Files
from watchbell.jobs import job_records, log_members
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.log_lines import Chunk, lines
from watchbell.jobs.log_members import Member
from watchbell.jobs.log_stream import LogStream, Tail
from watchbell.runs.output_store import OutputLine
from watchbell.store.client import Store

_READ = 2 << 20
"""Bytes of output that are read for one window, about."""


def log_file(job: str) -> str:
    return f"jobs/{job}/log.gz"


def index_file(job: str) -> str:
    return f"jobs/{job}/log.idx"


class Found(Struct, frozen=True, kw_only=True):
    """Consecutive chunks of a log, and how long it is."""

    chunks: list[Chunk]
    place: int
    """Of the line that begins or continues with them."""
    total: int
    is_begin: bool = True
    """Whether a line begins with them."""
    is_end: bool = True
    """Whether they reach to the end of the log."""

    def lines(self) -> tuple[int, list[OutputLine]]:
        """The whole lines in them, and the place of the first. A line that is longer than what was
        read comes alone."""
        found, place = lines(self.chunks, is_begin=self.is_begin), self.place
        is_open = bool(self.chunks) and not self.chunks[-1].text.endswith(b"\n")
        if not self.is_end and len(found) > 1 and is_open:
            found.pop()
        if not self.is_begin and len(found) > 1:
            del found[0]
            place += 1
        return place, found[: max(self.total - place, 0)]


class _Segment(Struct, frozen=True):
    """A member, and the file that it is in."""

    file: str
    member: Member


class _Log(Struct, frozen=True):
    """A log at rest: as segments, or short enough to be read whole."""

    segments: list[_Segment] = []
    whole: tuple[Chunk, ...] = ()
    total: int = 0


class LogReader:
    def __init__(self, store: Store, files: Files, job: str) -> None:
        self._store, self._files, self._job = store, files, job
        self._stream = LogStream(store, job)
        self._at_rest: _Log | None = None

    def forget(self) -> None:
        self._at_rest = None

    async def forward(self, place: int, most: int) -> Found:
        """Chunks from the beginning of the line at a place."""
        tail = await self._tail(lambda: self._stream.forward(place, _READ, most))
        if not tail.exists:
            return await self._resting_forward(await self._log(), place, most)
        total = _total(tail)
        if tail.is_after and (place < tail.place or (place == tail.place and not tail.is_clean)):
            log = _Log(await self._parts(), total=total)
            found = await self._resting_forward(log, place, most)
            if not found.is_end:
                return found
            chunks = _joined(found.chunks, tail.chunks)
            return Found(
                chunks=chunks,
                place=found.place,
                total=total,
                is_begin=found.is_begin,
                is_end=tail.is_last,
            )
        first = tail.chunks[0].line - tail.shift if tail.chunks else tail.place
        is_begin = tail.is_first and tail.is_clean
        return Found(
            chunks=tail.chunks, place=first, total=total, is_begin=is_begin, is_end=tail.is_last
        )

    async def backward(self, stop: int | None, most: int) -> Found:
        """Chunks up to the end of the line before a place, or of the log."""
        tail = await self._tail(lambda: self._stream.backward(stop, _READ, most))
        if not tail.exists:
            return await self._resting_backward(await self._log(), stop, most)
        total = _total(tail)
        chunks = tail.chunks if stop is None or stop > tail.place else []
        read = sum(len(chunk.text) for chunk in chunks)
        if tail.is_after and _newlines(chunks) <= most and read < _READ:
            log = _Log(await self._parts(), total=total)
            found = await self._resting_backward(log, stop, most)
            return Found(
                chunks=_joined(found.chunks, chunks),
                place=found.place,
                total=total,
                is_begin=found.is_begin,
            )
        first = chunks[0].line - tail.shift if chunks else tail.place
        is_begin = tail.is_first and tail.is_clean
        return Found(chunks=chunks, place=first, total=total, is_begin=is_begin)

    async def from_offset(self, offset: int) -> list[Chunk]:
        """Some chunks from an offset on; none at the end."""
        tail = await self._tail(lambda: self._stream.from_offset(offset, _READ))
        log = _Log() if tail.exists else await self._log()
        if tail.is_after:
            log = _Log(await self._parts())
        for segment in log.segments:
            if segment.member.offset + segment.member.size > offset:
                return _from(await self._read(segment), offset)
        return _from([*log.whole, *tail.chunks], offset)

    async def place_after(self, number: int) -> int:
        """The place of the first line whose number is larger."""
        tail = await self._stream.forward(0, 0, 0)
        if tail.exists and (not tail.shift or number >= tail.place + tail.shift):
            return max(number - tail.shift, 0)
        if tail.exists and not tail.is_after:
            return 0
        log = _Log(await self._parts()) if tail.exists else await self._log()
        place = 0 if log.segments else number
        for one in (segment.member for segment in log.segments):
            if one.line > number:
                return min(place, one.place)
            place = one.place + number - one.line
        return place

    async def _tail(self, read: Callable[[], Awaitable[Tail]]) -> Tail:
        return Tail() if self._at_rest else await read()

    async def _log(self) -> _Log:
        """The log of a job that is over, or an empty one."""
        if self._at_rest is None:
            found = (await job_records.find(self._store, [self._job]))[0]
            if found is None:
                raise NotFound(f"there is no job {self._job!r}")
            if found.is_live:
                return _Log()
            self._at_rest = await self._archived(found)
        return self._at_rest

    async def _archived(self, found: JobRecord) -> _Log:
        if found.log or not found.job.log_file_size:
            return _Log(whole=found.log, total=len(lines(found.log, is_begin=True)))
        try:
            index = log_members.index(await self._files.get(index_file(self._job)))
        except NotFound as error:
            raise NotFound(f"the log of job {self._job!r} is not there any more") from error
        file, end = log_file(self._job), index.end
        return _Log([_Segment(file, one) for one in index.members], total=end.place + end.is_open)

    async def _parts(self) -> list[_Segment]:
        """Those of a log that has some. NotFound where it was archived meanwhile."""
        parts = await self._stream.parts()
        if not parts:
            raise NotFound(f"the log of job {self._job!r} was moved")
        return [_Segment(part.name, member) for part in parts for member in part.members]

    async def _read(self, segment: _Segment) -> list[Chunk]:
        member = segment.member
        raw = await self._files.read(segment.file, member.start, member.length)
        return log_members.read(raw, member)

    async def _resting_forward(self, log: _Log, place: int, most: int) -> Found:
        if not log.segments:
            return Found(chunks=list(log.whole), place=0, total=log.total)
        members = [segment.member for segment in log.segments]
        first = 0
        for i, one in enumerate(members):
            if _covers(one, place):
                first = i
        chunks, i, read = list[Chunk](), first, 0
        while i < len(members) and read < _READ and members[i].place <= place + most:
            chunks += await self._read(log.segments[i])
            read += members[i].size if members[i].place >= place else 0
            i += 1
        return Found(
            chunks=chunks,
            place=members[first].place,
            total=log.total,
            is_begin=members[first].is_begin,
            is_end=i == len(members),
        )

    async def _resting_backward(self, log: _Log, stop: int | None, most: int) -> Found:
        if not log.segments:
            return Found(chunks=list(log.whole), place=0, total=log.total)
        members = [segment.member for segment in log.segments]
        until = log.total if stop is None else max(min(stop, log.total), 1)
        last = len(members)
        if stop is not None:
            last = max(bisect_left(members, until, key=lambda one: one.place), 1)
        i, chunks, read = last - 1, await self._read(log.segments[last - 1]), 0
        while i > 0 and read < _READ and not _covers(members[i], until - most):
            i -= 1
            read += members[i].size
            chunks = [*await self._read(log.segments[i]), *chunks]
        return Found(
            chunks=chunks,
            place=members[i].place,
            total=log.total,
            is_begin=members[i].is_begin,
            is_end=last == len(members),
        )


def _covers(member: Member, place: int) -> bool:
    """Whether the line at a place begins in this member, or after it."""
    return member.place < place or (member.place == place and member.is_begin)


def _total(tail: Tail) -> int:
    """A line that has not ended counts once nothing more can come."""
    return tail.ended + (tail.is_open and not tail.is_live)


def _joined(before: Sequence[Chunk], after: Sequence[Chunk]) -> list[Chunk]:
    """Chunks of parts and of the stream, some of which were moved to a part in between."""
    end = before[-1].end if before else 0
    return [*before, *(chunk for chunk in after if chunk.offset >= end)]


def _newlines(chunks: Iterable[Chunk]) -> int:
    return sum(chunk.text.count(b"\n") for chunk in chunks)


def _from(chunks: Sequence[Chunk], offset: int) -> list[Chunk]:
    """What the chunks have from an offset on."""
    found = []
    for chunk in chunks:
        if chunk.offset >= offset:
            found.append(chunk)
        elif chunk.end > offset:
            text = chunk.text[offset - chunk.offset :]
            found.append(Chunk(chunk.at, offset, chunk.line, text))
    return found
