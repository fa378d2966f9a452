"""Payloads that earlier crawls have, found by their indexes."""

from collections.abc import Sequence
from pathlib import Path

from watchbell.archive.warc.cdxj import read_line
from watchbell.archive.warc.dates import read_timestamp
from watchbell.archive.warc.payload_index import PayloadIndex
from watchbell.archive.warc.records import Original

MOST = 500_000
_PER_FILE = 1 << 44
_SHA1 = "sha1:"


class EarlierPayloads:
    """Reads the indexes once, oldest first; of more payloads than `most`, it keeps the newest."""

    def __init__(self, indexes: Sequence[Path], most: int = MOST) -> None:
        self._paths = list(indexes)
        self._places = PayloadIndex(most)
        for number, path in enumerate(self._paths):
            place = number * _PER_FILE
            with path.open("rb") as file:
                for line in file:
                    capture = read_line(line).capture
                    if capture.mime != "warc/revisit" and capture.digest.startswith(_SHA1):
                        self._places.add(capture.digest.removeprefix(_SHA1), place)
                    place += len(line)

    def find(self, digest: str) -> Original | None:
        place = self._places.find(digest)
        if place is None:
            return None
        number, offset = divmod(place, _PER_FILE)
        with self._paths[number].open("rb") as file:
            file.seek(offset)
            line = read_line(file.readline())
        if line.capture.digest != _SHA1 + digest:
            return None
        at = read_timestamp(line.timestamp)
        return Original(id=line.capture.record, url=line.capture.url, at=at)
