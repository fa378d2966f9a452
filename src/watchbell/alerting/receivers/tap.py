"""Reads bytes from pipes and files as they arrive, until it is closed."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from watchbell.errors import Refused

_CHUNK = 1 << 16
_PIPE = 1 << 20
"""More than a pipe holds."""


class Tap:
    """Once turned off, it returns what has already arrived, and ends."""

    def __init__(self) -> None:
        self.is_off = False
        self._ready: asyncio.Future[None] | None = None

    def turn_off(self) -> None:
        self.is_off = True
        self._wake()

    def _wake(self) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)

    async def chunks(self, descriptor: int) -> AsyncIterator[bytes]:
        while await self._is_readable(descriptor):
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                return
            yield chunk

    async def pipe(self, path: Path) -> AsyncIterator[bytes]:
        """Bytes of a named pipe, created if missing; b"" when its writers have closed it."""
        descriptor = _opened(path)
        try:
            while await self._is_readable(descriptor):
                # To its end at once: of a writer that left before the pipe was opened anew, only
                # the bytes are announced, not that it left.
                while (chunk := _held(descriptor)) is not None:
                    if not chunk:
                        # Anew, or it would be at its end, and readable, until a writer comes; and
                        # the new one first, since a pipe that nobody holds loses what is in it.
                        fresh = _opened(path)
                        os.close(descriptor)
                        descriptor = fresh
                    yield chunk
                    if not chunk:
                        break
            with suppress(BlockingIOError):
                yield os.read(descriptor, _PIPE)
        finally:
            os.close(descriptor)

    async def _is_readable(self, descriptor: int) -> bool:
        if self.is_off:
            return False
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        try:
            loop.add_reader(descriptor, self._wake)
        except PermissionError:  # a file, which is always ready
            return True
        try:
            await self._ready
        finally:
            loop.remove_reader(descriptor)
        return not self.is_off


def _held(descriptor: int) -> bytes | None:
    """What a pipe holds; b"" if its writers have closed it, None if it is empty."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


def _opened(path: Path) -> int:
    try:
        with suppress(FileExistsError):
            os.mkfifo(path, 0o660)
        if not stat.S_ISFIFO(path.stat().st_mode):
            raise Refused(f"{path} is no named pipe; name one, or a place where one can be made")
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise Refused(f"the pipe {path} can't be used: {error}") from error


class Lines:
    """Cuts bytes into lines."""

    def __init__(self, longest: int = 1 << 20) -> None:
        self._longest = longest
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes, without blank ones; b"" completes the last one."""
        *lines, rest = (self._rest + chunk).split(b"\n")
        if not chunk or len(rest) > self._longest:
            lines, rest = [*lines, rest], b""
        self._rest = rest
        return [line for line in lines if line.strip()]
