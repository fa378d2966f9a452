"""Speaks the DevTools protocol with a Chromium, over two pipes.

A message is JSON, and ends with a zero byte. One pair of pipes carries the calls of the browser and
those of all its pages, each of which is a session.
"""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec
from msgspec import Struct

Params = dict[str, Any]
Listener = Callable[[str, Params], None]

_LONGEST = 256 << 20
"""Bytes of a message, such as a screenshot. A browser that sends more is not listened to."""


class BrowserFailed(Exception):
    """The browser, or a page in it, does not do what it is asked to. Its text says why."""


class PageLost(BrowserFailed):
    """The page crashed, or the browser has ended, perhaps for another page's sake."""


class _Message(Struct, frozen=True):
    id: int = 0
    session_id: str = msgspec.field(default="", name="sessionId")
    method: str = ""
    params: Params = {}
    result: Params = {}
    error: Params = {}


class DevTools(asyncio.Protocol):
    """Give it to `connect_read_pipe`, and the transport of the other pipe to `write_to`."""

    def __init__(self) -> None:
        self._writer: asyncio.WriteTransport | None = None
        self._reader: asyncio.BaseTransport | None = None
        self._ids = count(1)
        self._waiting: dict[int, tuple[str, asyncio.Future[Params]]] = {}
        self._listeners: dict[str, Listener] = {}
        self._pieces: list[bytes] = []
        self._size = 0
        self._decoder = msgspec.json.Decoder(_Message)
        self.is_lost = False

    def write_to(self, writer: asyncio.WriteTransport) -> None:
        self._writer = writer

    def listen(self, session: str, listener: Listener) -> None:
        """Events of a session; those of the browser itself have none."""
        self._listeners[session] = listener

    def forget(self, session: str) -> None:
        self._listeners.pop(session, None)
        for number, (of, future) in [*self._waiting.items()]:
            if of == session and not future.done():
                del self._waiting[number]
                future.set_exception(PageLost("the page crashed"))

    def send(self, method: str, params: Params | None = None, session: str = "") -> int:
        """Without waiting for the answer."""
        number = next(self._ids)
        message: Params = {"id": number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        if self._writer is None or self.is_lost:
            raise PageLost("the browser has ended")
        self._writer.write(msgspec.json.encode(message) + b"\0")
        return number

    async def call(self, method: str, params: Params | None = None, session: str = "") -> Params:
        """The result. Raises BrowserFailed. Who calls sets a limit to the time."""
        number = self.send(method, params, session)
        future: asyncio.Future[Params] = asyncio.get_running_loop().create_future()
        self._waiting[number] = session, future
        try:
            return await future
        finally:
            self._waiting.pop(number, None)

    def close(self) -> None:
        self._lost()
        for transport in (self._writer, self._reader):
            if transport:
                transport.close()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._reader = transport

    def data_received(self, data: bytes) -> None:
        *ends, rest = data.split(b"\0")
        for end in ends:
            whole = b"".join([*self._pieces, end])
            self._pieces, self._size = [], 0
            self._dispatch(whole)
        if rest:
            self._pieces.append(rest)
            self._size += len(rest)
            if self._size > _LONGEST:
                self.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 the protocol has it
        self._lost()

    def _lost(self) -> None:
        self.is_lost = True
        for _, future in self._waiting.values():
            if not future.done():
                future.set_exception(PageLost("the browser has ended"))
        self._waiting.clear()

    def _dispatch(self, raw: bytes) -> None:
        try:
            message = self._decoder.decode(raw)
        except msgspec.MsgspecError:
            return
        if message.method:
            listener = self._listeners.get(message.session_id)
            if listener:
                listener(message.method, message.params)
            return
        _, future = self._waiting.pop(message.id, ("", None))
        if future is None or future.done():
            return
        if message.error:
            future.set_exception(BrowserFailed(str(message.error.get("message", "refused"))))
        else:
            future.set_result(message.result)
