"""The newest frames, from which every viewer is served at its own pace."""

import asyncio

from watchbell.web.archive.dashboard.frames import Frame

MOST_FRAMES = 1_000
MOST_BYTES = 32 << 20
AT_ONCE = 64 << 10
"""Bytes that are given to a connection before it has sent what it had."""


class Chunk:
    """Frames that are sent together. Viewers that keep up get the same chunk, joined once."""

    def __init__(self, frames: list[Frame]) -> None:
        self.frames = frames
        self._joined: dict[bool, bytes] = {}

    def joined(self, *, is_deflated: bool) -> bytes:
        if is_deflated not in self._joined:
            parts = [one.deflated() if is_deflated else one.plain for one in self.frames]
            self._joined[is_deflated] = b"".join(parts)
        return self._joined[is_deflated]


class FrameRing:
    """Has the same effect as a queue of so many frames for each viewer that drops the oldest when
    it is full, in the memory of one."""

    def __init__(
        self, most: int = MOST_FRAMES, most_bytes: int = MOST_BYTES, at_once: int = AT_ONCE
    ) -> None:
        self._most, self._most_bytes, self._at_once = most, most_bytes, at_once
        self._frames: dict[int, Frame] = {}
        self._grown = asyncio.Event()
        self._newest: Chunk | None = None
        self._newest_range = (0, 0)
        self.size = 0
        """In bytes, without compressed forms."""
        self.first = 0
        """The number of the oldest frame that is there."""
        self.end = 0
        """The number of the next frame that comes."""

    def append(self, frame: Frame) -> None:
        self._frames[self.end] = frame
        self.end += 1
        self.size += len(frame)
        while len(self._frames) > self._most or self.size > self._most_bytes:
            self.size -= len(self._frames.pop(self.first))
            self.first += 1

    def wake(self) -> None:
        """Wakes all who wait for frames."""
        self._grown.set()
        self._grown.clear()

    async def grown(self) -> None:
        await self._grown.wait()

    def chunk(self, number: int) -> Chunk | None:
        """Frames from this one on, at least one; None if it is not there yet."""
        if number >= self.end:
            return None
        if self._newest is None or self._newest_range != (number, self.end):
            self._newest = Chunk(self._some(number))
            self._newest_range = (number, self.end)
        return self._newest

    def _some(self, number: int) -> list[Frame]:
        found: list[Frame] = []
        size = 0
        while number < self.end and size < self._at_once:
            frame = self._frames[number]
            found.append(frame)
            size += len(frame)
            number += 1
        return found
