"""Announces in chat which crawls have ended, and which pipelines came and went."""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from watchbell.archive import announcements, phrases, pipelines
from watchbell.archive.announcements import Notice
from watchbell.archive.crawl_records import crawl_of
from watchbell.archive.keys import Crawls
from watchbell.archive.model import CrawlState
from watchbell.clock import Clock
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.live import listen

_LOOK_EVERY = 15.0
"""Seconds between two looks without news."""
_STALE = 86_400
"""Seconds after which the end of a crawl is no news any longer."""
_ENDS: dict[str, CrawlState] = {"aborted": "aborted", "failed": "failed"}


class Outlet(Protocol):
    """A chat in which things are announced."""

    def places(self) -> Sequence[str]:
        """Channels or rooms that can be reached at the moment."""

    async def announce(self, place: str, text: str) -> bool:
        """Returns once it is sent; False if it could not be."""


class Announcer:
    def __init__(
        self, store: Store, outlet: Outlet, clock: Clock, *, with_pipelines: bool = True
    ) -> None:
        """`with_pipelines`: whether it announces which pipelines came and went."""
        self._store, self._outlet, self._clock = store, outlet, clock
        self._with_pipelines = with_pipelines
        self._pipelines: dict[str, str] | None = None
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Runs until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            group.create_task(enduring(self._look_again, "archive", "announce in chat"))

    async def _listen(self) -> None:
        async for _ in listen(self._store, Crawls(self._store.prefix).news()):
            self._news.set()

    async def _look_again(self) -> None:
        while True:
            self._news.clear()
            await patiently(self.look)
            try:
                async with asyncio.timeout(_LOOK_EVERY):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def look(self) -> None:
        """Announces what is new. What can't be announced at the moment waits."""
        await self._announce_ended()
        if self._with_pipelines:
            await self._announce_pipelines()

    async def _announce_ended(self) -> None:
        places = set(self._outlet.places())
        for notice in await announcements.ended(self._store):
            if notice.started_in not in places:
                continue
            text = _text(notice, self._clock.now())
            if not text or await self._outlet.announce(notice.started_in, text):
                await announcements.done(self._store, notice)

    async def _announce_pipelines(self) -> None:
        """Those that are there at the first look are no news."""
        found = {one.record.id: one.name for one in await pipelines.every(self._store)}
        known, self._pipelines = self._pipelines, found
        if known is None:
            return
        texts = [
            phrases.pipeline_appeared(name, id_) for id_, name in found.items() if id_ not in known
        ]
        texts += [
            phrases.pipeline_vanished(name, id_) for id_, name in known.items() if id_ not in found
        ]
        for place in self._outlet.places():
            for text in texts:
                await self._outlet.announce(place, text)


def _text(notice: Notice, now: float) -> str:
    """Empty for one that is too old, or makes no sense."""
    try:
        found = msgspec.json.decode(notice.text.decode(errors="replace"), type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return ""
    fields = {name: str(value) for name, value in found.items() if value not in (None, False)}
    crawl = crawl_of(notice.ident, fields, {})
    if crawl is None or (crawl.finished_at is not None and now - crawl.finished_at > _STALE):
        return ""
    return phrases.finished(crawl, _ENDS.get(notice.state, "completed"))
