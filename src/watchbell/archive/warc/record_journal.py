"""The list of records that a crawl has written, in their order, for its index and its revisits.

It is a file of JSON lines beside the WARC: a large crawl has too many for memory.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from watchbell.archive.warc.part_file import PartFile, WarcCut
from watchbell.archive.warc.records import Written

_USUAL_LINE = 1 << 12
_LONGEST_LINE = 1 << 18
_decoder = msgspec.json.Decoder(Written)
_encoder = msgspec.json.Encoder()


class JournalLine(NamedTuple):
    start: int
    end: int
    record: Written


class RecordJournal:
    def __init__(self, path: Path) -> None:
        self._file = PartFile(path)
        self.path = self._file.open_path

    @property
    def size(self) -> int:
        return self._file.offset

    def create(self) -> None:
        self._file.create()

    def last_line(self) -> JournalLine | None:
        """Of a file that may be cut short or missing."""
        found = deque(lines(self.path) if self.path.exists() else (), maxlen=1)
        return found[0] if found else None

    def reopen(self, part: int, offset: int, committed: int) -> Iterator[JournalLine]:
        """The lines about records before a position. Once all are read, the rest is cut off.
        Raises WarcCut if they end before the place that was committed."""
        end = 0
        for line in lines(self.path):
            if (line.record.part, line.record.offset) >= (part, offset):
                break
            yield line
            end = line.end
        if end < committed:
            raise WarcCut(f"{self.path} ends at {end}, but {committed} bytes were committed")
        self._file.reopen(end)

    def append(self, records: Sequence[Written]) -> list[int]:
        """Where each line begins."""
        encoded = [_encoder.encode(record) + b"\n" for record in records]
        starts = []
        start = self._file.offset
        for line in encoded:
            starts.append(start)
            start += len(line)
        self._file.append([b"".join(encoded)])
        return starts

    def read(self, start: int) -> Written:
        line = self._file.read(start, _USUAL_LINE)
        if b"\n" not in line:
            line = self._file.read(start, _LONGEST_LINE)
        return _decoder.decode(line[: line.index(b"\n")])

    def sync(self) -> None:
        self._file.sync()

    def close(self) -> None:
        self._file.close()


def lines(path: Path) -> Iterator[JournalLine]:
    """Up to a line that was cut short or is damaged."""
    start = 0
    with path.open("rb") as file:
        for line in file:
            record = _read(line)
            if record is None:
                return
            yield JournalLine(start, start + len(line), record)
            start += len(line)


def _read(line: bytes) -> Written | None:
    if not line.endswith(b"\n"):
        return None
    try:
        return _decoder.decode(line)
    except msgspec.MsgspecError:
        return None
