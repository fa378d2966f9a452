"""One crawl on a pipeline, from its folder to its end, through full disks and other troubles."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from watchbell import logs
from watchbell.archive import crawls, finishing, queues
from watchbell.archive.crawl_end import CrawlEnd
from watchbell.archive.crawl_files import free_base_name
from watchbell.archive.crawl_folder import CrawlFolder, Undertaken
from watchbell.archive.crawl_run import CrawlRun, Workshop
from watchbell.archive.crawl_work import CrawlWork
from watchbell.archive.disk_work import in_thread
from watchbell.archive.log_shipper import CrawlLost, LogShipper
from watchbell.archive.model import Ending, Ownership
from watchbell.archive.start_urls import StartUrls
from watchbell.fleet.agent.sampler import boot_id
from watchbell.probes import probe
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring

_AGAIN = 5.0
"""Seconds until a crawl that could not use its disk is opened again."""
_STEADY = 10.0
"""Seconds without a failure after which the disk counts as usable again."""

T = TypeVar("T")


class Equipment(Struct, frozen=True):
    """What all crawls of a pipeline use."""

    store: Store
    shop: Workshop
    lists: StartUrls
    end: CrawlEnd
    crawls: Path
    """Where each has its folder."""


class CrawlTask:
    def __init__(
        self,
        ident: str,
        ownership: Ownership | None,
        equipment: Equipment,
        folder: CrawlFolder | None = None,
        undertaken: Undertaken | None = None,
    ) -> None:
        """Without ownership, only its files are completed. Without folder, it begins."""
        self.ident, self.ownership = ident, ownership
        self.run: CrawlRun | None = None
        self.is_lost = ownership is None
        """Whether another pipeline may work on it by now."""
        self.has_ended = False
        """Whether its end is recorded."""
        self.could_begin = True
        """False after it was given back to its queue."""
        self._store, self._use = equipment.store, equipment
        self._clock = equipment.shop.clock
        self._folder = folder or CrawlFolder(equipment.crawls / ident)
        self._undertaken = undertaken
        self._troubles: dict[str, str] = {}
        self._failed_at = 0.0
        self._log = logs.get(role="pipeline")

    @property
    def trouble(self) -> str:
        """Why it can't go on at the moment; empty if it can."""
        return next(iter(self._troubles.values()), "")

    async def work(self) -> None:
        """Until it has ended, or is lost. Cancelled, it leaves its folder for the next start;
        cancelled after it was lost, it completes its files first."""
        try:
            while not self.is_lost and not await self._attempted():  # noqa: ASYNC110 of a disk
                await asyncio.sleep(_AGAIN)
        except asyncio.CancelledError:
            if not self.is_lost:
                raise
        except Exception as error:  # noqa: BLE001 one crawl must not end the others
            self._log.exception("a crawl failed", crawl=self.ident)
            await self._fail(_first(error))
        if self.is_lost:
            self._log.warning("a crawl was lost", crawl=self.ident)
            await self._keep()

    async def _attempted(self) -> bool:
        """Works on it until it has ended. False if it has to be tried again."""
        problem = ""
        try:
            if self._undertaken is None:
                self._undertaken = await self._begun()
            if self._undertaken is not None:
                await self._worked(self._undertaken)
        except* (OSError, sqlite3.OperationalError) as group:
            problem = str(_first(group))
        except* CrawlLost:
            self.is_lost = True
        if problem:
            self._log.error("a crawl can't use its disk", crawl=self.ident, reason=problem)
            self._failed_at = self._clock.monotonic()
            if "disk" not in self._troubles:
                self._set_trouble("disk", f"the pipeline can't use its disk: {problem}")
        return not problem

    async def _begun(self) -> Undertaken | None:
        """None where there is nothing to crawl, or no place for it."""
        crawl = await patiently(lambda: crawls.to_fetch(self._store, self.ident))
        if crawl is None:
            return None
        left = self._folder.undertaken()
        if left is not None and (problem := await self._use.end.interrupt(self._folder, left)):
            await self._give_back(f"the files of an earlier attempt can't be kept: {problem}")
            return None
        started_at = crawl.started_at or self._clock.now()
        base = free_base_name(crawl, started_at, self._use.end.finished)
        undertaken = Undertaken(crawl=crawl, base=base)
        try:
            await in_thread(CrawlFolder.begun, self._folder.path, undertaken)
        except OSError as error:
            await self._give_back(f"the pipeline can't use its disk: {error}")
            return None
        probe("crawl.begun")
        return undertaken

    async def _give_back(self, reason: str) -> None:
        self._log.error("can't begin a crawl", crawl=self.ident, reason=reason)
        now, ownership = self._clock.now(), self._owned
        words = f"back in the queue, since {reason}"
        await self._insist(lambda: queues.release(self._store, ownership, words, now), "give back")
        self.could_begin = False

    @property
    def _owned(self) -> Ownership:
        assert self.ownership is not None
        return self.ownership

    async def _worked(self, undertaken: Undertaken) -> None:
        settings = await patiently(lambda: crawls.settings(self._store, self.ident))
        if settings is None:
            raise CrawlLost(f"the record of {self.ident} is gone")
        earlier = await self._use.shop.earlier(undertaken.crawl)
        shop = self._use.shop
        parts = (self._folder, undertaken, shop.settings, shop.clock, boot_id(), earlier)
        work = await CrawlWork(*parts).recovered()
        try:
            self.run = run = CrawlRun(work, undertaken.crawl, settings, shop)
            ending = await self._ended(run, undertaken)
        finally:
            self.run = None
            work.close()
        await self._finish(ending)
        probe("crawl.finished")
        await self._use.end.leave(self._folder, undertaken, ending.files)

    async def _ended(self, run: CrawlRun, undertaken: Undertaken) -> Ending:
        shipper = LogShipper(
            self._store, self._owned, run.work.frontier, partial(self._set_trouble, "log")
        )

        def committed() -> None:
            if self._clock.monotonic() - self._failed_at > _STEADY:
                self._set_trouble("disk", "")
            shipper.committed()

        run.on_commit = committed
        async with asyncio.TaskGroup() as group:
            shipping = group.create_task(shipper.run())
            if run.work.end is None:
                if run.work.is_new:
                    report = partial(self._set_trouble, "list")
                    await self._use.lists.begin(run, undertaken, report)
                await run.run()
            ending = await self._use.end.complete(run, undertaken)
            shipping.cancel()
        await shipper.ship()
        return ending

    async def _finish(self, ending: Ending) -> None:
        ownership = self._owned
        await self._insist(lambda: finishing.finish(self._store, ownership, ending), "end")
        self.has_ended = True

    async def _fail(self, error: Exception) -> None:
        """What it has fetched is kept."""
        reason = f"The pipeline failed: {type(error).__name__}: {error}"[:2_000]
        await self._keep(reason)
        await self._finish(Ending(failure=reason, finished_at=self._clock.now()))

    async def _keep(self, failure: str = "") -> None:
        if self._undertaken is None:
            return
        end, folder = self._use.end, self._folder
        while problem := await end.interrupt(folder, self._undertaken, failure):
            words = f"the pipeline can't keep its files: {problem}"
            self._set_trouble("disk", f"{failure}; {words}" if failure else words)
            await asyncio.sleep(_AGAIN)

    async def _insist(self, attempt: Callable[[], Awaitable[T]], task: str) -> T:
        """Tries until the store takes it; meanwhile the crawl is in trouble."""
        report = partial(self._set_trouble, task)
        answer = await enduring(partial(patiently, attempt), "pipeline", f"{task} a crawl", report)
        report("")
        return answer

    def _set_trouble(self, kind: str, reason: str) -> None:
        self._troubles.pop(kind, None)
        if reason:
            self._troubles[kind] = reason


def _first(error: Exception) -> Exception:
    """The first cause within groups of errors."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
