"""One file of a series, while it is written. It has the suffix `.open` until it is complete."""

import os
from collections.abc import Iterable
from pathlib import Path

from watchbell.errors import WatchbellError

OPEN = ".open"


class WarcCut(WatchbellError):
    """A file ends before the position up to which its records were committed."""


class PartFile:
    """Only whole records stay: an append that fails takes back what it wrote."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self._file = -1

    @property
    def open_path(self) -> Path:
        return self.path.with_name(self.path.name + OPEN)

    def create(self) -> None:
        if self.path.exists():
            raise FileExistsError(f"{self.path} is complete already")
        self._file = os.open(self.open_path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)

    def reopen(self, offset: int) -> None:
        """Cuts the file to `offset`, even if it was complete: what follows was not committed."""
        if self.path.exists():
            self.path.rename(self.open_path)
        self._file = os.open(self.open_path, os.O_RDWR)
        found = os.fstat(self._file).st_size
        if found < offset:
            self.close()
            raise WarcCut(f"{self.open_path} has {found} bytes, but {offset} were committed")
        self.cut(offset)

    def append(self, pieces: Iterable[bytes]) -> int:
        """Bytes that were added."""
        begun = self.offset
        try:
            for piece in pieces:
                self._write(piece)
        except BaseException:
            self.cut(begun)
            raise
        return self.offset - begun

    def cut(self, offset: int) -> None:
        os.ftruncate(self._file, offset)
        os.lseek(self._file, offset, os.SEEK_SET)
        self.offset = offset

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._file, length, offset)

    def sync(self) -> None:
        os.fsync(self._file)

    def complete(self) -> None:
        self.sync()
        self.close()
        self.open_path.rename(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _write(self, piece: bytes) -> None:
        left = memoryview(piece)
        while left:
            count = os.write(self._file, left)
            self.offset += count
            left = left[count:]
