"""What every place has that files are uploaded to."""

import asyncio
from collections.abc import AsyncIterator, Callable
from enum import Enum
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from watchbell.archive.uploading.digests import Digests
from watchbell.errors import WatchbellError
from watchbell.probes import probe

_PIECE = 1 << 20

Progress = Callable[[int], None]
"""Called with the bytes of a file that were sent so far."""


class Found(Enum):
    """What is at the destination under the name of a file."""

    SAME = "the file, whole"
    MISSING = "nothing"
    OTHER = "a file with other content"


class Outgoing(Struct, frozen=True, kw_only=True):
    """A file that is uploaded, and what is known of its crawl."""

    path: Path
    size: int
    digests: Digests
    url: str
    ident: str
    started_at: float
    total: int
    """Bytes of all files of the crawl."""
    is_last: bool
    """Of the files of its crawl."""

    @property
    def name(self) -> str:
        return self.path.name

    async def pieces(self, progress: Progress) -> AsyncIterator[bytes]:
        sent = 0
        with self.path.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _PIECE):
                yield piece
                probe("upload.piece")
                sent += len(piece)
                progress(sent)


class UploadFailed(WatchbellError):
    """A file could not be uploaded now. After an outage all are tried again soon; otherwise the
    reason concerns this file alone."""

    def __init__(self, reason: str, *, is_outage: bool = True) -> None:
        super().__init__(reason)
        self.is_outage = is_outage


class Target(Protocol):
    shown: str
    """Where it is, for people."""
    patience: float
    """Seconds that a file which was sent may take to appear."""

    async def look(self, file: Outgoing) -> Found:
        """Compares size and digest. Raises UploadFailed."""

    async def send(self, file: Outgoing, progress: Progress) -> None:
        """Raises UploadFailed. Never replaces a file that `look` has found."""

    def place(self, file: Outgoing) -> str:
        """The address of the file, for the history."""

    async def close(self) -> None: ...
