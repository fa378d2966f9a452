"""Loops of the server that begin when they are first needed, and end with it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any


class Background:
    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None
                for task in self._tasks:
                    task.cancel()

    def begin(self, loop: Coroutine[Any, Any, None]) -> None:
        """A loop that raises nothing, or all others end with it."""
        assert self._group is not None, "the server is not running"
        task = self._group.create_task(loop)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def at_once(number: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """So many of the same, until all have ended; the first that fails ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(number):
                group.create_task(work())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
