"""Finished files, wherever they are: in the folder of this machine, or where they were uploaded."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from msgspec import Struct

from watchbell.archive import history
from watchbell.archive.model import FinishedFile
from watchbell.archive.uploading.destination import FOLDER, IN_FILES, Destination, destination
from watchbell.archive.uploading.object_target import bucket
from watchbell.errors import BadSettings, NotFound
from watchbell.files.objects import Files
from watchbell.settings import Settings
from watchbell.store.client import Store

_CHUNK = 256 << 10
_REMOTE_CHUNK = 4 << 20
"""Larger: each is a request."""
_MOST_CRAWLS = 20
"""Crawls of one URL whose files are listed, the newest."""


class FileOfCrawl(Struct, frozen=True):
    crawl: str
    """The id in the history: `IDENT:TIMESTAMP`."""
    ended_at: float | None
    file: FinishedFile


async def of_crawl(store: Store, ident: str) -> list[FileOfCrawl]:
    """The files of all crawls of a URL, those of the newest first."""
    past = await history.of_ident(store, ident, _MOST_CRAWLS)
    return [FileOfCrawl(one.id, one.crawl.finished_at, file) for one in past for file in one.files]


def finished_folder(settings: Settings) -> Path:
    given = settings.archive.finished
    return Path(given) if given else settings.data / "archive" / "finished"


class StoredFile:
    """A file that is on this machine, in `files` or in a bucket."""

    def __init__(self, size: int, path: Path | None, files: Files, name: str) -> None:
        self.size, self.path = size, path
        self._files, self._name = files, name

    async def read(self, start: int, end: int) -> bytes:
        if self.path is None:
            return await self._files.read(self._name, start, end - start)
        return await asyncio.to_thread(_read, self.path, start, end)

    async def chunks(self, start: int, end: int) -> AsyncIterator[bytes]:
        most = _CHUNK if self.path else _REMOTE_CHUNK
        for first in range(start, end, most):
            chunk = await self.read(first, min(first + most, end))
            if not chunk:
                return
            yield chunk


class Readable(Struct, frozen=True):
    """How a file can be read in ranges."""

    path: Path | None = None
    """On this machine."""
    name: str = ""
    """Of an object, else."""
    bucket: Destination | None = None
    """None: in `files`."""


def readable(settings: Settings, file: FinishedFile) -> Readable | None:
    """None where it can't be read from here, or only as a whole."""
    if not is_plain(file.name):
        return None
    path = finished_folder(settings) / file.name
    if path.is_file():
        return Readable(path)
    if file.place == IN_FILES + file.name:
        return Readable(name=FOLDER + file.name)
    try:
        chosen = destination(settings.archive.upload)
    except BadSettings:  # which a pipeline reports
        return None
    if chosen and chosen.kind == "objects" and file.place == f"{chosen.url}/{file.name}":
        return Readable(name=file.name, bucket=chosen)
    return None


async def find(settings: Settings, files: Files, file: FinishedFile) -> StoredFile:
    """Raises NotFound where the file can't be read from here."""
    found = readable(settings, file)
    if found is None:
        raise NotFound(whereabouts(file))
    if found.path:
        return StoredFile(found.path.stat().st_size, found.path, files, file.name)
    if found.bucket:
        files = bucket(settings.archive.upload, found.bucket, settings.data)
    stored = await files.find(found.name)
    if stored is None:
        raise NotFound(f"{file.name} was uploaded to {file.place}, but is no longer there")
    return StoredFile(stored.size, None, files, found.name)


def whereabouts(file: FinishedFile) -> str:
    if file.place:
        return f"{file.name} is not on this machine; it was uploaded to {file.place}"
    return f"{file.name} is not on this machine; it is where the pipeline ran, or was moved away"


def is_plain(name: str) -> bool:
    return bool(name) and not name.startswith(".") and not set(name) & set("/\\\0")


def _read(path: Path, start: int, end: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)
    except FileNotFoundError:
        return b""
