"""Uploads to `files`, or to an object store by URL."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from watchbell.archive.uploading.destination import Destination
from watchbell.archive.uploading.target import Found, Outgoing, Progress, UploadFailed
from watchbell.errors import FilesUnavailable, NotFound, WatchbellError
from watchbell.files import objects
from watchbell.files.objects import Files, part_size
from watchbell.settings import ArchiveUpload
from watchbell.settings import Files as FilesSettings

_LONGEST = 500
"""Characters of a value; S3 takes 2 KiB of metadata."""


class ObjectTarget:
    patience = 0.0

    def __init__(
        self, files: Files, folder: str, address: str, metadata: list[tuple[str, str]]
    ) -> None:
        """`address` is what the name of an object follows in its place."""
        self.shown = files.shown
        self._files, self._folder, self._address = files, folder, address
        self._metadata = metadata

    async def look(self, file: Outgoing) -> Found:
        name = self._folder + file.name
        try:
            found = await self._files.find(name)
            if found is None:
                return Found.MISSING
            if found.size != file.size:
                return Found.OTHER
            etag = found.etag.strip('"')
            if etag in (file.digests.md5, file.digests.etag):
                return Found.SAME
            is_same = await self._sha256(name) == file.digests.sha256
        except NotFound:
            return Found.MISSING
        except WatchbellError as error:
            raise _failed(error) from error
        return Found.SAME if is_same else Found.OTHER

    async def _sha256(self, name: str) -> str:
        """Of what is stored, which is read for that: not every store knows a digest."""
        digest = hashlib.sha256()
        async for piece in self._files.stream(name):
            digest.update(piece)
        return digest.hexdigest()

    async def send(self, file: Outgoing, progress: Progress) -> None:
        at = datetime.fromtimestamp(file.started_at, UTC)
        metadata = {
            "sha256": file.digests.sha256,
            "ident": file.ident,
            "originalurl": quote(file.url, safe=":/?&=%#+,;@!$'()*~")[:_LONGEST],
            "date": f"{at:%Y-%m-%d}",
            **{
                name: quote(value, safe=" :/?&=#+,;@!$'()*~")[:_LONGEST]
                for name, value in self._metadata
            },
        }
        try:
            await self._files.put(
                self._folder + file.name,
                file.pieces(progress),
                metadata=metadata,
                part=part_size(file.size),
            )
        except OSError as error:
            raise UploadFailed(str(error), is_outage=False) from error
        except WatchbellError as error:
            raise _failed(error) from error

    def place(self, file: Outgoing) -> str:
        return self._address + file.name

    async def close(self) -> None:
        pass


def bucket(chosen: ArchiveUpload, where: Destination, data: Path) -> Files:
    settings = FilesSettings(
        url=where.url,
        endpoint=chosen.endpoint,
        region=chosen.region,
        access_key_id=chosen.access_key_id,
        secret_access_key=chosen.secret,
    )
    return objects.opened(settings, data, setting="archive.upload.url")


def _failed(error: WatchbellError) -> UploadFailed:
    return UploadFailed(str(error), is_outage=isinstance(error, FilesUnavailable))
