"""Writes what runs print and how they end: in order, in batches, however long that has to wait.

Where it is written is an argument: for cron a script of the store, for an agent the link to its
server.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from watchbell.runs.output_lines import Lines

_MOST_BYTES = 1 << 20
_MOST_RESULTS = 200
_GATHER_LINES, _GATHER_RESULTS = 0.2, 0.01
"""Seconds for which more may arrive to be written in the same batch."""
_MOST_GATHERED = 256 << 10


class Result(Protocol):
    """How a run ended."""

    @property
    def run(self) -> str: ...
    @property
    def size(self) -> int:
        """Bytes."""


R = TypeVar("R", bound=Result)
O = TypeVar("O")  # noqa: E741 the outcome of writing a result


class Unwritten(Struct, Generic[R], frozen=True):
    """What a run printed, or how it ended."""

    run: str
    lines: Lines | None = None
    final: R | None = None


Sink = Callable[[Sequence[Unwritten[R]]], Awaitable[Sequence[O]]]
"""Writes a batch, in order, and returns the outcome of each of its results. It returns once all of
it is written, and bears being called again with a batch that it had written before."""


class _Item(NamedTuple, Generic[R, O]):
    size: int
    content: Unwritten[R]
    done: "asyncio.Future[O] | None" = None


class RunWriter(Generic[R, O]):
    def __init__(self, sink: Sink[R, O]) -> None:
        self._sink = sink
        self._queue: deque[_Item[R, O]] = deque()
        self._news = asyncio.Event()
        self._hurry = asyncio.Event()
        self.unwritten = 0
        """Bytes that wait to be written."""

    def print(self, run: str, lines: Lines) -> None:
        if lines.scored or lines.drop:
            size = sum(len(text) + 40 for _, text in lines.scored)
            self._add(_Item(size, Unwritten(run, lines)))

    async def finish(self, result: R) -> O:
        """Returns once it is written, after everything that was printed before."""
        done: asyncio.Future[O] = asyncio.get_running_loop().create_future()
        self._add(_Item(result.size, Unwritten(result.run, final=result), done))
        return await done

    def _add(self, item: _Item[R, O]) -> None:
        self._queue.append(item)
        self.unwritten += item.size
        self._news.set()
        if item.done or self.unwritten > _MOST_GATHERED:
            self._hurry.set()

    async def run(self) -> None:
        if self._queue:  # left by a batch that failed
            self._news.set()
            self._hurry.set()
        while True:
            await self._news.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(_GATHER_LINES):
                    await self._hurry.wait()
            await asyncio.sleep(_GATHER_RESULTS)
            self._news.clear()
            self._hurry.clear()
            while batch := self._batch():
                await self._write(batch)
                for item in batch:
                    self._queue.popleft()
                    self.unwritten -= item.size

    def left(self) -> list[Unwritten[R]]:
        """What is not written yet, in order."""
        return [item.content for item in self._queue]

    def _batch(self) -> list[_Item[R, O]]:
        batch: list[_Item[R, O]] = []
        size = results = 0
        for item in self._queue:
            if size >= _MOST_BYTES or results >= _MOST_RESULTS:
                break
            batch.append(item)
            size += item.size
            results += item.content.final is not None
        return batch

    async def _write(self, batch: Sequence[_Item[R, O]]) -> None:
        outcomes = await self._sink([item.content for item in batch])
        results = [item for item in batch if item.content.final is not None]
        for item, outcome in zip(results, outcomes, strict=True):
            if item.done and not item.done.done():
                item.done.set_result(outcome)
