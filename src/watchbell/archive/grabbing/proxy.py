"""A proxy on loopback for one page in the browser: every request of the page comes here.

A connection carries one request. What is not HTTP, such as a WebSocket, is refused.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from watchbell.http import listening

HOST = "127.0.0.1"
_MOST_HEAD = 1 << 16
_MOST_BODY = 16 << 20
_NOT_PASSED_ON = frozenset(
    (
        *("connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"),
        "alt-svc",
    )
)
"""Headers that concern one connection, or lead away from the proxy."""

Headers = tuple[tuple[str, str], ...]


class Asked(Struct, frozen=True):
    """A request of the browser."""

    method: str
    url: str
    headers: Headers
    body: bytes = b""


class Answer(Struct, frozen=True):
    status: int
    reason: str = ""
    headers: Headers = ()
    pieces: Iterable[bytes] = ()
    """Of the body, with its transfer coding."""
    close: Callable[[], None] = lambda: None

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} {self.reason}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in self.headers if _is_passed_on(name)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", errors="replace")


class _Unfit(Exception):
    """It is not a request that the proxy takes."""


def refusal(status: int, why: str) -> Answer:
    """An answer of our own, which is in no WARC."""
    text = f"{why}\n".encode()
    headers = (("Content-Type", "text/plain"), ("Content-Length", str(len(text))))
    return Answer(status, "Refused by Watchbell", headers, (text,))


class Proxy:
    """While it is entered, it serves; the tasks belong to `group`."""

    def __init__(
        self,
        group: asyncio.TaskGroup,
        tls: ssl.SSLContext,
        answer: Callable[[Asked], Awaitable[Answer]],
    ) -> None:
        self._group, self._tls, self._answer = group, tls, answer
        self._server: asyncio.Server | None = None
        self._is_closed = False
        self._serving: set[asyncio.Task[None]] = set()
        self._uninterrupted: set[asyncio.Task[Any]] = set()

    @property
    def port(self) -> int:
        assert self._server
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._connected, HOST, 0, limit=_MOST_HEAD)

    def close(self) -> None:
        """Takes no more requests, and gives up those that nobody has answered."""
        self._is_closed = True
        if self._server:
            listening.stop(self._server)
        for task in self._serving - self._uninterrupted:
            task.cancel()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_closed:  # it was accepted just before
            writer.close()
            return
        task = self._group.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        # Not by the task itself: one that is cancelled before it begins does nothing at all.
        task.add_done_callback(lambda _: writer.close())

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Lets the request that is being answered go on, even when the proxy closes."""
        task = asyncio.current_task()
        assert task
        self._uninterrupted.add(task)
        try:
            yield
        finally:
            self._uninterrupted.discard(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await self._asked(reader, writer)
        except _Unfit as error:
            await _send(writer, refusal(400, str(error)))
            return
        except (OSError, EOFError, asyncio.LimitOverrunError, ValueError):
            return  # the browser has hung up, or does not speak HTTP
        await _send(writer, await self._answer(asked))

    async def _asked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked:
        method, target, headers = _parsed(await reader.readuntil(b"\r\n\r\n"))
        begin = ""
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            await writer.start_tls(self._tls)
            begin = f"https://{target}"
            method, target, headers = _parsed(await reader.readuntil(b"\r\n\r\n"))
        elif not target.startswith("http://"):
            raise _Unfit("only for the browser of a crawl")
        return Asked(method, begin + target, headers, await _body(reader, headers))


def _parsed(head: bytes) -> tuple[str, str, Headers]:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if ":" in line)
    headers = tuple((name.strip(), value.strip()) for name, _, value in pairs)
    if any(name.lower() == "upgrade" for name, _ in headers):
        raise _Unfit("only HTTP is archived")
    return method, target, headers


async def _body(reader: asyncio.StreamReader, headers: Headers) -> bytes:
    known = {name.lower(): value for name, value in headers}
    if "transfer-encoding" in known:
        raise _Unfit("the length of a body has to be known")
    size = int(known.get("content-length") or 0)
    if not 0 <= size <= _MOST_BODY:
        raise _Unfit(f"more than {_MOST_BODY:,} bytes are not sent")
    return await reader.readexactly(size) if size else b""


async def _send(writer: asyncio.StreamWriter, answer: Answer) -> None:
    try:
        writer.write(answer.head())
        for piece in answer.pieces:
            writer.write(piece)
            await writer.drain()
        await writer.drain()
    except OSError:
        pass  # the browser does not want it any more
    finally:
        answer.close()


def passed_on(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if _is_passed_on(name))


def _is_passed_on(name: str) -> bool:
    return name.lower() not in _NOT_PASSED_ON
