"""The board: a row for every check in memory, as long as somebody looks, and kept current.

It is loaded when it is first asked for. Then it hears of what changes by the channels of alerting,
reads again whatever has a window that begins or ends, and goes slowly over all checks for what
nobody tells: what other programs wrote, and what steady checks say.
"""

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from watchbell import logs
from watchbell.alerting import change_feed
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import split_id
from watchbell.clock import Clock
from watchbell.errors import StoreUnavailable
from watchbell.store import replies
from watchbell.store.client import Store, patiently
from watchbell.store.live import Gap, listen
from watchbell.web.alerting import check_tags
from watchbell.web.alerting.check_filter import CheckFilter, Sort
from watchbell.web.alerting.check_rows import SLICE, CheckRow, Read, Reader
from watchbell.web.alerting.check_tags import Tags
from watchbell.web.alerting.row_store import RowStore
from watchbell.web.alerting.views import View, Watch
from watchbell.web.live.background import Background, at_once

IDLE = 300.0
"""Seconds for which nobody looked, after which it is given up."""
GATHER = 0.1
"""Seconds for which news are gathered before the checks are read."""
SWEPT = 400
"""Checks a second that are read without having been told of."""
ROUND = 15.0
"""Seconds that a round over all checks takes at least."""
AT_ONCE = 2
"""Slices that are read at the same time."""
_SUBSCRIBED = 5.0


class _Idle(Exception):
    """Nobody looks any more."""


class CheckTable:
    """What is asked for. It begins and ends by itself."""

    def __init__(self, store: Store, clock: Clock, background: Background) -> None:
        self._store, self._clock, self._background = store, clock, background
        self._kept: _Kept | None = None
        self._used, self._watching = 0.0, 0

    @property
    def is_loaded(self) -> bool:
        return self._kept is not None and self._kept.loaded.done()

    async def view(self, wanted: CheckFilter, sort: Sort | None = None) -> tuple[RowStore, View]:
        """The rows that are meant; current until the loop goes on."""
        kept = self.begin()
        await asyncio.shield(kept.loaded)
        return kept.ledger, await kept.ledger.view(wanted, sort)

    def begin(self) -> "_Kept":
        """Has it loaded, for who does not want to wait for that."""
        self._used = self._clock.monotonic()
        if self._kept is None:
            self._kept = _Kept(self._store, self._clock, self._is_idle)
            self._background.begin(self._run(self._kept))
        return self._kept

    @asynccontextmanager
    async def watching(self, wanted: CheckFilter) -> AsyncIterator["Watching"]:
        ledger, view = await self.view(wanted)
        watch = Watch()
        self._watching += 1
        view.watches.add(watch)
        if ledger.is_over:
            watch.end()
        try:
            yield Watching(ledger, view, watch)
        finally:
            view.watches.discard(watch)
            self._watching -= 1
            self._used = self._clock.monotonic()

    @property
    def windows_changed(self) -> int:
        """How often maintenance was told to have changed since the board was loaded; -1 before."""
        kept = self._kept
        return kept.windows_changed if kept and kept.loaded.done() else -1

    async def read(self, names: Iterable[str]) -> dict[str, CheckRow]:
        """These checks as they are in the store at this moment; those that there are not are
        missing."""
        reader, found, asked = Reader(self._store), dict[str, CheckRow](), list(names)
        for first in range(0, len(asked), SLICE):
            some = await reader.read(asked[first : first + SLICE], int(self._clock.now()))
            found |= {name: one.row for name, one in some.items()}
        return found

    def _is_idle(self) -> bool:
        return not self._watching and self._used + IDLE < self._clock.monotonic()

    async def _run(self, kept: "_Kept") -> None:
        log = logs.get(role="web")
        error: BaseException = RuntimeError("the board is given up")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(kept.listen())
                group.create_task(kept.keep())
        except* _Idle:
            log.debug("nobody looks at the board", checks=len(kept.ledger.rows))
        except* StoreUnavailable as away:
            error = away.exceptions[0]
        except* Exception as failed:  # it begins anew when it is asked for
            log.exception("the board failed", exc_info=failed)
        finally:
            self._kept = None
            kept.end(error)


class Watching(NamedTuple):
    ledger: RowStore
    view: View
    watch: Watch


class _Kept:
    """A ledger, and what keeps it current."""

    def __init__(self, store: Store, clock: Clock, is_idle: Callable[[], bool]) -> None:
        self._store, self._clock, self._is_idle = store, clock, is_idle
        own, self._all = AlertingOwn(store.prefix), Alerting(store.prefix).all_checks()
        self._channels = own.changed_checks(), own.changed_windows()
        self.ledger = RowStore()
        self.loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.windows_changed = 0
        self._reader, self._tags = Reader(store), Tags()
        self._reported: dict[str, tuple[str, ...]] = {}
        self._told: dict[str, None] = {}
        self._stirred, self._cut = asyncio.Event(), asyncio.Event()
        self._writing = asyncio.Lock()
        self._wakes: dict[str, int] = {}
        self._alarms: list[tuple[int, str]] = []

    def end(self, error: BaseException) -> None:
        if not self.loaded.done():
            self.loaded.set_exception(error)
            self.loaded.exception()  # so that it was seen, where nobody waits any more
        self.ledger.end()

    async def listen(self) -> None:
        async with aclosing(listen(self._store, *self._channels)) as heard:
            async for item in heard:
                if isinstance(item, Gap):
                    self._cut.set()
                    continue
                self.windows_changed += item.channel == self._channels[1]
                self._told |= dict.fromkeys(change_feed.heard(item.body))
                self._stirred.set()

    async def keep(self) -> None:
        try:
            async with asyncio.timeout(_SUBSCRIBED):
                await self._cut.wait()
        except TimeoutError:
            raise StoreUnavailable("the store's live channels do not answer") from None
        self._cut.clear()
        await self._survey(0)
        self.loaded.set_result(None)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._sweep())

    async def _sweep(self) -> None:
        """Goes over all checks, slowly; at once where news may have been missed."""
        while True:
            await self._pause(ROUND)
            pause = 0 if self._cut.is_set() else 1 / SWEPT
            self._cut.clear()
            await patiently(partial(self._survey, pause))

    async def _pause(self, seconds: float) -> None:
        """Ends early where news may have been missed."""
        if self._is_idle():
            raise _Idle
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._cut.wait()

    async def _survey(self, pause: float) -> None:
        """Reads every check, with so many seconds for each; drops those that there are no more."""
        await self._retag()
        before = set(self.ledger.rows)
        async for page in replies.scored_members(self._store, self._all):
            names = [name for name, _ in page]
            await self._take(names)
            before.difference_update(names)
            if pause:
                await self._pause(len(names) * pause)
        self._reader.forget_summaries()
        await self._take(before)

    async def _follow(self) -> None:
        """Reads what was told of, and what has a window that begins or ends."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._until_alarm()):
                    await self._stirred.wait()
                    await asyncio.sleep(GATHER)
            self._stirred.clear()
            told, self._told = self._told, {}
            checks = [name for name in told if split_id(name)[1]]
            if len(checks) < len(told):  # of an entity, its tags may be others
                await patiently(self._retag)
            await patiently(partial(self._take, [*checks, *self._ringing()]))

    def _until_alarm(self) -> float | None:
        return max(self._alarms[0][0] - self._clock.now(), 0) if self._alarms else None

    def _ringing(self) -> Iterable[str]:
        now = self._clock.now()
        while self._alarms and self._alarms[0][0] <= now:
            time, name = heapq.heappop(self._alarms)
            if self._wakes.get(name) == time:
                del self._wakes[name]
                yield name

    async def _retag(self) -> None:
        async with self._writing:
            self._tags = await check_tags.read(self._store)
            rows = list(self.ledger.rows.values())
            self.ledger.write(
                (row, replace(row, tags=now))
                for row in rows
                if row.tags != (now := self._tags_of(row))
            )

    def _report(self, name: str, tags: tuple[str, ...]) -> None:
        if tags:
            self._reported[name] = tags
        else:
            self._reported.pop(name, None)

    def _tags_of(self, row: CheckRow) -> tuple[str, ...]:
        return self._tags.of(row.id, row.entity, self._reported.get(row.id, ()))

    async def _take(self, names: Iterable[str]) -> None:
        """Reads these checks. One takes at a time, so that nothing older takes their place; the
        store reads some of them while we write others into the ledger."""
        distinct = list(dict.fromkeys(names))
        slices = (distinct[first : first + SLICE] for first in range(0, len(distinct), SLICE))
        async with self._writing:
            await at_once(min(AT_ONCE, len(distinct)), partial(self._take_each, slices))

    async def _take_each(self, slices: Iterator[list[str]]) -> None:
        for some in slices:
            found = await self._reader.read(some, int(self._clock.now()))
            self.ledger.write(self._compared(some, found))

    def _compared(
        self, names: Iterable[str], found: Mapping[str, Read]
    ) -> Iterator[tuple[CheckRow | None, CheckRow | None]]:
        """The rows that are others than they were, each after what it was."""
        for name in names:
            old, new, read = self.ledger.rows.get(name), None, found.get(name)
            if read is not None:
                self._report(name, read.tags)
                given = self._tags_of(read.row)
                new = replace(read.row, tags=given) if given else read.row
            self._set_alarm(name, read.wakes if read else None)
            if old != new:
                yield old, new

    def _set_alarm(self, name: str, time: int | None) -> None:
        if time is None:
            self._wakes.pop(name, None)
        elif self._wakes.get(name) != time:
            self._wakes[name] = time
            heapq.heappush(self._alarms, (time, name))
            if self._alarms[0] == (time, name):
                self._stirred.set()
