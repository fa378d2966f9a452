"""The starts of processes that are under way, which a stopping agent lets end: of one that was cut
off nobody could say later whether the process ran."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Starts:
    def __init__(self) -> None:
        self._under_way = 0
        self._has_ended = asyncio.Event()
        self._is_closed = False

    async def admitted(self) -> None:
        """Returns if a process may be started; never where the agent is stopping."""
        if self._is_closed:
            await asyncio.Event().wait()

    @contextmanager
    def one(self) -> Iterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._has_ended.set()

    async def close(self, seconds: float) -> None:
        """Allows no more, and waits at most so long for those that are under way."""
        self._is_closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._under_way:
                    self._has_ended.clear()
                    await self._has_ended.wait()
