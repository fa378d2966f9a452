"""Finished files, wherever they are: in the folder of this machine, or in `files`."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from msgspec import Struct

from watchbell.archive import history
from watchbell.archive.model import FinishedFile
from watchbell.errors import NotFound
from watchbell.files.objects import Files
from watchbell.settings import Settings
from watchbell.store.client import Store

_CHUNK = 256 << 10
_MOST_CRAWLS = 20
"""Crawls of one URL whose files are listed, the newest."""


class FileOfCrawl(Struct, frozen=True):
    crawl: str
    """The id in the history: `IDENT:TIMESTAMP`."""
    file: FinishedFile


async def of_crawl(store: Store, ident: str) -> list[FileOfCrawl]:
    """The files of all crawls of a URL, those of the newest first."""
    past = await history.page(store, ident=ident, limit=_MOST_CRAWLS)
    return [FileOfCrawl(one.id, file) for one in past for file in one.files]


def finished_folder(settings: Settings) -> Path:
    given = settings.archive.finished
    return Path(given) if given else settings.data / "archive" / "finished"


class StoredFile:
    """A file that is on this machine, or was copied to `files`."""

    def __init__(self, size: int, path: Path | None, files: Files, name: str) -> None:
        self.size, self.path = size, path
        self._files, self._name = files, name

    async def read(self, start: int, end: int) -> bytes:
        if self.path is None:
            return await self._files.read(self._name, start, end - start)
        return await asyncio.to_thread(_read, self.path, start, end)

    async def chunks(self, start: int, end: int) -> AsyncIterator[bytes]:
        for first in range(start, end, _CHUNK):
            chunk = await self.read(first, min(first + _CHUNK, end))
            if not chunk:
                return
            yield chunk


async def find(settings: Settings, files: Files, name: str) -> StoredFile:
    """Raises NotFound where the file is on another machine, or was moved away."""
    path = finished_folder(settings) / name
    if not is_plain(name):
        raise NotFound(f"there is no file {name!r}")
    if path.is_file():
        return StoredFile(path.stat().st_size, path, files, name)
    uploaded = f"archive/{name}"
    if settings.archive.upload and (found := await files.find(uploaded)):
        return StoredFile(found.size, None, files, uploaded)
    reason = f"{name} is not on this machine; it is where the pipeline ran, or was moved away"
    raise NotFound(reason)


def is_plain(name: str) -> bool:
    return bool(name) and not name.startswith(".") and not set(name) & set("/\\\0")


def _read(path: Path, start: int, end: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)
    except FileNotFoundError:
        return b""
