"""Writes output and results of runs in order and in batches, and holds them while that must wait.

The caller passes the sink: cron a script of the store, an agent the link to its server.
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
    """Output or result of a run that is not written yet."""

    run: str
    lines: Lines | None = None
    final: R | None = None


Sink = Callable[[Sequence[Unwritten[R]]], Awaitable[Sequence[O]]]
"""Writes a batch in order, and returns the outcome of each of its results once all is written. May
be called again with a batch that it has written before."""


class _Item(NamedTuple, Generic[R, O]):
    size: int
    content: Unwritten[R]
    done: "asyncio.Future[O] | None" = None


class RunWriter(Generic[R, O]):
    def __init__(self, sink: Sink[R, O]) -> None:
        self._sink = sink
        self._queue: deque[_Item[R, O]] = deque()
        self._arrived = asyncio.Event()
        self._write_now = asyncio.Event()
        self.unwritten = 0
        """Bytes that wait to be written."""

    def print(self, run: str, lines: Lines) -> None:
        if lines.scored or lines.drop:
            size = sum(len(text) + 40 for _, text in lines.scored)
            self._add(_Item(size, Unwritten(run, lines)))

    async def finish(self, result: R) -> O:
        """Returns once the result is written, after all earlier output."""
        done: asyncio.Future[O] = asyncio.get_running_loop().create_future()
        self._add(_Item(result.size, Unwritten(result.run, final=result), done))
        return await done

    def _add(self, item: _Item[R, O]) -> None:
        self._queue.append(item)
        self.unwritten += item.size
        self._arrived.set()
        if item.done or self.unwritten > _MOST_GATHERED:
            self._write_now.set()

    async def run(self) -> None:
        if self._queue:  # after a batch that failed
            self._arrived.set()
            self._write_now.set()
        while True:
            await self._arrived.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(_GATHER_LINES):
                    await self._write_now.wait()
            await asyncio.sleep(_GATHER_RESULTS)
            self._arrived.clear()
            self._write_now.clear()
            while batch := self._batch():
                await self._write(batch)
                for item in batch:
                    self._queue.popleft()
                    self.unwritten -= item.size

    def left(self) -> list[Unwritten[R]]:
        """All that is not written yet, in order."""
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
