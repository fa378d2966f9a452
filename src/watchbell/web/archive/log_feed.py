"""Passes log entries on to readers as they are broadcast: one subscription for all of them."""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import msgspec

from watchbell.archive import crawl_log
from watchbell.archive.keys import Crawls
from watchbell.store.client import Store
from watchbell.store.live import Gap, listen
from watchbell.web.archive import log_view
from watchbell.web.archive.log_shapes import LogLine, LogLines
from watchbell.web.live.background import Background
from watchbell.web.live.events import Event, Source

GATHER = 0.25
"""Seconds between two events of a stream."""
MOST = 500
"""Lines that a reader is sent at once; of more, the newest."""


class Reader:
    def __init__(self) -> None:
        self.lines: deque[LogLine] = deque(maxlen=MOST)
        self.came = 0
        self.has_gap = False
        self.stirred = asyncio.Event()

    def add(self, line: LogLine) -> None:
        self.lines.append(line)
        self.came += 1
        self.stirred.set()

    def miss(self) -> None:
        """Messages may have been missed."""
        self.has_gap = True
        self.stirred.set()

    def take(self) -> tuple[list[LogLine], int]:
        """The lines since the last time, and how many more there were."""
        found, left_out = list(self.lines), self.came - len(self.lines)
        self.lines.clear()
        self.came, self.has_gap = 0, False
        self.stirred.clear()
        return found, left_out


class LogFeed:
    """Listens while there are readers."""

    def __init__(self, store: Store, background: Background) -> None:
        self._store, self._background = store, background
        self._readers: dict[str, set[Reader]] = {}
        self._is_listening = False

    @contextmanager
    def reading(self, ident: str) -> Iterator[Reader]:
        reader = Reader()
        self._readers.setdefault(ident, set()).add(reader)
        if not self._is_listening:
            self._is_listening = True
            self._background.begin(self._listen())
        try:
            yield reader
        finally:
            readers = self._readers[ident]
            readers.discard(reader)
            if not readers:
                del self._readers[ident]

    async def _listen(self) -> None:
        channel = Crawls(self._store.prefix).entries()
        try:
            async with aclosing(listen(self._store, channel)) as messages:
                async for item in messages:
                    if not self._readers:
                        return
                    if isinstance(item, Gap):
                        self._miss()
                    else:
                        self._pass_on(item.body)
        finally:
            self._is_listening = False

    def _miss(self) -> None:
        for readers in self._readers.values():
            for reader in readers:
                reader.miss()

    def _pass_on(self, body: bytes) -> None:
        try:
            batch: Any = msgspec.json.decode(body.decode(errors="replace"))
            ident, entries = batch["ident"], batch["entries"]
        except (msgspec.MsgspecError, KeyError, TypeError):
            return  # of another program
        readers = self._readers.get(ident) if isinstance(ident, str) else None
        if readers and isinstance(entries, list):
            for line in map(log_view.line, entries):
                for reader in readers:
                    reader.add(line)


async def follow(feed: LogFeed, store: Store, ident: str, since: int) -> Source:
    """Lines from the one after `since` on; first those that are there, then those that come."""
    with feed.reading(ident) as reader:
        last, is_first = since, True
        while True:
            reader.take()
            found = log_view.lines(await crawl_log.recent(store, ident))
            fresh = [one for one in found if one.index > last]
            if fresh or is_first:
                is_behind = bool(fresh) and (since > 0 or not is_first)
                left_out = fresh[0].index - last - 1 if is_behind else 0
                last = _newest(last, fresh)
                yield _event(last, fresh, left_out)
            is_first = False
            while True:
                await asyncio.sleep(GATHER)
                await reader.stirred.wait()
                if reader.has_gap:
                    break
                came, left_out = reader.take()
                fresh = [one for one in came if one.index > last or not one.index]
                last = _newest(last, fresh)
                if fresh:
                    yield _event(last, fresh, left_out)


def _newest(last: int, lines: list[LogLine]) -> int:
    return max([last, *(one.index for one in lines)])


def _event(last: int, lines: list[LogLine], left_out: int) -> Event:
    found = LogLines(items=lines, left_out=left_out)
    return Event(str(last), "lines", msgspec.json.encode(found))
