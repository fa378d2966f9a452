"""The broadcaster: reads log entries as they are published, and sends them to all viewers."""

import asyncio
from collections.abc import Awaitable, Callable

from watchbell.archive.keys import Crawls
from watchbell.store.client import Store
from watchbell.store.live import Message, listen
from watchbell.web.archive.dashboard.frame_ring import Chunk, FrameRing
from watchbell.web.archive.dashboard.frames import Deflater, Frame, messages

_STRIDE = 50
"""Frames that are made before others have their turn."""


class Broadcaster:
    def __init__(
        self,
        store: Store,
        on_change: Callable[[int], None] = lambda _: None,
        ring: FrameRing | None = None,
    ) -> None:
        """`on_change` is given the number of viewers."""
        self._store, self._on_change = store, on_change
        self._deflater = Deflater()
        self.ring = ring or FrameRing()
        self.viewers = 0
        self.dropped = 0
        """Frames that viewers missed because they were too slow."""

    async def run(self) -> None:
        async for item in listen(self._store, Crawls(self._store.prefix).entries()):
            if isinstance(item, Message) and self.viewers:
                await self._broadcast(item.body)

    async def _broadcast(self, body: bytes) -> None:
        for number, message in enumerate(messages(body), 1):
            self.ring.append(Frame(message, self._deflater))
            if number % _STRIDE == 0:
                self.ring.wake()
                await asyncio.sleep(0)
        self.ring.wake()

    async def follow(self, send: Callable[[Chunk], Awaitable[None]]) -> None:
        """Sends all frames that come from now on, until `send` fails or the task is cancelled."""
        self._count(1)
        try:
            place = self.ring.end
            while True:
                if place < self.ring.first:
                    self.dropped += self.ring.first - place
                    place = self.ring.first
                chunk = self.ring.chunk(place)
                if chunk is None:
                    await self.ring.grown()
                    continue
                place += len(chunk.frames)
                await send(chunk)
                await asyncio.sleep(0)  # `send` does not wait for a fast viewer
        finally:
            self._count(-1)

    def _count(self, by: int) -> None:
        self.viewers += by
        self._on_change(self.viewers)
