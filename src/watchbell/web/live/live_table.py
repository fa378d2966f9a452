"""A live table: the rows of a domain in memory, current while somebody uses them.

It is loaded at the first request, and dropped when nobody has used it for a while. A domain
gives a `Source`, from which rows are read, and `Rules` by which they are filtered, sorted and
counted; see `watchbell.web.alerting.check_table`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, NamedTuple

from watchbell import logs
from watchbell.clock import Clock
from watchbell.errors import StoreUnavailable
from watchbell.store.client import Store
from watchbell.web.live.background import Background
from watchbell.web.live.row_loader import Idle, RowLoader, Source
from watchbell.web.live.row_store import RowStore
from watchbell.web.live.views import C, F, R, Rules, View, Watch

IDLE = 300.0
"""Seconds without a reader after which the table is given up."""


class Watching(NamedTuple, Generic[R, F, C]):
    rows: RowStore[R, F, C]
    view: View[R, F, C]
    watch: Watch


class LiveTable(Generic[R, F, C]):
    def __init__(
        self,
        name: str,
        store: Store,
        clock: Clock,
        background: Background,
        source: Callable[[], Source[R]],
        rules: Rules[R, F, C],
    ) -> None:
        self._name, self._source, self._rules = name, source, rules
        self._store, self._clock, self._background = store, clock, background
        self._loader: RowLoader[R, F, C] | None = None
        self._used, self._watching = 0.0, 0

    @property
    def is_loaded(self) -> bool:
        return self._loader is not None and self._loader.loaded.done()

    def begin(self) -> RowLoader[R, F, C]:
        """Starts loading in the background."""
        self._used = self._clock.monotonic()
        if self._loader is None:
            self._loader = RowLoader(
                self._store, self._clock, self._source(), self._rules, self._is_idle
            )
            self._background.begin(self._run(self._loader))
        return self._loader

    async def view(
        self, wanted: F, sort: str | None = None
    ) -> tuple[RowStore[R, F, C], View[R, F, C]]:
        """The rows that match; current until the next await."""
        loader = self.begin()
        await asyncio.shield(loader.loaded)
        return loader.rows, await loader.rows.view(wanted, sort)

    @asynccontextmanager
    async def watching(self, wanted: F) -> AsyncIterator[Watching[R, F, C]]:
        rows, view = await self.view(wanted)
        watch = Watch()
        self._watching += 1
        view.watches.add(watch)
        if rows.is_over:
            watch.end()
        try:
            yield Watching(rows, view, watch)
        finally:
            view.watches.discard(watch)
            self._watching -= 1
            self._used = self._clock.monotonic()

    def _is_idle(self) -> bool:
        return not self._watching and self._used + IDLE < self._clock.monotonic()

    async def _run(self, loader: RowLoader[R, F, C]) -> None:
        log = logs.get(role="web", table=self._name)
        error: BaseException = RuntimeError("the live table is given up")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(loader.listen())
                group.create_task(loader.keep())
        except* Idle:
            log.debug("nobody looks at the live table", rows=len(loader.rows.rows))
        except* StoreUnavailable as away:
            error = away.exceptions[0]
        except* Exception as failed:  # the next request loads it again
            log.exception("the live table failed", exc_info=failed)
        finally:
            self._loader = None
            loader.end(error)
