"""Folders of jobs, made ahead, and deleted later: a disk may take milliseconds for either, so the
event loop only renames them, and a thread does the rest."""

import asyncio
import os
import shutil
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

_MOST_SPARE = 100
_PAUSE = 0.1
"""Seconds for which work for the thread gathers; a job that starts now comes first."""


class FolderPool:
    def __init__(self, spare: Path, trash: Path, make: Callable[[Path], None]) -> None:
        """`spare` and `trash` are folders of the same file system as the jobs. `make` makes an
        empty folder of a job."""
        self._spare, self._trash, self._make = spare, trash, make
        self._names = count(1)
        self._made: deque[Path] = deque()
        self._discarded: list[Path] = []
        self._wanted = 0
        self._has_work = asyncio.Event()
        for folder in (spare, trash):
            folder.mkdir(0o700, exist_ok=True)
            for path in folder.iterdir():  # left by an agent before this one
                self.discard(path)

    def take(self, path: Path) -> None:
        """An empty folder of a job, with this path. Raises OSError; then there is none."""
        self._has_work.set()
        while self._made:
            with suppress(FileNotFoundError):  # somebody has deleted it
                os.rename(self._made.popleft(), path)  # noqa: PTH104 quicker
                return
        self._wanted = min(self._wanted + 1, _MOST_SPARE)
        self._make(path)

    def discard(self, path: Path) -> None:
        """The folder is gone at once; what it contains is deleted later."""
        away = self._trash / f"{os.getpid()}-{next(self._names)}"
        with suppress(OSError):
            os.rename(path, away)  # noqa: PTH104
            path = away
        self._discarded.append(path)
        self._has_work.set()

    async def run(self) -> None:
        while True:
            await self._has_work.wait()
            await asyncio.sleep(_PAUSE)
            self._has_work.clear()
            discarded, self._discarded = self._discarded, []
            await asyncio.to_thread(self._tidy, discarded)

    def _tidy(self, discarded: list[Path]) -> None:
        with suppress(OSError):  # a full disk: the next job says so
            while len(self._made) < self._wanted:
                path = self._spare / f"{os.getpid()}-{next(self._names)}"
                self._make(path)
                self._made.append(path)
        for path in discarded:
            shutil.rmtree(path, ignore_errors=True)
