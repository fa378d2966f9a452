"""Outgoing HTTP: requests, and a client that sends them within limits."""

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
"""Bytes of an answer that are read; the rest is ignored."""
AGENT = f"watchbell/{__version__}"
JSON = {"Content-Type": "application/json; charset=utf-8"}
FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}


class Request(Struct, frozen=True, kw_only=True):
    url: str
    method: str = "POST"
    headers: Mapping[str, str] = {}
    private: Mapping[str, str] = {}
    """Headers that are not sent to another host after a redirect: credentials, signatures."""
    body: bytes = b""
    secrets: tuple[str, ...] = ()
    """Texts to mask in the answer, in case the server repeats them."""


class Client:
    """Sends requests over connections that it keeps.

    `is_service` is true for a service that all messages go to, false for servers that addresses
    name. With `networks` every connection is checked; without them the operator chose the URL, and
    redirects to other hosts are refused.
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
        """The answer with any status; DeliveryFailed where there is none."""
        if self._wire is None:
            from watchbell.http.wire import Wire  # noqa: PLC0415 slow to import

            self._wire = Wire(self)
        return await self._wire.ask(request)

    async def send(self, request: Request) -> Answer:
        """The answer if its status means success, else DeliveryFailed."""
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
    """The system's certificates and those of the file; None for only the system's."""
    if not ca_file:
        return None
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(ca_file)
    except (OSError, ValueError) as error:
        raise BadSettings(f"ca_file: can't read the certificates in {ca_file}: {error}") from None
    return context


def form(fields: Mapping[str, str]) -> bytes:
    return urlencode(fields, errors="replace").encode()


def basic(user: str, password: str) -> dict[str, str]:
    """The header of basic authentication."""
    pair = base64.b64encode(f"{user}:{password}".encode(errors="replace")).decode()
    return {"Authorization": f"Basic {pair}"}


def encoded(value: Any) -> bytes:
    """JSON of any text, also with lone surrogates."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate
        plain = msgspec.to_builtins(value)
        return json.dumps(plain, ensure_ascii=False).encode(errors="replace")


def header(text: str) -> str:
    """The text with only the characters that a header may have."""
    return "".join(c for c in text if " " <= c <= "~")[:255].strip()
