"""Finds captures in CDXJ files by binary search, without reading the files."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from watchbell.archive.warc.cdxj import IndexLine, read_line
from watchbell.archive.warc.dates import read_timestamp
from watchbell.archive.warc.url_keys import url_key

_LONGEST_LINE = 1 << 18


class IndexLookup:
    """Over one or more sorted files; each lookup opens them anew."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths

    def captures(self, url: str, most: int = 1000) -> list[IndexLine]:
        """Of a URL in its spellings, oldest first."""
        key = url_key(url).encode() + b" "
        found: list[IndexLine] = []
        for path in self._paths:
            for line in _from(path, key):
                if not line.startswith(key) or len(found) >= most:
                    break
                found.append(read_line(line))
        return sorted(found)

    def closest(self, url: str, at: str) -> list[IndexLine]:
        """All captures, nearest to a timestamp first, the exact spelling before others.

        Raises ValueError for what is no timestamp.
        """
        wanted = read_timestamp(at)

        def distance(line: IndexLine) -> tuple[float, bool]:
            return abs(read_timestamp(line.timestamp) - wanted), line.capture.url != url

        return sorted(self.captures(url), key=distance)

    def pages(self, most: int, after: str = "") -> list[IndexLine]:
        """Captures of HTML pages, in the order of their keys, beginning after a key."""
        found: list[IndexLine] = []
        for path in self._paths:
            count = 0
            for line in _from(path, after.encode() + b" \xff" if after else b""):
                if b'"text/html"' not in line and b'"application/xhtml' not in line:
                    continue
                entry = read_line(line)
                if entry.capture.status.startswith("2"):
                    found.append(entry)
                    count += 1
                if count >= most:
                    break
        return sorted(found)[:most]


def lines_from(file: BinaryIO, key: bytes) -> Iterator[bytes]:
    """The lines that are not less than the key; long ones, which no index has, in pieces."""
    file.seek(_first_at_least(file, key))
    while line := file.readline(_LONGEST_LINE):
        yield line


def _from(path: Path, key: bytes) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from lines_from(file, key)


def _first_at_least(file: BinaryIO, key: bytes) -> int:
    """Where the first line that is not less than the key begins."""
    low, high = 0, os.fstat(file.fileno()).st_size
    while low < high:
        middle = (low + high) // 2
        start = _line_start(file, middle)
        file.seek(start)
        line = file.readline(_LONGEST_LINE)
        if line < key:
            low = start + len(line)
        else:
            high = start
    return low


def _line_start(file: BinaryIO, place: int) -> int:
    """Of the line that a place lies in."""
    back = 512
    while True:
        begin = max(place - back, 0)
        file.seek(begin)
        newline = file.read(place - begin).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        if begin == 0:
            return 0
        back *= 4
