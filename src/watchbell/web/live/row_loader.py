"""Keeps the rows of a live table current: by what is published, by time, and by slow rounds."""

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from watchbell.clock import Clock
from watchbell.errors import StoreUnavailable
from watchbell.store.client import Store, patiently
from watchbell.store.live import Gap, Message, listen
from watchbell.web.live.background import at_once
from watchbell.web.live.row_store import RowStore
from watchbell.web.live.views import C, F, R, Row, Rules

GATHER = 0.1
"""Seconds for which changes are gathered before the rows are read."""
SWEPT = 400
"""Rows a second that are read although nothing was published about them."""
ROUND = 15.0
"""Seconds that a round over all rows takes at least."""
AT_ONCE = 2
"""Slices that are read at the same time."""
SLICE = 250
"""Rows that are read in one step."""
_SUBSCRIBED = 5.0

R_co = TypeVar("R_co", bound=Row, covariant=True)


class Idle(Exception):
    """Nobody uses the table any more."""


class Loaded(Struct, Generic[R_co], frozen=True, gc=False):
    row: R_co
    wakes: int | None = None
    """When it has to be read again, although nothing is published about it then."""


class Published(NamedTuple):
    """What a message of a channel is about."""

    rows: Iterable[str]
    """The ids of rows that may have changed."""
    is_shared: bool = False
    """Whether something that many rows show may have changed."""


class Source(Protocol[R]):
    """Where the rows of a table come from. A new one is made whenever the table is loaded."""

    @property
    def channels(self) -> tuple[str, ...]: ...

    def published(self, message: Message) -> Published: ...

    def ids(self) -> AsyncIterator[Sequence[str]]:
        """The ids of all rows, some at a time."""
        ...

    async def read(self, ids: Sequence[str], now: int) -> Mapping[str, Loaded[R]]:
        """Rows as they are in the store; those that do not exist are missing."""
        ...

    async def load_shared(self) -> None:
        """Loads what many rows show, such as tags."""

    def completed(self, row: R) -> R:
        """The row with what was loaded by `load_shared`; itself where that is nothing new."""
        ...

    def round_ended(self) -> None:
        """A round over all rows has ended."""


class RowLoader(Generic[R, F, C]):
    """A row store, and what keeps it current."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        source: Source[R],
        rules: Rules[R, F, C],
        is_idle: Callable[[], bool],
    ) -> None:
        self._store, self._clock, self._is_idle = store, clock, is_idle
        self.source, self.rows = source, RowStore(rules)
        self.loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pending: dict[str, None] = {}
        self._shared_changed = False
        self._stirred, self._cut = asyncio.Event(), asyncio.Event()
        self._writing = asyncio.Lock()
        self._wakes: dict[str, int] = {}
        self._alarms: list[tuple[int, str]] = []

    def end(self, error: BaseException) -> None:
        if not self.loaded.done():
            self.loaded.set_exception(error)
            self.loaded.exception()  # marks it as retrieved, where nobody waits any more
        self.rows.end()

    async def listen(self) -> None:
        async with aclosing(listen(self._store, *self.source.channels)) as messages:
            async for item in messages:
                if isinstance(item, Gap):
                    self._cut.set()
                    continue
                published = self.source.published(item)
                self._pending |= dict.fromkeys(published.rows)
                self._shared_changed |= published.is_shared
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
        """Goes over all rows, slowly; at once where messages may have been missed."""
        while True:
            await self._pause(ROUND)
            pause = 0 if self._cut.is_set() else 1 / SWEPT
            self._cut.clear()
            await patiently(partial(self._survey, pause))

    async def _pause(self, seconds: float) -> None:
        """Ends early where messages may have been missed."""
        if self._is_idle():
            raise Idle
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._cut.wait()

    async def _survey(self, pause: float) -> None:
        """Reads every row, with so many seconds for each; drops those that no longer exist."""
        await self._load_shared()
        before = set(self.rows.rows)
        async for some in self.source.ids():
            await self._take(some)
            before.difference_update(some)
            if pause:
                await self._pause(len(some) * pause)
        self.source.round_ended()
        await self._take(before)

    async def _follow(self) -> None:
        """Reads the rows that messages were about, and those that wake."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._until_alarm()):
                    await self._stirred.wait()
                    await asyncio.sleep(GATHER)
            self._stirred.clear()
            pending, self._pending = self._pending, {}
            if self._shared_changed:
                self._shared_changed = False
                await patiently(self._load_shared)
            await patiently(partial(self._take, [*pending, *self._ringing()]))

    def _until_alarm(self) -> float | None:
        return max(self._alarms[0][0] - self._clock.now(), 0) if self._alarms else None

    def _ringing(self) -> Iterable[str]:
        now = self._clock.now()
        while self._alarms and self._alarms[0][0] <= now:
            time, name = heapq.heappop(self._alarms)
            if self._wakes.get(name) == time:
                del self._wakes[name]
                yield name

    async def _load_shared(self) -> None:
        async with self._writing:
            await self.source.load_shared()
            rows = list(self.rows.rows.values())
            self.rows.write(
                (row, now) for row in rows if (now := self.source.completed(row)) is not row
            )

    async def _take(self, ids: Iterable[str]) -> None:
        """Reads these rows. Only one task does so at a time, so that nothing older overwrites
        them; the store reads some of them while we write others."""
        distinct = list(dict.fromkeys(ids))
        slices = (distinct[first : first + SLICE] for first in range(0, len(distinct), SLICE))
        async with self._writing:
            await at_once(min(AT_ONCE, len(distinct)), partial(self._take_each, slices))

    async def _take_each(self, slices: Iterator[list[str]]) -> None:
        for some in slices:
            found = await self.source.read(some, int(self._clock.now()))
            self.rows.write(self._compared(some, found))

    def _compared(
        self, ids: Iterable[str], found: Mapping[str, Loaded[R]]
    ) -> Iterator[tuple[R | None, R | None]]:
        """The rows that have changed, each after what it was."""
        for name in ids:
            old, one = self.rows.rows.get(name), found.get(name)
            new = self.source.completed(one.row) if one is not None else None
            self._set_alarm(name, one.wakes if one is not None else None)
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
