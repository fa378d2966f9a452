"""Payloads that earlier crawls have, found by their indexes."""

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from watchbell.archive.warc.cdxj import read_line
from watchbell.archive.warc.dates import read_timestamp
from watchbell.archive.warc.payload_index import PayloadIndex
from watchbell.archive.warc.records import Original

MOST = 500_000
_PER_FILE = 1 << 44
_SHA1 = "sha1:"


class _Payload(Struct, frozen=True):
    """The part of a line that is read for all captures. There may be millions."""

    digest: str = ""
    mime: str = ""


_decoder = msgspec.json.Decoder(_Payload)


class EarlierPayloads:
    """Reads the indexes once, oldest first; of more payloads than `most`, it keeps the newest. What
    can't be read in an index is left out."""

    def __init__(self, indexes: Sequence[Path], most: int = MOST) -> None:
        self._paths = list(indexes)
        self._places = PayloadIndex(most)
        for number, path in enumerate(self._paths):
            for digest, offset in _payloads(path):
                self._places.add(digest, number * _PER_FILE + offset)

    def find(self, digest: str) -> Original | None:
        place = self._places.find(digest)
        if place is None:
            return None
        number, offset = divmod(place, _PER_FILE)
        try:
            with self._paths[number].open("rb") as file:
                file.seek(offset)
                line = read_line(file.readline())
        except (OSError, ValueError):  # somebody has removed or replaced it
            return None
        if line.capture.digest != _SHA1 + digest:
            return None
        at = read_timestamp(line.timestamp)
        return Original(id=line.capture.record, url=line.capture.url, at=at)


def of_site(folder: Path, site: str) -> EarlierPayloads:
    """Those of all crawls of a site in a folder, and of its single pages."""
    names = [f"{glob.escape(site)}-{depth}-*.cdxj" for depth in ("inf", "shallow")]
    found = [path for name in names for path in folder.glob(name)]
    return EarlierPayloads(sorted(found, key=lambda path: path.stat().st_mtime_ns))


def _payloads(path: Path) -> Iterator[tuple[str, int]]:
    """Digests, and where the lines of their captures begin."""
    offset = 0
    with path.open("rb") as file:
        for line in file:
            payload = _payload(line)
            if payload and payload.mime != "warc/revisit" and payload.digest.startswith(_SHA1):
                yield payload.digest.removeprefix(_SHA1), offset
            offset += len(line)


def _payload(line: bytes) -> _Payload | None:
    try:
        return _decoder.decode(line[line.index(b"{") :])
    except (ValueError, msgspec.MsgspecError):
        return None
