"""Reads WARC files, packed or plain, one record after the other, in bounded memory."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, Self

from isal import isal_zlib
from msgspec import Struct

from watchbell.archive.warc.records import END
from watchbell.errors import WatchbellError

_INPUT = 1 << 16
_OUTPUT = 1 << 18
_LONGEST_HEAD = 1 << 20
_GZIP = 31
_MAGIC = b"\x1f\x8b"
_LENGTH = re.compile(r"[0-9]{1,18}")


class WarcDamaged(WatchbellError):
    """From this offset on, the file can't be read."""

    def __init__(self, path: Path, offset: int, reason: str) -> None:
        super().__init__(f"{path}, at {offset}: {reason}")
        self.path, self.offset, self.reason = path, offset, reason


class WarcRecord(Struct, frozen=True):
    """The head of a record."""

    offset: int
    """Of its gzip member, or of itself in a plain file."""
    version: str
    fields: dict[str, str]
    """By name in lower case. A field that is repeated has its values in lines."""

    @property
    def type(self) -> str:
        return self.fields.get("warc-type", "")

    @property
    def id(self) -> str:
        """With its brackets."""
        return self.fields.get("warc-record-id", "")

    @property
    def url(self) -> str:
        """Without the brackets that some programs put around it."""
        return self.fields.get("warc-target-uri", "").strip("<>")

    @property
    def is_http(self) -> bool:
        return self.fields.get("content-type", "").lower().startswith("application/http")


class _Source(Protocol):
    start: int
    """Of the current member."""
    position: int
    """Bytes of the file that were used."""

    def begin(self) -> bool:
        """Goes to the next member; False at the end of the file."""

    def read(self) -> bytes:
        """Some bytes, or none at the end of the member."""


class _Packed:
    """The members of a gzip file."""

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self._file = file
        self._input = b""
        self._reader = isal_zlib.decompressobj(_GZIP)
        self.start = self.position = offset

    def begin(self) -> bool:
        if not self._input:
            self._input = self._file.read(_INPUT)
        self.start = self.position
        self._reader = isal_zlib.decompressobj(_GZIP)
        return bool(self._input)

    def read(self) -> bytes:
        found = b""
        while not found and not self._reader.eof:
            found = self._unpack()
        return found

    def _unpack(self) -> bytes:
        if not self._input:
            self._input = self._file.read(_INPUT)
        if not self._input:
            raise ValueError("the file ends within a record")
        before, reader = len(self._input), self._reader
        try:
            found = reader.decompress(self._input, _OUTPUT)
        except isal_zlib.error as error:  # type: ignore[misc]  # its stubs say otherwise
            raise ValueError(f"the gzip member is damaged ({error})") from error
        self._input = reader.unused_data if reader.eof else reader.unconsumed_tail
        used = before - len(self._input)
        if not used and not found:
            raise ValueError("the gzip member is damaged")
        self.position += used
        return found


class _Plain:
    """A file without compression: one long member."""

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self._file = file
        self.start = self.position = offset

    def begin(self) -> bool:
        return False

    def read(self) -> bytes:
        found = self._file.read(_INPUT)
        self.position += len(found)
        return found


class WarcReader:
    """`next`, then `pieces` of the block, then `finish`, until there is no next record.

    Iterating does so, and skips what was not read of each block.
    """

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.path = path
        self._file = path.open("rb")
        is_packed = self._file.read(2) == _MAGIC
        self._file.seek(offset)
        self._source: _Source = (_Packed if is_packed else _Plain)(self._file, offset)
        self.is_packed = is_packed
        self._buffer = b""
        self._left = 0
        """Bytes of the block that were not read."""
        self._record = WarcRecord(offset, "", {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[WarcRecord]:
        while record := self.next():
            yield record
            self.finish()

    @property
    def position(self) -> int:
        """Where the next record begins, once this one is finished."""
        return self._source.position - (0 if self.is_packed else len(self._buffer))

    def close(self) -> None:
        self._file.close()

    def next(self) -> WarcRecord | None:
        if not self._buffer:
            if self.is_packed and not self._source.begin():
                return None
            self._record = WarcRecord(self._source.position, "", {})
            if not self._more():
                if self.is_packed:
                    raise self._damaged("the gzip member is empty")
                return None
        offset = self._source.start if self.is_packed else self.position
        self._record = WarcRecord(offset, "", {})
        head = self._head()
        version, *lines = head.decode("utf-8", "replace").split("\r\n")
        if not version.startswith("WARC/"):
            raise self._damaged(f"a record begins with {version[:40]!r}, not with WARC/1.1")
        self._record = WarcRecord(offset, version, _fields(lines))
        length = self._record.fields.get("content-length", "")
        if not _LENGTH.fullmatch(length):
            raise self._damaged(f"Content-Length is {length!r}" if length else "no Content-Length")
        self._left = int(length)
        return self._record

    def pieces(self) -> Iterator[bytes]:
        while self._left:
            if not self._buffer and not self._more():
                raise self._damaged(f"the block ends {self._left} bytes before its Content-Length")
            piece = self._buffer[: self._left]
            self._buffer = self._buffer[len(piece) :]
            self._left -= len(piece)
            yield piece

    def block(self) -> bytes:
        """All of it: for blocks that are known to be small."""
        return b"".join(self.pieces())

    def finish(self) -> list[str]:
        """Reads to the end of the record; what is wrong with that end."""
        for _ in self.pieces():
            pass
        while len(self._buffer) < len(END) and self._more():
            pass
        faults = []
        if self._buffer.startswith(END):
            self._buffer = self._buffer[len(END) :]
        else:
            faults.append("the record does not end with CRLF CRLF")
            while self._buffer[:1] in (b"\r", b"\n") and self._buffer:
                self._buffer = self._buffer[1:]
        if self.is_packed and (self._buffer or self._more()):
            faults.append("its gzip member does not end with it")
        return faults

    def skip(self) -> None:
        """Leaves a record that can't be understood, at the end of its gzip member."""
        self._buffer, self._left = b"", 0
        while self._more():
            self._buffer = b""

    def _head(self) -> bytes:
        while (end := self._buffer.find(END)) < 0:
            if len(self._buffer) > _LONGEST_HEAD:
                raise self._damaged(f"the head of a record is longer than {_LONGEST_HEAD} bytes")
            if not self._more():
                raise self._damaged("the head of a record has no end")
        head, self._buffer = self._buffer[:end], self._buffer[end + len(END) :]
        return head

    def _more(self) -> bool:
        """Reads on within the member; False at its end."""
        try:
            found = self._source.read()
        except ValueError as error:
            raise self._damaged(str(error)) from error
        self._buffer += found
        return bool(found)

    def _damaged(self, reason: str) -> WarcDamaged:
        return WarcDamaged(self.path, self._record.offset, reason)


def _fields(lines: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in lines:
        if line[:1] in (" ", "\t") and name:
            fields[name] += " " + line.strip()
            continue
        name, colon, value = line.partition(":")
        if not colon:
            continue
        name, value = name.strip().lower(), value.strip()
        fields[name] = f"{fields[name]}\n{value}" if name in fields else value
    return fields


def complete_until(path: Path) -> int:
    """Where the last record that is complete ends: what follows can be cut off. A request is
    complete with the record of its answer, which follows it."""
    end = 0
    with WarcReader(path) as reader:
        try:
            while record := reader.next():
                reader.finish()
                if record.type != "request":
                    end = reader.position
        except WarcDamaged:
            pass
    return end
