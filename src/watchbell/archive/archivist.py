"""An archivist: drains logs, looks after lost crawls, reports pipelines and keeps the history.

Any number may run; one of them works, under a lock. What it writes compares before, so that two for
a moment do no harm.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from watchbell.alerting import bounded_reports
from watchbell.archive import announcements, history, pipelines, queues
from watchbell.archive.crawl_reaper import CrawlReaper
from watchbell.archive.crawl_watch import LOOK_EVERY
from watchbell.archive.keys import Archive, Crawls
from watchbell.archive.log_drainer import LogDrainer
from watchbell.archive.lua import MOST_EVENTS
from watchbell.archive.pipeline_reporter import PipelineReporter
from watchbell.clock import Clock
from watchbell.errors import LockLost, Refused, StoreUnavailable
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.live import Message, listen
from watchbell.store.lock import locked
from watchbell.store.replies import text

_LEASE = 15.0
_LOOK_AGAIN = 2.0
_HISTORY_EVERY = 3_600.0
_HELD_EVERY = 5.0
_DISCOVERY_EVERY = 2.0
_DISCOVERY_SHARE = 100
"""A search for queues takes at most one part in so many of the time."""

Step = Callable[[], Awaitable[object]]


async def run(
    store: Store,
    settings: Settings,
    clock: Clock,
    say: Callable[[str], None],
    lease: float = _LEASE,
) -> None:
    """Runs until cancelled."""
    while True:
        await enduring(
            lambda: patiently(lambda: _attempt(store, settings, clock, say, lease)),
            "archivist",
            "look after the archive",
        )
        await asyncio.sleep(_LOOK_AGAIN)


async def _attempt(
    store: Store, settings: Settings, clock: Clock, say: Callable[[str], None], lease: float
) -> None:
    with suppress(Refused, LockLost):
        async with locked(store, Crawls(store.prefix).archivist(), lease):
            await Archivist(store, settings, clock).work(say)
    say("another archivist is at work")


class Archivist:
    def __init__(self, store: Store, settings: Settings, clock: Clock) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._drainer = LogDrainer(store, clock)
        self._reaper = CrawlReaper(store, settings, clock)
        self._pipelines = PipelineReporter(store, settings, clock)

    async def work(self, say: Callable[[str], None]) -> None:
        async with asyncio.TaskGroup() as group:
            for name, part in self._parts().items():
                group.create_task(enduring(part, "archivist", name, say), name=name)
            while True:
                say(f"log entries handled: {self._drainer.drained:,}")
                await asyncio.sleep(1)

    def _parts(self) -> dict[str, Callable[[], Awaitable[None]]]:
        held = Crawls(self._store.prefix).unreported()
        return {
            "follow logs": self._drainer.follow,
            "drain logs": self._drainer.run,
            "look after crawls": self._look_after_crawls,
            "notice pipelines": self._notice_pipelines,
            "find queues": self._find_queues,
            "post notices": lambda: _repeat(
                lambda: announcements.post(self._store), announcements.POST_EVERY
            ),
            "return held check events": lambda: _repeat(
                lambda: bounded_reports.return_held(self._store, held, MOST_EVENTS), _HELD_EVERY
            ),
            "remove old history": lambda: _repeat(self._trim_history, _HISTORY_EVERY),
        }

    async def _look_after_crawls(self) -> None:
        while True:
            try:
                await self._reaper.look()
                await self._pipelines.look()
            except StoreUnavailable:
                self._reaper.restart()
                self._pipelines.restart()
            await asyncio.sleep(LOOK_EVERY)

    async def _notice_pipelines(self) -> None:
        """Pipelines of other programs only publish their id when they renew their record."""
        seen = set[str]()
        due = 0.0
        async for item in listen(self._store, Archive(self._store.prefix).pipeline_updates()):
            if isinstance(item, Message):
                seen.add(text(item.body))
            if seen and self._clock.monotonic() >= due:
                await patiently(lambda: pipelines.notice(self._store, seen))
                seen.clear()
                due = self._clock.monotonic() + 1

    async def _find_queues(self) -> None:
        while True:
            begun = self._clock.monotonic()
            await patiently(lambda: queues.discover(self._store))
            took = self._clock.monotonic() - begun
            await asyncio.sleep(max(_DISCOVERY_EVERY, _DISCOVERY_SHARE * took))

    async def _trim_history(self) -> None:
        while await history.trim(self._store, self._clock.now(), self._settings.history_days):
            pass


async def _repeat(step: Step, every: float) -> None:
    while True:
        await patiently(step)
        await asyncio.sleep(every)
