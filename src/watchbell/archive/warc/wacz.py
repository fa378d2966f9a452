"""Packs WARC files with their index and a list of pages into one WACZ file."""

import hashlib
import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

import watchbell
from watchbell.archive.warc.cdxj import read_line
from watchbell.archive.warc.dates import read_timestamp, record_date

VERSION = "1.1.1"
_PIECE = 1 << 19
_STAMP = (1980, 1, 1, 0, 0, 0)  # the oldest that a ZIP file can say: the content has its own dates
_encoder = msgspec.json.Encoder()


class Resource(Struct, frozen=True):
    name: str
    path: str
    hash: str
    bytes: int


def write_wacz(
    target: Path, warcs: Sequence[Path], index: Path, *, title: str, created: float
) -> None:
    """Appears under its name when it is complete. `index` is the CDXJ of exactly these files."""
    unfinished = target.with_name(target.name + ".open")
    with unfinished.open("wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            _fill(archive, warcs, index, title, created)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(target)


def _fill(
    archive: zipfile.ZipFile, warcs: Sequence[Path], index: Path, title: str, created: float
) -> None:
    resources = [
        *(_add(archive, f"archive/{path.name}", _pieces(path)) for path in warcs),
        _add(archive, "indexes/index.cdxj", _pieces(index), packed=True),
        _add(archive, "pages/pages.jsonl", _pages(index), packed=True),
    ]
    package = {
        "profile": "data-package",
        "wacz_version": VERSION,
        "title": title,
        "created": record_date(created),
        "software": f"Watchbell/{watchbell.__version__}",
        "resources": resources,
    }
    described = _add(archive, "datapackage.json", [_encoder.encode(package)])
    digest = {"path": described.path, "hash": described.hash}
    _add(archive, "datapackage-digest.json", [_encoder.encode(digest)])


def _add(
    archive: zipfile.ZipFile, path: str, pieces: Iterable[bytes], *, packed: bool = False
) -> Resource:
    entry = zipfile.ZipInfo(path, _STAMP)
    entry.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    entry.external_attr = 0o644 << 16
    digest, size = hashlib.sha256(), 0
    with archive.open(entry, "w", force_zip64=True) as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
            size += len(piece)
    return Resource(path.rpartition("/")[2], path, f"sha256:{digest.hexdigest()}", size)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _pages(index: Path) -> Iterator[bytes]:
    header = {"format": "json-pages-1.0", "id": "pages", "title": "All pages", "hasText": False}
    yield _encoder.encode(header) + b"\n"
    with index.open("rb") as file:
        for text in file:
            if b'"text/html"' not in text:
                continue
            line = read_line(text)
            if line.capture.status == "200":
                at = record_date(read_timestamp(line.timestamp))
                page = {"id": line.capture.record, "url": line.capture.url, "ts": at}
                yield _encoder.encode(page) + b"\n"
