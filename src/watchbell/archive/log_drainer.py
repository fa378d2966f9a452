"""The drainer: counts, broadcasts and trims the logs of all crawls, as they grow."""

import asyncio

from redis.exceptions import ResponseError

from watchbell import logs
from watchbell.archive import announcements, crawls, finishing
from watchbell.archive.keys import Archive
from watchbell.archive.log_draining import AT_ONCE, QUIET, drain, undrained
from watchbell.clock import Clock
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.live import Gap, listen
from watchbell.store.replies import text

_PAUSE = 0.1
"""Seconds in which updates of a crawl are gathered."""
_SWEEP_EVERY = 60.0
"""Seconds between two looks at the logs of all crawls, for messages that were missed."""


class LogDrainer:
    def __init__(self, store: Store, clock: Clock, quiet: float = QUIET) -> None:
        self._store, self._clock, self._quiet = store, clock, quiet
        self._updated: set[str] = set()
        self._has_work = asyncio.Event()
        self._later: dict[str, float] = {}
        """Crawls with entries that are not trimmed yet, and when to look at them again."""
        self._announced: set[str] = set()
        self._spoilt: set[str] = set()
        self._next_sweep = 0.0
        self.drained = 0
        self._log = logs.get(role="archivist")

    async def follow(self) -> None:
        async for item in listen(self._store, Archive(self._store.prefix).updates()):
            if isinstance(item, Gap):
                self._next_sweep = 0.0
            else:
                self._updated.add(text(item.body))
            self._has_work.set()

    async def run(self) -> None:
        while True:
            await enduring(lambda: patiently(self.look), "archivist", "drain logs")
            try:
                async with asyncio.timeout(1):
                    await self._has_work.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(_PAUSE)

    async def look(self) -> None:
        """Drains all logs that have grown, and those whose rest may be trimmed now."""
        now = self._clock.monotonic()
        if now >= self._next_sweep:
            known = await crawls.idents(self._store, self._clock.now())
            self._updated.update(await undrained(self._store, known))
            self._next_sweep = now + _SWEEP_EVERY
            self._announced &= {*known}
            self._spoilt &= {*known}
        self._has_work.clear()
        due = {ident for ident, at in self._later.items() if at <= now}
        for ident in [*self._updated, *(due - self._updated)]:
            await self._drain(ident)
            self._updated.discard(ident)

    async def _drain(self, ident: str) -> None:
        self._later.pop(ident, None)
        try:
            await self._drain_all(ident)
            if ident not in self._announced and await announcements.queue(self._store, ident):
                self._announced.add(ident)
        except ResponseError as error:  # a key of this crawl is of a wrong type
            self._complain(ident, error)

    async def _drain_all(self, ident: str) -> None:
        while (found := await drain(self._store, ident, self._quiet)) is not None:
            self.drained += found.handled
            if found.is_spoilt:
                self._complain(ident)
            if found.is_unrecorded:
                await finishing.record_ended(self._store, ident)
            if found.handled < AT_ONCE:
                if found.left:
                    self._later[ident] = self._clock.monotonic() + self._quiet
                return

    def _complain(self, ident: str, error: Exception | None = None) -> None:
        if ident not in self._spoilt:
            self._spoilt.add(ident)
            self._log.error("the log of a crawl can't be drained", ident=ident, exc_info=error)
