"""The bytes of one response: in memory while they are few, then in a file without a name."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self

IN_MEMORY = 1 << 20
_PIECE = 1 << 16


class Spool:
    """Written once from start to end, then read in any order. The file vanishes with the process,
    however that ends."""

    def __init__(self, folder: Path, in_memory: int = IN_MEMORY) -> None:
        self._folder = folder
        self._in_memory = in_memory
        self._bytes = bytearray()
        self._file: BinaryIO | None = None
        self.size = 0

    @classmethod
    def of(cls, content: bytes, folder: Path, in_memory: int = IN_MEMORY) -> Self:
        spool = cls(folder, in_memory)
        spool.write(content)
        return spool

    @property
    def is_in_memory(self) -> bool:
        return self._file is None

    def write(self, piece: bytes) -> None:
        self.size += len(piece)
        if self._file is None and self.size <= self._in_memory:
            self._bytes += piece
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix="spool-")  # noqa: SIM115
            self._file.write(self._bytes)
            self._bytes.clear()
        self._file.write(piece)

    def read(self, start: int = 0, stop: int | None = None) -> bytes:
        """These bytes at once: the caller knows that they are few, or passes `stop`."""
        stop = self.size if stop is None else min(stop, self.size)
        if self._file is None:
            return bytes(memoryview(self._bytes)[start:stop])
        self._file.seek(start)
        return self._file.read(max(stop - start, 0))

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The same bytes, a piece at a time."""
        stop = self.size if stop is None else min(stop, self.size)
        for offset in range(start, stop, _PIECE):
            yield self.read(offset, min(offset + _PIECE, stop))

    def close(self) -> None:
        """Frees memory and disk. May be repeated."""
        if self._file is not None:
            self._file.close()
        self._bytes.clear()
        self.size = 0
