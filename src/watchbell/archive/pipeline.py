"""A pipeline: takes crawls from the queues, and works on many of them at once."""

import asyncio
import os
import platform
import shutil
import socket
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct

from watchbell import __version__, ids, logs
from watchbell.archive import crawl_folder, crawls, finishing, leases, pipelines, queues
from watchbell.archive.crawl_end import CrawlEnd
from watchbell.archive.crawl_files import free_base_name
from watchbell.archive.crawl_folder import CrawlFolder, Undertaken
from watchbell.archive.crawl_run import CrawlRun, Workshop
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.model import Limits, networks
from watchbell.archive.log_shipper import CrawlLost, LogShipper
from watchbell.archive.model import Ending, Ownership
from watchbell.archive.model import Pipeline as Record
from watchbell.archive.pipeline_folder import PipelineFolder
from watchbell.archive.pipelines import Capacity
from watchbell.archive.settings_watch import SettingsWatch
from watchbell.archive.start_urls import StartUrls
from watchbell.clock import Clock
from watchbell.files.objects import Files
from watchbell.fleet.agent.sampler import memory_bytes
from watchbell.probes import probe
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store, patiently
from watchbell.units import in_bytes

_EVERY = 1.0
_LOOK = 0.5
"""Seconds between two looks into empty queues."""
_AGAIN = 5.0
"""Seconds until a crawl that could not use its disk is opened again."""


class Running(Struct, eq=False):
    ownership: Ownership
    task: asyncio.Task[None] | None = None
    run: CrawlRun | None = None
    is_lost: bool = False


class Pipeline:
    def __init__(
        self,
        store: Store,
        settings: Settings,
        data: Path,
        files: Files,
        clock: Clock,
        say: Callable[[str], None],
    ) -> None:
        self._store, self._settings, self._clock, self._say = store, settings, clock, say
        self._folder = PipelineFolder(data)
        self._files = files
        self._end = CrawlEnd(settings, data, files, clock)
        self._nickname = settings.nickname or socket.gethostname()
        self._fqdn = socket.getfqdn()
        self._running: dict[str, Running] = {}
        self._watch = SettingsWatch(store, clock)
        self._is_stopping = False
        self._has_space = True
        self._log = logs.get(role="pipeline")

    def stop(self) -> None:
        """Takes no more crawls, and ends after those that run."""
        self._is_stopping = True

    async def run(self) -> None:
        """Until it is stopped, and its crawls have ended. Cancelled, it leaves them on its disk,
        for the next pipeline of its folder. Raises Refused if the folder is in use."""
        with self._folder.locked():
            self._id = self._folder.pipeline_id()
            limits = Limits(size=self._settings.most_size << 20)
            allowed = networks(allow_private=self._settings.allow_private)
            fetcher = Fetcher(allowed, self._folder.spools, limits, clock=self._clock)
            self._lists = StartUrls(fetcher, self._store, self._files, self._clock)
            self._shop = Workshop(
                *(fetcher, self._settings, self._clock, lambda: self._has_space),
                finished=self._end.finished,
            )
            try:
                await self._work()
            finally:
                fetcher.close()
            await patiently(lambda: pipelines.say_goodbye(self._store, self._id))

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            await patiently(self._report)
            beating = group.create_task(self._beat())
            reporting = group.create_task(self._report_regularly())
            await self._take_up(group)
            await self._take(group)
            beating.cancel()
            reporting.cancel()

    # Taking crawls.

    async def _take_up(self, group: asyncio.TaskGroup) -> None:
        """What a pipeline before this one has left in the folder, and what it had just taken."""
        for folder in list(crawl_folder.every(self._folder.crawls)):
            undertaken = folder.undertaken()
            if undertaken is None:
                folder.remove()
                continue
            ownership = await self._resume(undertaken.crawl.ident, is_fresh=False)
            if ownership:
                self._start(group, ownership, folder, undertaken)
            else:
                self._start(group, None, folder, undertaken)
        for ident in await patiently(lambda: queues.owned(self._store, self._id)):
            if ident not in self._running:
                ownership = await self._resume(ident, is_fresh=True)
                if ownership:
                    await self._begin(group, ownership)

    async def _resume(self, ident: str, *, is_fresh: bool) -> Ownership | None:
        resume = partial(
            queues.resume,
            *(self._store, ident, self._id, self._nickname),
            lease=self._settings.lease,
            is_fresh=is_fresh,
        )
        return await patiently(resume)

    async def _take(self, group: asyncio.TaskGroup) -> None:
        while not (self._is_stopping and not self._running):
            ownership = None
            if len(self._running) < self._settings.concurrent and not self._is_stopping:
                ownership = await self._reserve()
            if ownership:
                await self._begin(group, ownership)
            else:
                await asyncio.sleep(_LOOK)

    async def _reserve(self) -> Ownership | None:
        reserve = partial(
            queues.reserve,
            *(self._store, self._id, self._nickname),
            attempt=ids.token(),
            lease=self._settings.lease,
            now=self._clock.now(),
            only_pages=self._settings.only_pages,
            large=self._settings.large,
        )
        return await patiently(reserve)

    async def _begin(self, group: asyncio.TaskGroup, ownership: Ownership) -> None:
        earlier = self._running.get(ownership.ident)
        if earlier and earlier.task:  # it was lost here, and its files are being kept
            await asyncio.wait([earlier.task])
        crawl = await patiently(lambda: crawls.get(self._store, ownership.ident))
        if crawl is None:
            return
        started_at = crawl.started_at or self._clock.now()
        base = free_base_name(crawl, started_at, self._end.finished)
        undertaken = Undertaken(crawl=crawl, base=base)
        path = self._folder.crawls / crawl.ident
        try:
            folder = await asyncio.to_thread(CrawlFolder.begun, path, undertaken)
        except OSError as error:
            await self._give_back(ownership, f"the pipeline can't use its disk: {error}")
            return
        probe("crawl.begun")
        self._start(group, ownership, folder, undertaken)

    async def _give_back(self, ownership: Ownership, reason: str) -> None:
        self._log.error("can't begin a crawl", crawl=ownership.ident, reason=reason)
        now = self._clock.now()
        await patiently(lambda: queues.release(self._store, ownership, reason, now))
        await asyncio.sleep(_AGAIN)

    def _start(
        self,
        group: asyncio.TaskGroup,
        ownership: Ownership | None,
        folder: CrawlFolder,
        undertaken: Undertaken,
    ) -> None:
        """Without ownership, only its files are completed."""
        ident = undertaken.crawl.ident
        running = Running(ownership or Ownership(ident, self._id, 0), is_lost=ownership is None)
        self._running[ident] = running
        running.task = group.create_task(
            self._crawl(running, folder, undertaken), name=f"crawl {ident}"
        )

    # One crawl.

    async def _crawl(self, running: Running, folder: CrawlFolder, undertaken: Undertaken) -> None:
        ident = undertaken.crawl.ident
        try:
            while not running.is_lost:
                if await self._attempted(running, folder, undertaken):
                    break
                await asyncio.sleep(_AGAIN)
            if running.is_lost:
                self._log.warning("a crawl was lost", crawl=ident)
                await self._end.interrupt(folder, undertaken)
        except asyncio.CancelledError:
            if not running.is_lost:
                raise
            await self._end.interrupt(folder, undertaken)
        except Exception as error:  # noqa: BLE001 one crawl must not end the others
            self._log.exception("a crawl failed", crawl=ident)
            await self._fail(running.ownership, folder, undertaken, _first(error))
        finally:
            self._running.pop(ident, None)
            self._watch.forget(ident)

    async def _fail(
        self, ownership: Ownership, folder: CrawlFolder, undertaken: Undertaken, error: Exception
    ) -> None:
        """What it has fetched is kept."""
        await self._end.interrupt(folder, undertaken)
        reason = f"The pipeline failed: {type(error).__name__}: {error}"
        ending = Ending(failure=reason[:2_000], finished_at=self._clock.now())
        await patiently(lambda: finishing.finish(self._store, ownership, ending))

    async def _attempted(
        self, running: Running, folder: CrawlFolder, undertaken: Undertaken
    ) -> bool:
        """Works on it until it has ended. False if it has to be tried again."""
        ident = undertaken.crawl.ident
        problem = ""
        try:
            await self._worked(running, folder, undertaken)
        except* (OSError, sqlite3.OperationalError) as group:
            problem = str(_first(group))
        except* CrawlLost:
            running.is_lost = True
        if problem:
            self._log.error("a crawl can't use its disk", crawl=ident, reason=problem)
        return not problem

    async def _worked(self, running: Running, folder: CrawlFolder, undertaken: Undertaken) -> None:
        ownership = running.ownership
        settings = await patiently(lambda: crawls.settings(self._store, ownership.ident))
        if settings is None:
            raise CrawlLost(f"the record of {ownership.ident} is gone")
        run = CrawlRun(folder, undertaken, settings, self._shop)
        try:
            running.run = run
            ending = await self._ended(run, ownership, undertaken)
        finally:
            running.run = None
            run.work.close()
        await patiently(lambda: finishing.finish(self._store, ownership, ending))
        probe("crawl.finished")
        await asyncio.to_thread(folder.remove)

    async def _ended(self, run: CrawlRun, ownership: Ownership, undertaken: Undertaken) -> Ending:
        shipper = LogShipper(self._store, ownership, run.work.frontier)
        run.on_commit = shipper.committed
        async with asyncio.TaskGroup() as group:
            shipping = group.create_task(shipper.run())
            if run.work.end is None:
                if run.work.is_new:
                    await self._lists.begin(run, undertaken)
                await run.run()
            ending = await self._end.complete(run, undertaken)
            shipping.cancel()
        await shipper.ship()
        return ending

    # Every second.

    async def _beat(self) -> None:
        while True:
            held = {ident: one for ident, one in self._running.items() if not one.is_lost}
            ownerships = [one.ownership for one in held.values()]
            lost = await patiently(
                lambda o=ownerships: leases.beat(self._store, o, self._settings.lease)  # type: ignore[misc]
            )
            for ident in lost:
                self._lose(held[ident])
            changed = await patiently(lambda h=held: self._watch.changed([*h]))  # type: ignore[misc]
            for ident, settings in changed.items():
                run = held[ident].run
                if run:
                    run.apply(settings)
                else:
                    self._watch.forget(ident)  # it is being opened, perhaps with older ones
            await asyncio.sleep(_EVERY)

    def _lose(self, running: Running) -> None:
        running.is_lost = True
        if running.task:
            running.task.cancel()

    async def _report_regularly(self) -> None:
        while True:
            await patiently(self._report)
            self._check_space()
            self._say(f"crawls: {len(self._running)}")
            await asyncio.sleep(_EVERY)

    async def _report(self) -> None:
        capacity = Capacity(
            concurrent=self._settings.concurrent,
            running=len(self._running),
            only_pages=self._settings.only_pages,
            large=self._settings.large,
        )
        if await pipelines.report(self._store, self._record(), capacity):
            self.stop()

    def _record(self) -> Record:
        disk, memory = shutil.disk_usage(self._folder.path), memory_bytes()
        load = os.getloadavg()
        return Record(
            id=self._id,
            nickname=self._nickname,
            hostname=socket.gethostname(),
            fqdn=self._fqdn,
            pid=os.getpid(),
            version=__version__,
            python=platform.python_version(),
            status="Stopping" if self._is_stopping else "Running",
            ts=self._clock.now(),
            disk_usage=_percentage(disk.used, disk.total),
            disk_available=disk.free,
            mem_usage=_percentage(memory["total"] - memory["available"], memory["total"]),
            mem_available=memory["available"],
            load_average_1m=round(load[0], 2),
            load_average_5m=round(load[1], 2),
            load_average_15m=round(load[2], 2),
        )

    def _check_space(self) -> None:
        had, least = self._has_space, self._settings.reserve << 20
        free = shutil.disk_usage(self._folder.path).free
        self._has_space = free > least if had else free > least * 1.1
        if had == self._has_space:
            return
        message = (
            "The disk has space again; the crawl goes on."
            if self._has_space
            else f"The crawl pauses: the disk has {in_bytes(free)} left, and {in_bytes(least)} are"
            " kept free (archive.reserve)."
        )
        for running in self._running.values():
            if running.run:
                running.run.work.log(message)
                running.run.wake()


def _first(error: Exception) -> Exception:
    """The first cause within groups of errors."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _percentage(part: float, whole: float) -> float:
    return round(part / whole * 100, 2) if whole else 0.0
