"""A TCP proxy in front of a server that stalls, cuts, trickles or swallows when it is told to."""

import asyncio
import enum
import socket
import struct
import threading
from asyncio import AbstractEventLoop, Event, Task, TaskGroup
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.servers import HOST, held_port


class Mode(enum.Enum):
    PASS = "bytes go through"
    STALL = "connections are accepted, bytes are held and go through later"
    TRICKLE = "bytes go through at a rate"
    BLACK_HOLE = "bytes vanish; a connection that lost some is reset when the mode ends"
    HALF_CLOSE = "the end of the stream is sent one way, the other way goes on"
    RESET = "connections are reset (RST), new ones are refused"


class Way(enum.Flag):
    NONE = 0
    UP = enum.auto()  # from the client to the server
    DOWN = enum.auto()
    BOTH = UP | DOWN


@dataclass
class Link:
    client: socket.socket
    server: socket.socket
    cut: Way = Way.NONE
    torn: bool = False
    task: Task[None] | None = None

    def shut(self, way: Way) -> None:
        for part, end in ((Way.UP, self.server), (Way.DOWN, self.client)):
            if part in way and part not in self.cut:
                with suppress(OSError):  # not yet, or no longer, connected
                    end.shutdown(socket.SHUT_WR)
                    self.cut |= part

    def reset(self) -> None:
        for end in (self.client, self.server):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if self.task is not None:
            self.task.cancel()

    def close(self) -> None:
        self.client.close()
        self.server.close()


class Proxy:
    """Runs in a thread of its own, so a test may block, or not, as it likes."""

    def __init__(self, target: tuple[str, int] | Path) -> None:
        self._target = target
        self._hold = held_port()
        self.port: int = self._hold.getsockname()[1]
        self.url = f"redis://{HOST}:{self.port}"
        self._mode, self._way, self._rate = Mode.PASS, Way.BOTH, 0.0
        self._links: list[Link] = []
        self.connections = 0
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._loop: AbstractEventLoop
        self._group: TaskGroup
        self._changed: Event
        self._stopped: Event
        self._accepting: Task[None] | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self.set(Mode.RESET)
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(60)
        self._hold.close()

    def set(self, mode: Mode, way: Way = Way.BOTH, rate: float = 100) -> None:
        """Is in force when it returns; `rate` is the bytes per second of a trickle."""
        asyncio.run_coroutine_threadsafe(self._set(mode, way, rate), self._loop).result(60)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed, self._stopped = Event(), Event()
        async with TaskGroup() as self._group:
            await self._set(Mode.PASS, Way.BOTH, 0)
            self._started.set()
            await self._stopped.wait()

    async def _set(self, mode: Mode, way: Way, rate: float) -> None:
        self._mode, self._way, self._rate = mode, way, rate
        for link in self._links:
            if link.torn or mode is Mode.RESET:
                link.reset()
            elif mode is Mode.HALF_CLOSE:
                link.shut(way)
        self._changed.set()
        self._changed = Event()
        if mode is Mode.RESET:
            await self._refuse()
        elif self._accepting is None:
            self._accepting = self._group.create_task(self._accept(_listener(self.port)))

    async def _refuse(self) -> None:
        ending = [link.task for link in self._links if link.task is not None]
        if self._accepting is not None:
            self._accepting.cancel()
            ending.append(self._accepting)
            self._accepting = None
        if ending:
            await asyncio.wait(ending)

    async def _accept(self, listener: socket.socket) -> None:
        with listener:
            while True:
                client, _ = await self._loop.sock_accept(listener)
                self.connections += 1
                link = Link(client, self._upstream())
                self._links.append(link)
                link.task = self._group.create_task(self._carry(link))

    def _upstream(self) -> socket.socket:
        end = socket.socket(socket.AF_UNIX if isinstance(self._target, Path) else socket.AF_INET)
        end.setblocking(False)
        return end

    async def _carry(self, link: Link) -> None:
        target = str(self._target) if isinstance(self._target, Path) else self._target
        try:
            await self._loop.sock_connect(link.server, target)
            if self._mode is Mode.HALF_CLOSE:
                link.shut(self._way)
            async with TaskGroup() as pumps:
                pumps.create_task(self._pump(link, Way.UP, link.client, link.server))
                pumps.create_task(self._pump(link, Way.DOWN, link.server, link.client))
        except* OSError:
            link.reset()
        finally:
            self._links.remove(link)
            link.close()

    async def _pump(self, link: Link, way: Way, source: socket.socket, to: socket.socket) -> None:
        while chunk := await self._loop.sock_recv(source, 65536):
            while chunk:
                chunk = await self._pass_on(link, way, chunk, to)
        while self._mode in {Mode.STALL, Mode.BLACK_HOLE} and way in self._way:
            await self._changed.wait()
        link.shut(way)

    async def _pass_on(self, link: Link, way: Way, chunk: bytes, to: socket.socket) -> bytes:
        """Returns what is left to be sent."""
        mode = self._mode if way in self._way else Mode.PASS
        if way in link.cut:
            return b""
        if mode is Mode.STALL:
            await self._changed.wait()
            return chunk
        if mode is Mode.BLACK_HOLE:
            link.torn = True
            return b""
        if mode is Mode.TRICKLE:
            await self._loop.sock_sendall(to, chunk[:1])
            with suppress(TimeoutError):
                async with asyncio.timeout(1 / self._rate):
                    await self._changed.wait()
            return chunk[1:]
        await self._loop.sock_sendall(to, chunk)
        return b""


def _listener(port: int) -> socket.socket:
    listener = socket.create_server((HOST, port))
    listener.setblocking(False)
    return listener
