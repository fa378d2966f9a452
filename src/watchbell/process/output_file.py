"""The complete part of an output in a file, so that another process can continue with it."""

import os
from pathlib import Path


class OutputFile:
    def __init__(self, path: Path, most: int) -> None:
        """Continues with an existing file."""
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._size = os.fstat(self._file).st_size
        self._room = most - self._size

    def content(self) -> bytes:
        return os.pread(self._file, self._size, 0)

    def read(self, pipe: int, most: int) -> bytes:
        """Moves output from the pipe into the file within the kernel, so that a SIGKILL never loses
        what is only in our memory."""
        if self._room <= 0:
            return os.read(pipe, most)
        try:
            moved = os.splice(pipe, self._file, min(most, self._room), offset_dst=self._size)
        except BlockingIOError:
            raise
        except OSError:  # the disk is full: an output that is whole only here is better than none
            self._room = 0
            return os.read(pipe, most)
        chunk = os.pread(self._file, moved, self._size)
        self._size += moved
        self._room -= moved
        return chunk

    def close(self) -> None:
        os.close(self._file)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
