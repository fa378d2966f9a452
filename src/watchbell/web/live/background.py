"""Background loops of the server, which start when they are first needed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any


class Background:
    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: Exception | None = None
        self._failed = asyncio.Event()

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
        """An error of the loop is raised by `failed`."""
        assert self._group is not None, "the server is not running"
        task = self._group.create_task(self._run(loop))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, loop: Coroutine[Any, Any, None]) -> None:
        try:
            await loop
        except Exception as error:  # noqa: BLE001 raised by `failed`, in the server's role
            self._failure = self._failure or error
            self._failed.set()

    async def failed(self) -> None:
        """Waits until a loop fails, and raises what it raised."""
        await self._failed.wait()
        assert self._failure is not None
        raise self._failure


async def at_once(number: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs `work` so many times concurrently; the first failure cancels the others."""
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(number):
                group.create_task(work())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
