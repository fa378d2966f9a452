"""Uploads that are to be made, on the disk of the pipeline: a file for the files of each crawl."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell import logs
from watchbell.archive.crawl_folder import Undertaken
from watchbell.archive.model import FinishedFile
from watchbell.archive.uploading.digests import Digests
from watchbell.archive.urls import without_userinfo


class UploadFile(Struct, frozen=True, kw_only=True):
    name: str
    size: int
    digests: Digests | None = None
    """None before they were computed."""
    sent_at: float = 0.0
    """When it was sent; it may take a while to appear."""
    place: str = ""
    """Where it was found whole after that."""
    is_gone: bool = False
    """Whether it disappeared from this machine before it was uploaded."""

    @property
    def is_done(self) -> bool:
        return bool(self.place) or self.is_gone


class PendingUpload(Struct, frozen=True, kw_only=True):
    """The files of one crawl, in the order in which they are sent."""

    base: str
    ident: str
    url: str
    started_at: float
    queued_at: float
    files: tuple[UploadFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def changed(self, file: UploadFile) -> "PendingUpload":
        files = tuple(file if one.name == file.name else one for one in self.files)
        return replace(self, files=files)


class PendingUploads:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, PendingUpload] | None = None
        """By base, the oldest first; None before they were read."""

    def add(self, undertaken: Undertaken, files: Sequence[FinishedFile]) -> None:
        """May be repeated: what is known of an upload stays."""
        if not files:
            return
        crawl = undertaken.crawl
        upload = PendingUpload(
            base=_base(undertaken.base, files),
            ident=crawl.ident,
            url=without_userinfo(crawl.url),
            started_at=crawl.started_at or crawl.queued_at or 0.0,
            queued_at=crawl.queued_at or 0.0,
            files=tuple(UploadFile(name=one.name, size=one.size) for one in files),
        )
        if upload.base not in self._loaded():
            self.save(upload)

    def save(self, upload: PendingUpload) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(upload)
        new = path.with_suffix(".new")
        new.write_bytes(msgspec.json.format(msgspec.json.encode(upload), indent=2))
        new.replace(path)
        self._loaded()[upload.base] = upload

    def remove(self, upload: PendingUpload) -> None:
        self._path(upload).unlink(missing_ok=True)
        self._loaded().pop(upload.base, None)

    def every(self) -> list[PendingUpload]:
        """The oldest first."""
        return list(self._loaded().values())

    def _loaded(self) -> dict[str, PendingUpload]:
        if self._known is None:
            paths = [path for path in self._folder.glob("*.json") if path.is_file()]
            paths.sort(key=lambda path: path.stat().st_mtime)
            found = [one for one in map(_read, paths) if one is not None]
            self._known = {one.base: one for one in found}
        return self._known

    def _path(self, upload: PendingUpload) -> Path:
        return self._folder / f"{upload.base}.json"


def _read(path: Path) -> PendingUpload | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=PendingUpload)
    except (OSError, msgspec.MsgspecError) as error:
        reason = str(error)
    logs.get(role="pipeline").error(
        "can't read what is to be uploaded", file=str(path), reason=reason
    )
    return None


def _base(base: str, files: Sequence[FinishedFile]) -> str:
    """With the ending that the names of an aborted or interrupted crawl have."""
    for ending in ("-aborted", "-interrupted"):
        if all(file.name.startswith(base + ending) for file in files):
            return base + ending
    return base
