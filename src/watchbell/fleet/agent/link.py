"""The connection of an agent to its server: one WebSocket, made by the agent, again and again."""

import asyncio
import random
import ssl
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Raw, Struct

from watchbell import logs
from watchbell.clock import Clock
from watchbell.errors import Refused
from watchbell.fleet import messages
from watchbell.fleet.agent.outbox import Outbox
from watchbell.fleet.agent.token_file import TokenFile
from watchbell.fleet.messages import (
    FromAgent,
    Hello,
    Leaving,
    Refusal,
    Renew,
    Renewed,
    ToAgent,
    Welcome,
)
from watchbell.probes import probe

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

PATH = "/api/agent/v1/link"
_OPENING = 10.0
_WELCOME = 30.0
"""Seconds that a server has to answer."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
_MOST_RECEIVED = 256 << 20
_WRITE_BUFFER = 1 << 20
_PATIENCE = 3
"""Heartbeats without an answer after which a connection counts as dead."""
_LEAST_PATIENCE = 10.0
_FORBIDDEN = (401, 403)
_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


class _Reports(Struct, frozen=True, tag_field="t", tag="reports"):
    """`messages.Reports` with reports that are encoded already."""

    reports: tuple[Raw, ...]


class Owner(Protocol):
    """The agent, as its link sees it."""

    def hello(self, *, has_stored: bool) -> Hello: ...
    def renew(self, number: int) -> Renew: ...
    def welcomed(self, welcome: Welcome, asked: float) -> None: ...
    def renewed(self, renewed: Renewed, asked: float) -> None: ...
    def receive(self, message: ToAgent) -> None: ...


class Rejected(Refused):
    """The server does not know the token, or does not want this agent."""


class Link:
    def __init__(
        self,
        urls: Sequence[str],
        token_file: TokenFile,
        joining: str,
        outbox: Outbox,
        clock: Clock,
        *,
        ca: str = "",
    ) -> None:
        """`joining`: a token to join with; used until there is one in the file."""
        self._urls = list(urls)
        self._token_file, self._joining = token_file, joining
        self._outbox, self._clock, self._ca = outbox, clock, ca
        self._connection: ClientConnection | None = None
        self._has_stored = False
        self._soon: asyncio.Queue[FromAgent] = asyncio.Queue(maxsize=100)
        self._asked: dict[int, float] = {}
        self._answered = 0.0
        self._number = 0
        self._pause = 0.0
        self._log = logs.get(role="agent")
        self.is_connected = False
        self.was_welcomed = False

    @property
    def server(self) -> tuple[str, str]:
        """The server that it uses, and the token."""
        return self._urls[0], self._token

    @property
    def _token(self) -> str:
        return self._token_file.read() or self._joining

    @cache  # noqa: B019 a link lives as long as its process
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._ca or None)

    def send_soon(self, message: FromAgent) -> None:
        """For what the next message of its kind replaces: it is dropped if nobody can take it."""
        if self.is_connected:
            with suppress(asyncio.QueueFull):
                self._soon.put_nowait(message)

    async def run(self, owner: Owner) -> None:
        """Connects, until it is cancelled. Raises Rejected if the server wants nothing of an agent
        that it has never welcomed."""
        while True:
            try:
                await self._connect(owner)
                reason = "closed"
            except Rejected as error:
                if not self.was_welcomed:
                    raise
                reason = str(error)
                self._pause = _LONGEST_PAUSE
            except (OSError, TimeoutError, _Lost) as error:
                reason = str(error) or type(error).__name__
            finally:
                self.is_connected = False
            self._log.warning("not connected", server=self._urls[0], reason=reason)
            self._urls.append(self._urls.pop(0))
            await asyncio.sleep(self._pause * random.uniform(0.5, 1))
            self._pause = min(max(self._pause * 2, _SHORTEST_PAUSE), _LONGEST_PAUSE)

    async def _connect(self, owner: Owner) -> None:
        from websockets.asyncio.client import connect  # noqa: PLC0415  (it is large)
        from websockets.exceptions import (  # noqa: PLC0415
            ConnectionClosed,
            InvalidHandshake,
            InvalidStatus,
        )

        url = websocket_url(self._urls[0])
        try:
            connection = await connect(
                url,
                additional_headers={"Authorization": f"Bearer {self._token}"},
                ssl=self.tls() if url.startswith("wss:") else None,
                compression=None,
                open_timeout=_OPENING,
                ping_interval=None,
                max_size=_MOST_RECEIVED,
                write_limit=_WRITE_BUFFER,
                close_timeout=1,
            )
        except InvalidStatus as error:
            status = error.response.status_code
            if status in _FORBIDDEN:
                raise Rejected(f"the server does not accept the token ({status})") from error
            raise _Lost(f"the server answered {status}") from error
        except InvalidHandshake as error:
            raise _Lost(str(error)) from error
        try:
            await self._converse(connection, owner)
        except* ConnectionClosed as closed:
            raise _Lost(str(closed.exceptions[0])) from None
        except* (_Lost, Rejected, OSError, TimeoutError) as group:
            raise group.exceptions[0] from None
        finally:
            self._connection = None
            self.is_connected = False
            await connection.close()

    async def _converse(self, connection: "ClientConnection", owner: Owner) -> None:
        asked = self._clock.monotonic()
        await connection.send(messages.encode(owner.hello(has_stored=self._has_stored)))
        async with asyncio.timeout(_WELCOME):
            answer = _decoded(await connection.recv(decode=False))
        if isinstance(answer, Refusal):
            raise _refused(answer)
        if not isinstance(answer, Welcome):
            raise _Lost("the server did not welcome us")
        if answer.token:
            self._token_file.store(answer.token)
            self._has_stored = True
            # A second greeting confirms that, so that the former token loses its validity.
            await connection.send(messages.encode(owner.hello(has_stored=True)))
        probe("agent.welcomed")
        self._asked.clear()
        self._answered = self._clock.monotonic()
        self._connection = connection
        while not self._soon.empty():
            self._soon.get_nowait()
        self.is_connected = self.was_welcomed = True
        self._pause = 0.0
        self._log.info("connected", server=self._urls[0], id=answer.server)
        owner.welcomed(answer, asked)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._receive(connection, owner))
            group.create_task(self._send_reports(connection))
            group.create_task(self._send_others(connection))
            group.create_task(self._renew(connection, owner, answer.heartbeat))

    async def _receive(self, connection: "ClientConnection", owner: Owner) -> None:
        while True:
            message = _decoded(await connection.recv(decode=False))
            if isinstance(message, Renewed):
                self._answered = self._clock.monotonic()
                asked = self._asked.pop(message.number, None)
                if asked is not None:
                    owner.renewed(message, asked)
            elif isinstance(message, Refusal):
                raise _refused(message)
            else:
                owner.receive(message)

    async def _send_reports(self, connection: "ClientConnection") -> None:
        while True:
            reports = await self._outbox.take()
            await connection.send(messages.encode(_Reports(reports=tuple(reports))))
            probe("agent.sent")

    async def _send_others(self, connection: "ClientConnection") -> None:
        while True:
            await connection.send(messages.encode(await self._soon.get()))

    async def _renew(self, connection: "ClientConnection", owner: Owner, heartbeat: float) -> None:
        patience = max(heartbeat * _PATIENCE, _LEAST_PATIENCE)
        while True:
            now = self._clock.monotonic()
            if now - self._answered > patience:
                raise _Lost(f"the server has not answered for {patience:g} s")
            self._number += 1
            self._asked[self._number] = now
            await connection.send(messages.encode(owner.renew(self._number)))
            await asyncio.sleep(heartbeat)

    async def leave(self) -> None:
        """Says goodbye, if there is a connection."""
        if self._connection and self.is_connected:
            from websockets.exceptions import ConnectionClosed  # noqa: PLC0415

            with suppress(OSError, TimeoutError, ConnectionClosed):
                async with asyncio.timeout(1):
                    await self._connection.send(messages.encode(Leaving()))


class _Lost(Exception):
    """The connection is of no use any more."""


def websocket_url(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((_SCHEMES[parts.scheme], parts.netloc, parts.path.rstrip("/") + PATH, "", ""))


def check_url(url: str, *, allows_plain: bool) -> None:
    """Refuses a URL that no agent can use, or that would show the token to a network."""
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise Refused(f"{url!r} is not the URL of a server; expected https://HOST[:PORT]")
    is_plain = _SCHEMES[parts.scheme] == "ws"
    if is_plain and not allows_plain and not _is_loopback(parts.hostname):
        raise Refused(f"{url} has no TLS, so anybody on the way could read the token; use https://")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _decoded(content: bytes) -> ToAgent:
    try:
        message: ToAgent = messages.to_agent.decode(content)
    except msgspec.DecodeError as error:
        raise _Lost(f"the server sent what is no message: {error}") from error
    return message


def _refused(refusal: Refusal) -> Exception:
    if refusal.is_final:
        return Rejected(f"the server refuses this agent: {refusal.reason}")
    return _Lost(f"the server refuses this agent for now: {refusal.reason}")
