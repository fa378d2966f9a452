"""One crawl on this pipeline: its downloaders and its commits.

What a crawl has done counts once it is committed: the URLs, the WARC's position, the log. So a
crawl that was interrupted, as by a kill or a full disk, is opened again from its folder, and goes
on from the last commit.
"""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from watchbell.archive.crawl_work import CrawlWork
from watchbell.archive.disk_work import in_thread
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.frontier import Task
from watchbell.archive.grabbing.browser import Browser
from watchbell.archive.interruption import Interruption
from watchbell.archive.model import Crawl, CrawlSettings
from watchbell.archive.politeness import USUAL, Waits
from watchbell.archive.visits import Visits
from watchbell.archive.warc import earlier_payloads
from watchbell.archive.warc.earlier_payloads import EarlierPayloads
from watchbell.clock import Clock
from watchbell.probes import probe
from watchbell.settings import Archive as Settings
from watchbell.units import in_bytes

COMMIT_EVERY = 0.5
_SYNC_EVERY = 10.0
"""Seconds after which the disk has everything, in case of a power failure."""


class Workshop(Struct, frozen=True):
    """What the crawls of a pipeline share."""

    fetcher: Fetcher
    settings: Settings
    clock: Clock
    has_space: Callable[[], bool]
    finished: Path
    """Where the files of crawls that have ended are."""
    waits: Waits = USUAL
    browser: Browser | None = None

    async def earlier(self, crawl: Crawl) -> EarlierPayloads | None:
        """What earlier crawls of the site have, if this one shall not repeat it."""
        if not crawl.options.dedups_before:
            return None
        site = crawl.slug.removesuffix(f"-{crawl.fetch_depth}")
        return await in_thread(earlier_payloads.of_site, self.finished, site)


class CrawlRun:
    def __init__(
        self,
        work: CrawlWork,
        crawl: Crawl,
        settings: CrawlSettings,
        shop: Workshop,
    ) -> None:
        self.work, self.settings = work, settings
        self.on_commit: Callable[[], None] = lambda: None
        self._shop, self._clock = shop, shop.clock
        self.interruption = Interruption()
        self._visits = Visits(
            *(crawl, settings, work, shop.fetcher, shop.clock),
            host_urls=shop.settings.host_urls,
            waits=shop.waits,
            interruption=self.interruption,
            browser=shop.browser,
        )
        self._most_bytes = crawl.options.most_bytes
        self._is_over = False
        self._under_way = 0
        self._news = asyncio.Event()
        self._downloaders: dict[int, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None

    @property
    def is_aborted(self) -> bool:
        return self.settings.abort_requested

    @property
    def is_held(self) -> bool:
        """Whether nothing may be fetched at the moment."""
        return self.settings.is_paused or not self._shop.has_space()

    def apply(self, settings: CrawlSettings) -> None:
        """Settings that were changed take effect at once."""
        self.settings = settings
        if settings.abort_requested:
            self.interruption.interrupt()
        self._visits.apply(settings)
        if self._group and not self._is_over:
            self._employ(self._group)
        self.wake()

    def wake(self) -> None:
        """Something has changed that a downloader may be waiting for."""
        self._news.set()
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Fetches everything, or until it is aborted."""
        async with asyncio.TaskGroup() as group:
            keeper = group.create_task(self._commit_regularly())
            try:
                async with asyncio.TaskGroup() as self._group:
                    self._employ(self._group)
            finally:
                self._group = None
                keeper.cancel()
        await self.commit()

    # Downloaders.

    def _employ(self, group: asyncio.TaskGroup) -> None:
        for number in range(self.settings.concurrency):
            there = self._downloaders.get(number)
            if there is None or there.done():
                self._downloaders[number] = group.create_task(self._download(number))

    async def _download(self, number: int) -> None:
        while number < self.settings.concurrency:
            task = await self._next()
            if task is None:
                return
            self._under_way += 1
            try:
                was_asked = await self._visits.visit(task)
            finally:
                self._under_way -= 1
            if self.work.has_news or not self._under_way:
                self.work.has_news = False
                self.wake()
            if was_asked:
                await self._rest()

    async def _next(self) -> Task | None:
        """The next URL, once there is one; None if the crawl is over."""
        while not self._is_over:
            if self.settings.abort_requested or self._has_enough():
                self._end()
                break
            if self.is_held:
                await self.wait_for_news(None)
                continue
            task = self.work.take(self._clock.now())
            if task is not None:
                return task
            if not self._under_way and not self.work.frontier.waiting:
                self._end()
                break
            at = self.work.next_at()
            await self.wait_for_news(None if at is None else max(at - self._clock.now(), 0.001))
        return None

    def _has_enough(self) -> bool:
        most = self._most_bytes
        has_enough = bool(most and self.work.fetched >= most)
        if has_enough:
            self.work.log(f"The crawl ends: it has fetched {in_bytes(most)}, its limit.")
        return has_enough

    def _end(self) -> None:
        self._is_over = True
        self.wake()

    async def wait_for_news(self, seconds: float | None) -> None:
        """Until something has changed, at most for so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _rest(self) -> None:
        """The pause between two requests of a downloader; shorter if the settings become so."""
        begun = self._clock.monotonic()
        share = random.random()
        while not self._is_over and not self.settings.abort_requested:
            low, high = self.settings.delay_min, self.settings.delay_max
            left = begun + (low + share * (high - low)) / 1_000 - self._clock.monotonic()
            if left <= 0:
                return
            settings, news = self.settings, self._news
            try:
                async with asyncio.timeout(left):
                    while self.settings is settings and not self._is_over:
                        await news.wait()
                        news = self._news
            except TimeoutError:
                return

    # Commits.

    async def _commit_regularly(self) -> None:
        synced = self._clock.monotonic()
        while True:
            await asyncio.sleep(COMMIT_EVERY)
            await self.commit()
            if self._clock.monotonic() - synced > _SYNC_EVERY:
                synced = self._clock.monotonic()
                await self.work.sync()

    async def commit(self) -> None:
        if await self.work.commit():
            probe("crawl.committed")
            self.on_commit()
