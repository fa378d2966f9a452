"""The HTTP server, with limits on connections, headers and time."""

import asyncio
import logging
import resource
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, cast

import uvicorn
from litestar.types import ASGIApp, Receive, Scope, Send
from msgspec import Struct
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from watchbell import logs
from watchbell.errors import BadSettings
from watchbell.http import listening
from watchbell.settings import Web
from watchbell.web.connections import Connections, RequestLimit, Sockets, refuse
from watchbell.web.listener import bound
from watchbell.web.live.link import Link

HEADER_SECONDS = 15.0
"""Seconds within which a request's headers must arrive."""
HEAD_BYTES = 64 << 10
"""About the largest size of a request's first line and headers."""
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
MOST_MESSAGE = 16 << 20
"""The largest message of a WebSocket, in bytes."""
KEEP_ALIVE = 60
"""Seconds that a connection may be idle between two requests."""
_STOP_SECONDS = 5
_STOP_POLL = 0.005
_TICK = 1.0
"""Seconds between two updates of the header `date`."""
MOST_CONNECTIONS = 2_000
"""In total, where the limit of open files is at least twice as high."""
_REFUSED = 100
"""Connections that get an answer at a time that there is no room; others are closed."""
_WARNED = 60.0
"""Seconds between two lines in the log about that."""


class _Forward(logging.Handler):
    """Forwards the log of the server's library in our format."""

    def emit(self, record: logging.LogRecord) -> None:
        logs.get(role="web").warning(record.getMessage(), exc_info=record.exc_info)


_library = logging.getLogger("uvicorn.error")
_library.handlers, _library.propagate = [_Forward()], False
_library.setLevel(logging.WARNING)
# It would write whole URLs, and with them the keys of pings and links.
logging.getLogger("uvicorn.access").disabled = True


class _Server(uvicorn.Server):
    """Ends at once when told to, where the library looks for that ten times a second and then waits
    as long again."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._told = asyncio.Event()

    @property
    def was_told_to_end(self) -> bool:
        return self._told.is_set()

    def end(self) -> None:
        self.should_exit = True
        self._told.set()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK):
                    await self._told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accepts no more connections, and waits for those that are being answered."""
        for server in self.servers:
            listening.stop(server)
        await asyncio.sleep(0)  # they are closed now
        for listener in sockets or ():
            listener.close()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._drain()
        except TimeoutError:
            tasks = self.server_state.tasks
            logs.get(role="web").warning("requests were cut off at the end", requests=len(tasks))
            for task in tasks:
                task.cancel()
        await self.lifespan.shutdown()

    async def _drain(self) -> None:
        state = self.server_state
        seen = set[object]()
        is_busy = True
        while is_busy:
            for connection in state.connections - seen:  # one may have been accepted just before
                seen.add(connection)
                connection.shutdown()
            await asyncio.sleep(_STOP_POLL)
            is_busy = bool(state.connections or state.tasks)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are handled by whoever runs the roles."""
        yield


class _Config(uvicorn.Config):
    connections: Connections
    refusals: "_Refusals"


class _Refusals:
    """Connections for which there is no room: a few get an answer, and a summary is logged."""

    def __init__(self, most_of_one: int) -> None:
        self._most_of_one = most_of_one
        self._open = set[object]()
        self._warned = -_WARNED

    def admit(self, connection: "_Protocol", now: float) -> bool:
        if now >= self._warned + _WARNED:
            self._warned = now
            logs.get(role="web").warning(
                "no room for another connection; if this is a proxy, name it in "
                "web.trusted_proxies, or else raise web.connections_per_address",
                address=connection.address,
                most=self._most_of_one,
            )
        if len(self._open) >= _REFUSED:
            return False
        self._open.add(connection)
        return True

    def remove(self, connection: "_Protocol") -> None:
        self._open.discard(connection)


class _Protocol(HttpToolsProtocol):
    """Closes connections that send an incomplete request; lets streams end."""

    config: _Config
    _hurry: asyncio.TimerHandle | None = None
    _is_answering = False
    _is_refused = False
    _head = 0
    """Bytes that came since a request's headers were complete or some of its body came: headers of
    the next one, or what stands behind a body that is sent in chunks."""

    @property
    def address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def is_idle(self) -> bool:
        return not self._is_answering

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._link = Link(transport)
        self._expect_headers()
        if not self.config.connections.admit(self):
            self._is_refused, self.app = True, self._refuse
            if not self.config.refusals.admit(self, self.loop.time()):
                transport.abort()

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await refuse(send, f"too many connections from {self.address} are open")

    def data_received(self, data: bytes) -> None:
        if self._hurry is None and not self._is_answering:
            self._expect_headers()
        self._head += len(data)
        super().data_received(data)
        if self._head > HEAD_BYTES and not self.transport.is_closing():
            if not self._is_answering:
                self.transport.write(_TOO_LARGE)
            self.hang_up()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = self._link.extensions()

    def on_headers_complete(self) -> None:
        self._stop_hurry()
        self._is_answering, self._head = True, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._is_answering:
            self._head = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        self._is_answering = bool(self.pipeline)  # the next one may be here already
        self.config.connections.rest(self)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self.release()
        super().connection_lost(exc)

    def release(self) -> None:
        """Makes room for another connection."""
        self._stop_hurry()
        self.config.connections.remove(self)
        self.config.refusals.remove(self)

    def handle_websocket_upgrade(self) -> None:
        if self._is_refused:
            self.hang_up()
            return
        super().handle_websocket_upgrade()
        protocol = self.transport.get_protocol()
        if isinstance(protocol, WebSocket):
            protocol.admitted = self

    def shutdown(self) -> None:
        super().shutdown()
        self._link.stopping.set()

    def _expect_headers(self) -> None:
        self._hurry = self.loop.call_later(HEADER_SECONDS, self.hang_up)

    def _stop_hurry(self) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
            self._hurry = None

    def hang_up(self) -> None:
        self._hurry = None
        if not self.transport.is_closing():
            self.transport.close()


class WebSocket(WebSocketsSansIOProtocol):
    """Counts as the connection that it began as."""

    admitted: _Protocol | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.admitted is not None:
            self.admitted.release()


class WebSockets(Struct, frozen=True):
    """How a server treats its WebSockets."""

    protocol: type[WebSocket] = WebSocket
    most_message: int = MOST_MESSAGE
    ping_every: float | None = None  # agents send heartbeats
    ping_timeout: float | None = None


AGENTS = WebSockets()


@asynccontextmanager
async def serving(
    app: ASGIApp,
    settings: Web,
    *,
    section: str = "web",
    second_port: int = 0,
    websockets: WebSockets = AGENTS,
) -> AsyncIterator[int]:
    """Serves until left. Gives the port, which the settings may leave open by 0. `section` has the
    settings that errors name; the second port serves the same."""
    trusted = ProxyHeadersMiddleware(cast("Any", app), list(settings.trusted_proxies)).trusted_hosts

    def is_proxy(address: str) -> bool:
        return address in trusted

    sockets = Sockets(settings.connections_per_address, is_proxy)
    ports = {"port": settings.port} | ({"stream_port": second_port} if second_port else {})
    with ExitStack() as stack:
        listeners = [
            stack.enter_context(bound(settings.host, port, section, name, sockets))
            for name, port in ports.items()
        ]
        server = _Server(_config(app, settings, is_proxy, websockets))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(_serve(server, listeners))
            while not server.started and not task.done():  # noqa: ASYNC110 it has no event of it
                await asyncio.sleep(0.005)
            try:
                yield listeners[0].getsockname()[1]
            finally:
                # Also where we are cancelled: it ends in order, and lets go of what it holds.
                server.end()
                await asyncio.wait([task])


async def _serve(server: _Server, listeners: list[socket.socket]) -> None:
    try:
        await server.serve(sockets=listeners)
    except SystemExit as error:  # so the library says that it can't start; others go on
        raise RuntimeError("the web server did not start; the log says why") from error
    if not server.was_told_to_end:
        raise RuntimeError("the web server ended by itself; the log says why")


def _config(
    app: ASGIApp, settings: Web, is_proxy: Callable[[str], bool], websockets: WebSockets
) -> _Config:
    proxies, most_of_one = list(settings.trusted_proxies), settings.connections_per_address
    if proxies and most_of_one:
        app = RequestLimit(app, most_of_one)
    config = _Config(
        app,
        http=_Protocol,
        ws=websockets.protocol,
        ws_max_size=websockets.most_message,
        ws_ping_interval=websockets.ping_every,
        ws_ping_timeout=websockets.ping_timeout,
        ws_per_message_deflate=False,
        loop="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        timeout_keep_alive=KEEP_ALIVE,
    )
    config.connections = Connections(_room(), most_of_one, is_proxy)
    config.refusals = _Refusals(most_of_one)
    config.load()
    if settings.tls_cert:
        config.ssl = _tls(settings)
    return config


def _room() -> int:
    """Connections that may be open: half of the files are for the store and for everything else."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, soft // 2)


def _tls(settings: Web) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key or None)
    except (OSError, ssl.SSLError) as error:
        raise BadSettings(
            f"web.tls_cert and web.tls_key can't be used: {error.strerror or error}"
        ) from error
    return context
