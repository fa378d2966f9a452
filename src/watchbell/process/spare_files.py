"""Files that were used and are used again: renaming a file costs a fraction of making a new one
and deleting it, on some file systems a hundredth."""

import os
from contextlib import suppress
from itertools import count
from pathlib import Path

_MOST = 64
_MOST_BYTES = 256 << 10
"""Size above which a file is deleted: to empty it takes as long."""


class SpareFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = count(1)
        self._spare: list[Path] = []

    def take(self, path: Path) -> None:
        """Puts an empty file there, if there is a spare one."""
        if self._spare:
            with suppress(OSError):
                os.rename(self._spare.pop(), path)  # noqa: PTH104 quicker

    def give(self, path: Path, file: int, size: int) -> None:
        """Keeps a file that nobody will look for, or deletes it. `file` is its descriptor, which
        has to be open still: once it is closed, ext4 begins to write a file that was emptied
        before, and emptying it again has to wait for the disk."""
        if len(self._spare) < _MOST and size <= _MOST_BYTES:
            spare = self._folder / f"spare-{next(self._names)}"
            with suppress(OSError):
                os.ftruncate(file, 0)
                os.rename(path, spare)  # noqa: PTH104
                self._spare.append(spare)
                return
        path.unlink(missing_ok=True)
