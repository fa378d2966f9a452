"""The reports about one job, on disk until they are acknowledged.

Reports are written in batches. A batch counts as a whole: with its reports it has the state of the
job after them, so that an agent that was killed continues exactly there. Batches are appended to
segments; a segment whose reports are all acknowledged is deleted. In memory there are only numbers.
"""

import os
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from watchbell.fleet.messages import Body, Report

_SEGMENT = 4 << 20
"""Bytes after which a new segment is begun."""
_HEADER = struct.Struct("<IIII")
"""Bytes of the batch after the header, number of its first report, how many, bytes of the state."""
_SIZE = struct.Struct("<I")
_AT_ONCE = 512 << 10
_NAME = "reports."
FIRST = f"{_NAME}{1:012}"
"""The file of the first segment, which stays as long as the journal."""

_encode = msgspec.msgpack.Encoder().encode


class JobState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far the reports of a job have come, and what of it matters later."""

    position: int = 0
    """Bytes of what the job printed that were handled."""
    offset: int = 0
    lines: int = 0
    """Of the log: what the next report of output begins with."""
    cut: int = 0
    """Bytes of the log that were left out."""
    is_within_line: bool = False
    is_starting: bool = False
    """Whether its process may have been started."""
    started: float = 0
    """When it was; 0 before."""
    pid: int = 0
    is_over: bool = False
    """Whether the result was reported."""
    code: int | float | str | None = None
    """As the job reported it."""
    description: str = ""
    files: tuple[object, ...] = ()
    limits: tuple[dict[str, object], ...] = ()
    """Limits that the job has pushed."""
    reached: tuple[int, ...] = ()
    """Limits that were reported as reached."""
    said: int = 0
    """Bytes of its messages."""
    warnings: int = 0


class Unsent(NamedTuple):
    number: int
    report: msgspec.Raw
    size: int


class _Segment:
    def __init__(self, path: Path, first: int) -> None:
        self.path, self.first = path, first
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.size = 0
        self.start = 0
        """Where its first batch begins."""
        self.last = first - 1
        """The number of its last report."""

    def close(self) -> None:
        os.close(self.file)


class Journal:
    def __init__(self, folder: Path) -> None:
        """Continues with what is in the folder. The last batch is dropped if it is not whole: it
        was never sent."""
        self._folder = folder
        self.state = JobState()
        self.last = 0
        """The number of the last report."""
        self.acknowledged = 0
        self.sent = 0
        """The number of the last report that was given to be sent."""
        self._segments: deque[_Segment] = deque()
        self._read_from: tuple[_Segment, int] | None = None

    @classmethod
    def begun(cls, folder: Path, head: bytes) -> "Journal":
        """A new one. `head` stays at its beginning. Raises OSError."""
        journal = cls(folder)
        segment = _Segment(folder / FIRST, 1)
        journal._segments.append(segment)
        _write(segment, _SIZE.pack(len(head)) + head)
        segment.start = segment.size
        return journal

    @classmethod
    def recovered(cls, folder: Path) -> "Journal":
        journal = cls(folder)
        journal._recover()
        return journal

    def append(self, bodies: Sequence[Body], job: str, state: JobState) -> None:
        """Raises OSError if they can't be written; then nothing was."""
        first = self.last + 1
        reports = [_encode(Report(job, first + i, body)) for i, body in enumerate(bodies)]
        blob = _encode(state)
        parts = [blob]
        for report in reports:
            parts += (_SIZE.pack(len(report)), report)
        size = len(blob) + sum(map(len, reports)) + _SIZE.size * len(reports)
        segment = self._segment(first)
        header = _HEADER.pack(size, first, len(reports), len(blob))
        _write(segment, b"".join([header, *parts]))
        segment.last = self.last = first + len(reports) - 1
        self.state = state

    def acknowledge(self, number: int) -> None:
        self.acknowledged = max(self.acknowledged, number)
        self.last = max(self.last, number)  # a power failure may have taken what was sent
        if self.sent < self.acknowledged:
            self.sent, self._read_from = self.acknowledged, None
        while len(self._segments) > 1 and self._segments[0].last <= self.acknowledged:
            done = self._segments.popleft()
            if self._read_from and self._read_from[0] is done:
                self._read_from = None
            done.close()
            if not done.start:  # what is at the beginning stays
                done.path.unlink(missing_ok=True)

    def rewind(self) -> None:
        """What is not acknowledged has to be sent again."""
        self.sent, self._read_from = self.acknowledged, None

    @property
    def has_unsent(self) -> bool:
        return self.sent < self.last

    def unsent(self, most: int) -> list[Unsent]:
        """The next reports to be sent, of about `most` bytes, at least one; they count as sent."""
        found: list[Unsent] = []
        size = 0
        for number, report, segment, end in self._after_sent():
            if number > self.sent:
                found.append(Unsent(number, msgspec.Raw(report), len(report)))
                size += len(report)
                self.sent = number
            if end:
                self._read_from = segment, end
                if size >= most:
                    break
        return found

    def close(self) -> None:
        for segment in self._segments:
            segment.close()
        self._segments.clear()

    def _segment(self, first: int) -> _Segment:
        if not self._segments or self._segments[-1].size >= _SEGMENT:
            path = self._folder / f"{_NAME}{first:012}"
            self._segments.append(_Segment(path, first))
        return self._segments[-1]

    def _after_sent(self) -> Iterator[tuple[int, bytes, _Segment, int]]:
        """Reports from the batch with the first unsent one on; with the last report of a batch
        comes where the batch ends."""
        start = self._read_from
        for segment in list(self._segments):
            if segment.last <= self.sent:
                continue
            position = start[1] if start and start[0] is segment else segment.start
            for first, _, reports, end in _batches(segment, position):
                for at, report in enumerate(reports):
                    yield first + at, report, segment, end if at + 1 == len(reports) else 0

    def _recover(self) -> None:
        for path in sorted(self._folder.glob(f"{_NAME}*")):
            segment = _Segment(path, int(path.name.removeprefix(_NAME)))
            segment.size = os.fstat(segment.file).st_size
            if path.name == FIRST:
                segment.start = len(head_of(self._folder) or b"") + _SIZE.size
            end, state = segment.start, b""
            for first, blob, reports, batch_end in _batches(segment, segment.start):
                segment.last, state, end = first + len(reports) - 1, blob, batch_end
            if not state and not segment.start:
                segment.close()
                path.unlink()
                continue
            os.ftruncate(segment.file, end)
            segment.size = end
            self._segments.append(segment)
            self.last = max(self.last, segment.last)
            if state:
                self.state = msgspec.msgpack.decode(state, type=JobState)
        self.sent = self.acknowledged = self._first_stored() - 1

    def _first_stored(self) -> int:
        """The number of the first report of those that are stored without a gap to the last."""
        first = self.last + 1
        for segment in reversed(self._segments):
            if segment.last + 1 < first:
                break
            first = segment.first
        return first


def head_of(folder: Path) -> bytes | None:
    """What a journal has at its beginning; None if it was not written to its end."""
    try:
        with (folder / FIRST).open("rb") as file:
            (size,) = _SIZE.unpack(file.read(_SIZE.size))
            head = file.read(size)
    except (OSError, struct.error):
        return None
    return head if len(head) == size else None


def _write(segment: _Segment, content: bytes) -> None:
    written = 0
    try:
        while written < len(content):
            at = segment.size + written
            written += os.pwrite(segment.file, memoryview(content)[written:], at)
    except OSError:
        os.ftruncate(segment.file, segment.size)
        raise
    segment.size += len(content)


def _batches(segment: _Segment, position: int) -> Iterator[tuple[int, bytes, list[bytes], int]]:
    """First number, state, reports and end of each batch that is whole."""
    content, base = b"", position
    while True:
        start = position - base
        header = content[start : start + _HEADER.size]
        size = _HEADER.unpack(header)[0] if len(header) == _HEADER.size else 0
        if len(header) < _HEADER.size or start + _HEADER.size + size > len(content):
            most = max(_AT_ONCE, _HEADER.size + size)
            fresh = os.pread(segment.file, min(most, segment.size - position), position)
            if len(fresh) <= len(content) - start:
                return
            content, base = fresh, position
            continue
        _, first, count, state_size = _HEADER.unpack(header)
        at = start + _HEADER.size
        end = at + size
        if not size:
            return
        state = content[at : at + state_size]
        at += state_size
        reports = []
        for _ in range(count):
            (length,) = _SIZE.unpack_from(content, at)
            at += _SIZE.size
            reports.append(content[at : at + length])
            at += length
        position = base + end
        yield first, state, reports, position
