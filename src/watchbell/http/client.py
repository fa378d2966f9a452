"""Outgoing HTTP: requests and the client that sends them, within limits."""

import base64
import json
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from watchbell import __version__
from watchbell.errors import BadSettings
from watchbell.http.answer import Answer
from watchbell.http.networks import Networks

if TYPE_CHECKING:
    from watchbell.http.wire import Wire

MOST = 64 << 10
"""Bytes of an answer that are read; the rest is dropped."""
AGENT = f"watchbell/{__version__}"
JSON = {"Content-Type": "application/json; charset=utf-8"}
FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}


class Request(Struct, frozen=True, kw_only=True):
    url: str
    method: str = "POST"
    headers: Mapping[str, str] = {}
    private: Mapping[str, str] = {}
    """Headers that no other host is to see: credentials, signatures."""
    body: bytes = b""
    secrets: tuple[str, ...] = ()
    """What nobody is to see in the answer, should the server repeat it."""


class Client:
    """Keeps its connections, and the limits to what a server may do to us.

    `is_service` tells a service that is the same for everybody from servers that addresses name.
    With `networks` all that is connected to is checked; without them the operator chose the URL,
    and no redirect leads to another host.
    """

    def __init__(
        self,
        *,
        timeout: float,
        connections: int,
        is_service: bool,
        ca_file: str = "",
        networks: Networks | None = None,
        most: int = MOST,
    ) -> None:
        self.timeout, self.is_service, self.networks = timeout, is_service, networks
        self.connections, self.most = connections, most
        self.trust = trust(ca_file)
        self._wire: Wire | None = None

    async def ask(self, request: Request) -> Answer:
        """The answer, whatever it says; DeliveryFailed where there is none."""
        if self._wire is None:
            from watchbell.http.wire import Wire  # noqa: PLC0415 aiohttp takes its time

            self._wire = Wire(self)
        return await self._wire.ask(request)

    async def hand_over(self, request: Request) -> Answer:
        """The answer, once its status says that the message was taken; else DeliveryFailed."""
        answer = await self.ask(request)
        failure = answer.failure(is_service=self.is_service)
        if failure is not None:
            raise failure
        return answer

    async def close(self) -> None:
        if self._wire is not None:
            await self._wire.close()
            self._wire = None


def trust(ca_file: str) -> ssl.SSLContext | None:
    """The system's certificates and those of the file; None for the system's alone."""
    if not ca_file:
        return None
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(ca_file)
    except (OSError, ValueError) as error:
        raise BadSettings(
            f"ca_file: the certificates in {ca_file} can't be read: {error}"
        ) from None
    return context


def form(fields: Mapping[str, str]) -> bytes:
    return urlencode(fields, errors="replace").encode()


def basic(user: str, password: str) -> dict[str, str]:
    """The header by which a user is known."""
    pair = base64.b64encode(f"{user}:{password}".encode(errors="replace")).decode()
    return {"Authorization": f"Basic {pair}"}


def encoded(value: Any) -> bytes:
    """JSON, of whatever people wrote."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half a character somewhere
        plain = msgspec.to_builtins(value)
        return json.dumps(plain, ensure_ascii=False).encode(errors="replace")


def header(text: str) -> str:
    """The text as the value of a header, whatever was in it."""
    return "".join(c for c in text if " " <= c <= "~")[:255].strip()
