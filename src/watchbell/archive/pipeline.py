"""A pipeline: takes crawls from the queues, and works on many of them at once."""

import asyncio
import shutil
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from msgspec.structs import replace
from redis.exceptions import ResponseError

from watchbell import ids, logs
from watchbell.archive import crawl_folder, leases, pipeline_record, pipelines, queues
from watchbell.archive.crawl_end import CrawlEnd
from watchbell.archive.crawl_folder import CrawlFolder
from watchbell.archive.crawl_run import Workshop
from watchbell.archive.crawl_task import CrawlTask, Equipment
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.model import Limits, networks
from watchbell.archive.grabbing.browser import Browser
from watchbell.archive.model import Ownership
from watchbell.archive.model import Pipeline as Record
from watchbell.archive.pipeline_folder import PipelineFolder
from watchbell.archive.pipelines import Capacity
from watchbell.archive.politeness import USUAL, Waits
from watchbell.archive.settings_watch import SettingsWatch
from watchbell.archive.start_urls import StartUrls
from watchbell.archive.uploading import targets
from watchbell.archive.uploading.pending_uploads import PendingUploads
from watchbell.archive.uploading.uploader import Uploader
from watchbell.clock import Clock
from watchbell.files.objects import Files
from watchbell.http.networks import Networks
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.units import in_bytes

T = TypeVar("T")

_EVERY = 1.0
_LOOK = 0.5
"""Seconds between two looks into empty queues."""
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 60.0
"""Seconds until the next crawl is taken after one that could not begin."""


class Pipeline:
    def __init__(
        self,
        store: Store,
        settings: Settings,
        data: Path,
        files: Files,
        clock: Clock,
        say: Callable[[str], None],
        *,
        limits: Limits | None = None,
        reachable: Networks | None = None,
        waits: Waits = USUAL,
    ) -> None:
        """`reachable` are the networks that crawls may connect to, by default those of the
        settings."""
        size = settings.most_size << 20
        self._limits = replace(limits or Limits(), size=size)
        self._reachable = reachable or networks(allow_private=settings.allow_private)
        self._waits = waits
        self._store, self._settings, self._clock, self._say = store, settings, clock, say
        self._folder = PipelineFolder(data)
        self._files = files
        target = targets.opened(settings.upload, files, data)
        uploads = PendingUploads(self._folder.uploads) if target else None
        self._end = CrawlEnd(settings, data, uploads, clock)
        self._uploader: Uploader | None = None
        if target and uploads:
            parts = (store, target, self._end.finished, uploads, clock)
            self._uploader = Uploader(*parts, keeps=settings.upload.keep)
        self._nickname = settings.nickname or socket.gethostname()
        self._fqdn = socket.getfqdn()
        self._tasks: dict[CrawlTask, asyncio.Task[None]] = {}
        self._watch = SettingsWatch(store, clock)
        self._is_stopping = False
        self._no_space = ""
        """Why crawls pause; empty while the disk has space."""
        self._pause, self._not_before = _FIRST_PAUSE, 0.0
        self._log = logs.get(role="pipeline")

    @property
    def crawls(self) -> int:
        """How many it works on."""
        return len(self._tasks)

    def stop(self) -> None:
        """Takes no more crawls, and ends after those that run."""
        self._is_stopping = True

    async def run(self) -> None:
        """Until it is stopped, and its crawls have ended. Cancelled, it leaves them on its disk,
        for the next pipeline of its folder. Raises Refused if the folder is in use."""
        with self._folder.locked():
            self._id = self._folder.pipeline_id()
            fetcher = Fetcher(self._reachable, self._folder.spools, self._limits, clock=self._clock)
            self._browser = Browser(self._settings.browser, self._folder.browser, self._clock)
            shop = Workshop(
                *(fetcher, self._settings, self._clock, lambda: not self._no_space),
                finished=self._end.finished,
                waits=self._waits,
                browser=self._browser,
            )
            lists = StartUrls(
                *(fetcher, self._store, self._files, self._waits.retry),
                has_browser=self._browser.is_there,
            )
            self._equipment = Equipment(self._store, shop, lists, self._end, self._folder.crawls)
            try:
                await self._work()
            finally:
                await self._browser.close()
                fetcher.close()
            with suppress(ResponseError):  # a spoilt key must not keep the process
                await patiently(lambda: pipelines.say_goodbye(self._store, self._id))

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            await self._insist(self._report, "report")
            background = [
                group.create_task(self._repeat(self._beat, "renew leases")),
                group.create_task(self._repeat(self._report, "report")),
                group.create_task(self._watch_space()),
                group.create_task(self._browser.watch()),
            ]
            if self._uploader:
                background.append(group.create_task(self._uploader.run()))
            await self._take_up(group)
            await self._take(group)
            for task in background:
                task.cancel()

    async def _insist(self, attempt: Callable[[], Awaitable[T]], task: str) -> T:
        """Tries until the store is there and takes it."""
        return await enduring(partial(patiently, attempt), "pipeline", task, self._say)

    async def _repeat(self, step: Callable[[], Awaitable[None]], task: str) -> None:
        while True:
            await self._insist(step, task)
            await asyncio.sleep(_EVERY)

    # Taking crawls.

    async def _take_up(self, group: asyncio.TaskGroup) -> None:
        """What a pipeline before this one has left in the folder, and what it had just taken."""
        crawl_folder.clear(self._folder.crawls)
        for folder in list(crawl_folder.every(self._folder.crawls)):
            undertaken = folder.undertaken()
            if undertaken is None:
                self._discard(folder)
                continue
            ident = undertaken.crawl.ident
            ownership = await self._resume(ident, is_fresh=False)
            self._start(group, CrawlTask(ident, ownership, self._equipment, folder, undertaken))
        known = {one.ident for one in self._tasks}
        for ident in await self._insist(lambda: queues.owned(self._store, self._id), "take up"):
            if ident not in known:
                ownership = await self._resume(ident, is_fresh=True)
                if ownership:
                    self._start(group, CrawlTask(ident, ownership, self._equipment))

    def _discard(self, folder: CrawlFolder) -> None:
        if folder.has_content:
            self._log.error("a crawl can't be read, and begins again", folder=str(folder.path))
            self._end.set_aside(folder)
        else:
            folder.remove()

    async def _resume(self, ident: str, *, is_fresh: bool) -> Ownership | None:
        resume = partial(
            queues.resume,
            *(self._store, ident, self._id, self._nickname),
            lease=self._settings.lease,
            is_fresh=is_fresh,
        )
        return await self._insist(resume, "take up a crawl")

    async def _take(self, group: asyncio.TaskGroup) -> None:
        while not (self._is_stopping and not self._tasks and not self._is_uploading):
            ownership = await self._reserve() if self._takes_more else None
            if ownership and self._is_stopping:
                await self._give_back(ownership)
            elif ownership:
                self._start(group, CrawlTask(ownership.ident, ownership, self._equipment))
            else:
                await asyncio.sleep(_LOOK)

    @property
    def _takes_more(self) -> bool:
        has_place = len(self._tasks) < self._settings.concurrent and not self._no_space
        is_time = self._clock.monotonic() >= self._not_before
        return has_place and is_time and not self._is_stopping

    @property
    def _is_uploading(self) -> bool:
        """False also while what is left can't be uploaded."""
        return self._uploader is not None and not self._uploader.is_idle

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
        return await self._insist(reserve, "take a crawl")

    async def _give_back(self, ownership: Ownership) -> None:
        """It was stopped while it took the crawl."""
        words, now = "back in the queue, since its pipeline is stopping", self._clock.now()
        release = partial(queues.release, self._store, ownership, words, now)
        await self._insist(release, "give back a crawl")

    def _start(self, group: asyncio.TaskGroup, crawl: CrawlTask) -> None:
        earlier = [task for one, task in self._tasks.items() if one.ident == crawl.ident]
        name = f"crawl {crawl.ident}"
        self._tasks[crawl] = group.create_task(self._work_on(crawl, earlier), name=name)

    async def _work_on(self, crawl: CrawlTask, earlier: list[asyncio.Task[None]]) -> None:
        try:
            if earlier:  # it was lost here, and its files are being kept
                await asyncio.wait(earlier)
            await crawl.work()
        finally:
            del self._tasks[crawl]
            self._watch.forget(crawl.ident)
            if self._uploader:
                self._uploader.look_again()
        if crawl.could_begin:
            self._pause = _FIRST_PAUSE
        else:
            self._not_before = self._clock.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    # Every second.

    async def _beat(self) -> None:
        held = {
            one.ownership: one
            for one in self._tasks
            if one.ownership and not (one.is_lost or one.has_ended)
        }
        troubles = {right: one.trouble or self._no_space for right, one in held.items()}
        lease = self._settings.lease
        for right in await leases.beat(self._store, [*held], lease, troubles):
            self._lose(held.pop(right))
        changed = await self._watch.changed([one.ident for one in held.values()])
        for one in held.values():
            if one.ident not in changed:
                continue
            if one.run:
                one.run.apply(changed[one.ident])
            else:
                self._watch.forget(one.ident)  # it is being opened, perhaps with older ones

    def _lose(self, crawl: CrawlTask) -> None:
        crawl.is_lost = True
        task = self._tasks.get(crawl)
        if task:
            task.cancel()

    async def _report(self) -> None:
        capacity = Capacity(
            concurrent=self._settings.concurrent,
            running=len(self._tasks),
            only_pages=self._settings.only_pages,
            large=self._settings.large,
            has_space=not self._no_space,
            uploads=self._uploader.progress() if self._uploader else None,
        )
        if await pipelines.report(self._store, self._record(), capacity):
            self.stop()
        self._say(self._status())

    def _status(self) -> str:
        words = f"crawls: {len(self._tasks)}"
        return f"{words}; {self._no_space}" if self._no_space else words

    def _record(self) -> Record:
        status: Literal["Running", "Stopping"] = "Stopping" if self._is_stopping else "Running"
        identity = (self._id, self._nickname, self._fqdn)
        return pipeline_record.record(*identity, self._folder.path, status, self._clock.now())

    async def _watch_space(self) -> None:
        while True:
            self._check_space()
            await asyncio.sleep(_EVERY)

    def _check_space(self) -> None:
        least = self._settings.reserve << 20
        places = [one for one in (self._folder.path, self._end.finished) if one.exists()]
        free = min(shutil.disk_usage(one).free for one in places)
        if free > (least * 1.1 if self._no_space else least):
            if self._no_space:
                self._no_space = ""
                self._tell_crawls("The disk has space again; the crawl goes on.")
        elif not self._no_space:
            self._no_space = (
                f"the disk has {in_bytes(free)} left, and {in_bytes(least)} are kept free"
                " (archive.reserve)"
            )
            self._tell_crawls(f"The crawl pauses: {self._no_space}.")

    def _tell_crawls(self, message: str) -> None:
        for crawl in self._tasks:
            if crawl.run:
                crawl.run.work.log(message)
                crawl.run.wake()
