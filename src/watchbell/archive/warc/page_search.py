"""Searches indexes for archived pages, a stretch at a time."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from watchbell.archive.warc.cdxj import IndexLine, read_line
from watchbell.archive.warc.index_lookup import lines_from

MOST_LINES = 100_000
"""Lines of the indexes that are read for one answer."""
_PAGES = (b'"text/html"', b'"application/xhtml')


class FoundPage(Struct, frozen=True):
    newest: IndexLine
    captures: int


class Search(Struct, frozen=True, kw_only=True):
    contains: str = ""
    """A part of the URL, in any case."""
    only_pages: bool = True
    """Whether to leave out images, styles and the like, and what was not found."""


class FoundPages(Struct, frozen=True):
    items: list[FoundPage]
    next: str
    """The key after which to go on; empty at the end. There may be one after few items."""


def search(indexes: Sequence[Path], wanted: Search, *, after: str, most: int) -> FoundPages:
    """In the order of the indexes' keys, beginning after a key. Blocks: run it in a thread."""
    found: list[FoundPage] = []
    read = 0
    with ExitStack() as stack:
        begin = after.encode() + b" \xff" if after else b""
        files = [stack.enter_context(path.open("rb")) for path in indexes]
        lines = heapq.merge(*(lines_from(file, begin) for file in files))
        for key, group in groupby(lines, key=_key):
            if len(found) == most or read >= MOST_LINES:
                return FoundPages(found, after)
            after = key.decode(errors="replace")
            same = list(group)
            read += len(same)
            captures = list(_matching(same, wanted))
            if captures:
                newest = max(captures, key=lambda line: line.timestamp)
                found.append(FoundPage(newest, len(captures)))
    return FoundPages(found, "")


def _key(line: bytes) -> bytes:
    return line.partition(b" ")[0]


def _matching(lines: Iterable[bytes], wanted: Search) -> Iterator[IndexLine]:
    words = wanted.contains.casefold()
    for line in lines:
        if wanted.only_pages and not any(kind in line for kind in _PAGES):
            continue
        try:
            entry = read_line(line)
        except ValueError:  # one damaged line hides no other
            continue
        if wanted.only_pages and not entry.capture.status.startswith("2"):
            continue
        if words in entry.capture.url.casefold():
            yield entry
