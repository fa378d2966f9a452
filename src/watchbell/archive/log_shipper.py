"""Brings the log of a crawl from its frontier into the store, each batch once."""

import asyncio
from collections.abc import Callable
from functools import partial

from watchbell.archive import crawl_log
from watchbell.archive.frontier import Frontier
from watchbell.archive.model import Ownership
from watchbell.errors import WatchbellError
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring


class CrawlLost(WatchbellError):
    """The crawl is no longer this pipeline's."""


class LogShipper:
    def __init__(
        self,
        store: Store,
        ownership: Ownership,
        frontier: Frontier,
        on_refusal: Callable[[str], None],
    ) -> None:
        """`on_refusal` is given why the store does not take the log, and '' once it does."""
        self._store, self._ownership, self._frontier = store, ownership, frontier
        self._on_refusal = on_refusal
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
            answer = await enduring(
                partial(patiently, append), "pipeline", "ship the log", self._on_refusal
            )
            self._on_refusal("")
            if answer.is_refused:
                raise CrawlLost(f"the crawl {self._ownership.ident} is {answer.value}")
            self._frontier.drop_batches(batch.number)
