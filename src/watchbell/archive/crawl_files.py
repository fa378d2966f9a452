"""The files of a crawl: their names, the sidecar that describes them, and their move to where
finished files are kept."""

import glob
import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from watchbell.archive.model import Crawl, FinishedFile
from watchbell.probes import probe

_IDENT_LETTERS = 5


class Sidecar(Struct, frozen=True, kw_only=True):
    """What `NAME.json` says. The first eight fields are ArchiveBot's."""

    aborted: bool
    fetch_depth: str
    pipeline_id: str
    queued_at: float | None
    started_by: str
    started_in: str
    url: str
    url_file: str | None
    ident: str
    note: str
    started_at: float | None
    finished_at: float
    files: tuple[FinishedFile, ...]


def base_name(crawl: Crawl, started_at: float) -> str:
    at = datetime.fromtimestamp(started_at, UTC)
    return f"{crawl.slug}-{at:%Y%m%d-%H%M%S}-{crawl.ident[:_IDENT_LETTERS]}"


def free_base_name(crawl: Crawl, started_at: float, folder: Path) -> str:
    """One that no file in the folder has yet: a site may be crawled twice within a second."""
    while next(folder.glob(f"{glob.escape(base_name(crawl, started_at))}*"), None):
        started_at += 1
    return base_name(crawl, started_at)


def final_name(name: str, base: str, ending: str) -> str:
    """The name of a file of a crawl that was aborted or interrupted says so."""
    return f"{base}-{ending}{name.removeprefix(base)}" if ending else name


def write_sidecar(path: Path, sidecar: Sidecar) -> None:
    content = msgspec.json.format(msgspec.json.encode(sidecar), indent=2) + b"\n"
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(content)
    new.replace(path)


def move(files: Sequence[Path], folder: Path, base: str, ending: str) -> tuple[FinishedFile, ...]:
    """Moves files that are complete. A repetition finds what an interrupted one has moved."""
    folder.mkdir(parents=True, exist_ok=True)
    moved = []
    for path in files:
        target = folder / final_name(path.name, base, ending)
        if path.exists():
            _move(path, target)
            probe("crawl.file_moved")
        if target.exists():
            moved.append(FinishedFile(target.name, target.stat().st_size))
    return tuple(moved)


def _move(path: Path, target: Path) -> None:
    try:
        path.replace(target)
    except OSError:  # another file system
        new = target.with_name(f".{target.name}.new")
        shutil.copyfile(path, new)
        with new.open("rb") as copied:
            os.fsync(copied.fileno())
        probe("crawl.file_copied")
        new.replace(target)
        path.unlink()
