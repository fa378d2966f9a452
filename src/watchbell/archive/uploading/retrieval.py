"""Fetches a file that was uploaded, as a whole, and checks that it is the same."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp

from watchbell.archive import stored_files
from watchbell.archive.model import FinishedFile
from watchbell.archive.uploading.destination import destination
from watchbell.archive.uploading.internet_archive import DOWNLOADS
from watchbell.archive.uploading.rsync import Rsync
from watchbell.archive.uploading.target import UploadFailed
from watchbell.errors import NotFound, Refused
from watchbell.files.objects import Files
from watchbell.http.client import AGENT
from watchbell.settings import Settings

_PIECE = 1 << 20


async def retrieve(
    settings: Settings,
    files: Files,
    file: FinishedFile,
    target: Path,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """`progress` is called with the bytes of each piece. Raises NotFound, Refused."""
    chosen = destination(settings.archive.upload)
    ours = chosen.url if chosen and chosen.kind.startswith("rsync") else ""
    if ours and file.place == ours + file.name:
        await _by_rsync(settings, file, target, is_daemon=ours.startswith("rsync://"))
    else:
        await _written(_pieces(settings, files, file), target, progress)
    if file.sha256 and await asyncio.to_thread(_sha256, target) != file.sha256:
        raise Refused(f"{file.place} is not what was uploaded: its SHA-256 differs")


async def _by_rsync(
    settings: Settings, file: FinishedFile, target: Path, *, is_daemon: bool
) -> None:
    try:
        rsync = Rsync(
            settings.archive.upload.url, settings.archive.upload.secret, is_daemon=is_daemon
        )
        await rsync.fetch(file.place, target)
    except UploadFailed as error:
        raise NotFound(f"{file.place} can't be fetched: {error}") from None


async def _pieces(settings: Settings, files: Files, file: FinishedFile) -> AsyncIterator[bytes]:
    if _is_on_the_web(settings, file.place):
        async for piece in _downloaded(file.place):
            yield piece
        return
    found = await stored_files.find(settings, files, file)
    async for piece in found.chunks(0, found.size):
        yield piece


def _is_on_the_web(settings: Settings, place: str) -> bool:
    """Only where this machine would upload to, or at the Internet Archive: the store is not
    trusted to send us elsewhere."""
    endpoint = settings.archive.upload.endpoint.rstrip("/")
    return place.startswith(f"{DOWNLOADS}/") or bool(endpoint and place.startswith(f"{endpoint}/"))


async def _downloaded(address: str) -> AsyncIterator[bytes]:
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=60, sock_read=300)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, headers={"User-Agent": AGENT}) as session,
            session.get(address) as answer,
        ):
            if answer.status != 200:
                raise NotFound(f"{address} answered {answer.status} {answer.reason}")
            async for piece in answer.content.iter_chunked(_PIECE):
                yield piece
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise NotFound(
            f"{address} can't be fetched: {str(error) or type(error).__name__}"
        ) from error


async def _written(
    pieces: AsyncIterator[bytes], target: Path, progress: Callable[[int], None]
) -> None:
    with target.open("wb") as out:
        async for piece in pieces:
            await asyncio.to_thread(out.write, piece)
            progress(len(piece))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
