"""Objects that are too large for Redis, by name: in a folder, or in an object store by URL."""

import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from msgspec import Struct
from obstore import exceptions
from obstore.store import LocalStore, MemoryStore, ObjectStore, from_url

from watchbell.errors import BadSettings, FilesUnavailable, NotFound, Refused
from watchbell.settings import Files as Settings
from watchbell.settings import redacted

if TYPE_CHECKING:
    from obstore.store import S3Config

_NAME = re.compile(r"(?!\.{1,2}(/|$))[\w.@+=,-]+(/(?!\.{1,2}(/|$))[\w.@+=,-]+)*", re.ASCII)
_PART = 8 << 20
"""Bytes of an upload that are held in memory and sent together."""
_MOST_PARTS = 9_000
_AT_ONCE = 4
"""Parts that are sent at the same time."""
_RETRY = timedelta(seconds=30)

Content = bytes | Path | AsyncIterable[bytes]


class Stored(Struct, frozen=True):
    name: str
    size: int
    modified: float
    """Seconds since 1970."""
    etag: str = ""
    """What the store computed of the content, in its own way."""


def part_size(size: int) -> int:
    """Bytes of each part of an upload of that size: a store takes 10,000 of them."""
    mib = 1 << 20
    return max(_PART, -(-size // _MOST_PARTS // mib) * mib)


class Files:
    """An object appears under its name once it is complete, and replaces the previous one."""

    def __init__(self, place: ObjectStore | Callable[[], ObjectStore], shown: str) -> None:
        """`place` may be a function that opens it when it is first needed."""
        self._given, self.shown = place, shown
        self._opened: ObjectStore | None = None

    @property
    def _place(self) -> ObjectStore:
        if self._opened is None:
            self._opened = self._given() if callable(self._given) else self._given
        return self._opened

    async def put(
        self,
        name: str,
        content: Content,
        metadata: Mapping[str, str] | None = None,
        part: int = _PART,
    ) -> int:
        """Stores an object. Returns its size. A folder has no place for metadata."""
        with self._acting(name):
            has_place = metadata and not isinstance(self._place, LocalStore)
            writer = obstore.open_writer_async(
                *(self._place, _checked(name)),
                attributes=dict(metadata) if metadata and has_place else None,
                buffer_size=part,
                max_concurrency=_AT_ONCE,
            )
            size = 0
            async with writer as file:
                async for chunk in _chunks(content):
                    size += len(chunk)
                    await file.write(chunk)
            return size

    async def get(self, name: str) -> bytes:
        with self._acting(name):
            found = await obstore.get_async(self._place, _checked(name))
            return bytes(await found.bytes_async())

    async def read(self, name: str, start: int, length: int) -> bytes:
        """A range of an object; fewer bytes where the object ends before."""
        with self._acting(name):
            size = (await obstore.head_async(self._place, _checked(name)))["size"]
            end = min(start + length, size)
            if start >= end:
                return b""
            return bytes(await obstore.get_range_async(self._place, name, start=start, end=end))

    async def stream(self, name: str) -> AsyncIterator[bytes]:
        with self._acting(name):
            found = await obstore.get_async(self._place, _checked(name))
            async for chunk in found.stream(min_chunk_size=1 << 16):
                yield bytes(chunk)

    async def find(self, name: str) -> Stored | None:
        try:
            with self._acting(name):
                return _stored(await obstore.head_async(self._place, _checked(name)))
        except NotFound:
            return None

    async def list(self, folder: str = "") -> AsyncIterator[Stored]:
        """The objects below a folder, in no particular order."""
        with self._acting(folder):
            below = _checked(folder) if folder else None
            async for some in obstore.list(self._place, below):
                for one in some:
                    yield _stored(one)

    async def delete(self, names: Sequence[str]) -> None:
        """Deletes objects; a missing one is no error."""
        for name in names:
            try:
                with self._acting(name):
                    await obstore.delete_async(self._place, _checked(name))
            except NotFound:
                continue

    @contextmanager
    def _acting(self, name: str) -> Iterator[None]:
        """Every failure is NotFound or FilesUnavailable."""
        try:
            yield
        except (FileNotFoundError, exceptions.NotFoundError) as error:
            raise NotFound(f"there is no file {name!r}") from error
        except (exceptions.BaseError, BadSettings, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise FilesUnavailable(f"the files at {self.shown} can't be used: {reason}") from error


def opened(
    settings: Settings,
    data: Path,
    *,
    create: bool = True,
    later: bool = False,
    setting: str = "files.url",
) -> Files:
    """Opens the place in the settings; by default `files` in the data folder. Without `create`, a
    folder that does not exist is taken for an empty one. With `later`, it is created when it is
    first needed."""
    if not settings.url:
        folder = data / "files"
        if later:
            return Files(partial(_folder, folder), str(folder))
        return Files(_folder(folder) if create or folder.is_dir() else MemoryStore(), str(folder))
    shown = redacted(settings.url)
    if settings.url.startswith("file://"):
        return Files(_folder(Path(settings.url.removeprefix("file://"))), shown)
    try:
        place = from_url(
            settings.url,
            config=_config(settings),
            client_options={"allow_http": settings.endpoint.startswith("http://")},
            retry_config={"retry_timeout": _RETRY},
        )
    except (exceptions.BaseError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise BadSettings(f"{setting}, {shown}, can't be used: {reason}") from error
    return Files(place, shown)


def _folder(path: Path) -> LocalStore:
    try:
        # Both are for the owner alone; `parents` would make the first as open as others are.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        return LocalStore(path)
    except (exceptions.BaseError, OSError) as error:
        raise BadSettings(f"the folder of files, {path}, can't be used: {error}") from error


def _config(settings: Settings) -> "S3Config":
    """The options in the settings; an object store reads others from its usual files."""
    config: S3Config = {}
    if settings.endpoint:
        config["endpoint"] = settings.endpoint
    if settings.region:
        config["region"] = settings.region
    if settings.access_key_id:
        config["access_key_id"] = settings.access_key_id
    if settings.secret_access_key:
        config["secret_access_key"] = settings.secret_access_key.reveal()
    return config


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name) or len(name) > 900:
        raise Refused(f"{name[:80]!r} can't be the name of a file")
    return name


def _stored(meta: "obstore.ObjectMeta") -> Stored:
    etag = meta["e_tag"] or ""
    return Stored(meta["path"], meta["size"], meta["last_modified"].timestamp(), etag)


async def _chunks(content: Content) -> AsyncIterator[bytes]:
    if isinstance(content, bytes):
        yield content
    elif isinstance(content, Path):
        with content.open("rb") as file:
            while chunk := file.read(1 << 20):
                yield chunk
    else:
        async for chunk in content:
            yield chunk
