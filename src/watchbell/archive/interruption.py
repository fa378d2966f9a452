"""Ends what waits for a server, once nobody wants its answer any longer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Interrupted(Exception):
    """The crawl is aborted."""


class Interruption:
    def __init__(self) -> None:
        self._waits: set[asyncio.Timeout] = set()
        self._has_come = False

    @asynccontextmanager
    async def heeded(self) -> AsyncIterator[None]:
        """The block raises Interrupted where it waits, once `interrupt` was called."""
        if self._has_come:
            raise Interrupted
        wait = asyncio.timeout(None)
        try:
            async with wait:
                self._waits.add(wait)
                yield
        except TimeoutError:
            if not wait.expired():
                raise
            raise Interrupted from None
        finally:
            self._waits.discard(wait)

    def interrupt(self) -> None:
        self._has_come = True
        waits, self._waits = self._waits, set()
        for wait in waits:
            wait.reschedule(0.0)
