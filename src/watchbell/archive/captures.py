"""What crawls have archived, read back: from files of this machine, or where they were uploaded."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from watchbell.archive import history, stored_files
from watchbell.archive.history import EndedCrawl
from watchbell.archive.model import FinishedFile
from watchbell.archive.warc.cdxj import Capture
from watchbell.archive.warc.stored_responses import StoredResponses
from watchbell.errors import NotFound, Refused
from watchbell.files.objects import Files
from watchbell.settings import Settings
from watchbell.store.client import Store

_MOST_CRAWLS = 20
"""Crawls of one URL that are looked into, the newest."""
_LARGEST_INDEX = 64 << 20
_LARGEST_RECORD = 64 << 20
"""Bytes that are fetched from elsewhere for one answer."""
_PATIENCE = 60

NOT_ENDED = "Pages can be viewed once the crawl has ended."
NO_PAGES = "This crawl has saved no pages."


class Captures(Struct, frozen=True):
    """What is within reach."""

    responses: StoredResponses
    indexes: tuple[Path, ...]
    problem: str
    """Why something can't be shown; empty if everything can."""


@asynccontextmanager
async def opened(
    store: Store, settings: Settings, files: Files, ident: str
) -> AsyncIterator[Captures]:
    """The captures of all crawls of an ident. What was fetched for them is removed at the end."""
    past = await history.of_ident(store, ident, _MOST_CRAWLS)
    with tempfile.TemporaryDirectory(prefix="watchbell-views-") as scratch:
        known = {file.name: file for one in past for file in one.files}
        reach = _Reach(settings, files, Path(scratch), known)
        indexes: list[Path] = []
        missing: list[EndedCrawl] = []
        for one in past:
            found = [await reach.index(file) for file in one.files if _is_index(file.name)]
            indexes += [path for path in found if path]
            if not all(found):
                missing.append(one)
        warcs = {name: path for one in past for name, path in reach.local(one).items()}
        responses = _Responses(list(warcs.values()), indexes, reach)
        yield Captures(responses, tuple(indexes), _problem(past, missing, has_any=bool(indexes)))


def _problem(past: Sequence[EndedCrawl], missing: Sequence[EndedCrawl], *, has_any: bool) -> str:
    if not past:
        return NOT_ENDED
    if missing:
        names = sorted({one.nickname for one in missing if one.nickname})
        where = f"the pipeline {' or '.join(names)}" if names else "their pipeline"
        what = "Some files" if has_any else "The files"
        return f"{what} are not on this machine: they are where {where} ran, or were moved away."
    return "" if has_any else NO_PAGES


def _is_index(name: str) -> bool:
    return name.endswith(".cdxj")


class _Reach:
    """Finds files, and fetches parts of those that are elsewhere."""

    def __init__(
        self, settings: Settings, files: Files, scratch: Path, known: Mapping[str, FinishedFile]
    ) -> None:
        self._settings, self._files, self._scratch = settings, files, scratch
        self._known = known
        self._folder = stored_files.finished_folder(settings)
        self._loop = asyncio.get_running_loop()
        self._fetched = 0

    def local(self, crawl: EndedCrawl) -> Mapping[str, Path]:
        names = [file.name for file in crawl.files if file.name.endswith((".warc.gz", ".warc"))]
        paths = {name: self._folder / name for name in names if stored_files.is_plain(name)}
        return {name: path for name, path in paths.items() if path.is_file()}

    async def index(self, file: FinishedFile) -> Path | None:
        try:
            found = await stored_files.find(self._settings, self._files, file)
        except NotFound:
            return None
        if found.path:
            return found.path
        return None if found.size > _LARGEST_INDEX else await self._copied(found, file.name)

    async def _copied(self, found: stored_files.StoredFile, name: str) -> Path:
        path = self._scratch / name
        with path.open("wb") as copy:
            async for chunk in found.chunks(0, found.size):
                copy.write(chunk)
        return path

    def record(self, capture: Capture) -> Path | None:
        """A copy of one record; called in a thread."""
        size, file = int(capture.length), self._known.get(capture.filename)
        if file is None or not 0 < size <= _LARGEST_RECORD:
            return None
        asked = self._read(file, int(capture.offset), size)
        try:
            content = asyncio.run_coroutine_threadsafe(asked, self._loop).result(_PATIENCE)
        except (NotFound, Refused):
            return None
        self._fetched += 1
        path = self._scratch / f"{self._fetched}.warc.gz"
        path.write_bytes(content)
        return path

    async def _read(self, file: FinishedFile, start: int, size: int) -> bytes:
        found = await stored_files.find(self._settings, self._files, file)
        return await found.read(start, start + size)


class _Responses(StoredResponses):
    def __init__(self, warcs: Sequence[Path], indexes: Sequence[Path], reach: _Reach) -> None:
        super().__init__(warcs, indexes)
        self._reach = reach

    def place_of(self, capture: Capture) -> tuple[Path, int] | None:
        if here := super().place_of(capture):
            return here
        path = self._reach.record(capture)
        return (path, 0) if path else None
