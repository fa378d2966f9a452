"""Brings the log of a crawl from its frontier into the store, each batch once."""

import asyncio
from functools import partial

from watchbell.archive import crawl_log
from watchbell.archive.frontier import Frontier
from watchbell.archive.model import Ownership
from watchbell.errors import WatchbellError
from watchbell.store.client import Store, patiently


class CrawlLost(WatchbellError):
    """The crawl is no longer this pipeline's."""


class LogShipper:
    def __init__(self, store: Store, ownership: Ownership, frontier: Frontier) -> None:
        self._store, self._ownership, self._frontier = store, ownership, frontier
        self._committed = asyncio.Event()

    def committed(self) -> None:
        """There may be new batches."""
        self._committed.set()

    async def run(self) -> None:
        while True:
            await self.ship()
            await self._committed.wait()
            self._committed.clear()

    async def ship(self) -> None:
        """All that is committed. Raises CrawlLost."""
        while batch := self._frontier.next_batch():
            append = partial(
                crawl_log.append,
                self._store,
                self._ownership,
                batch.number,
                batch.entries,
                batch.increments,
            )
            answer = await patiently(append)
            if answer.is_refused:
                raise CrawlLost(f"the crawl {self._ownership.ident} is {answer.value}")
            self._frontier.drop_batches(batch.number)
