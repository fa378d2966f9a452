"""HTTP as the media speak it: what they set, what they ask, and the client that each has."""

import asyncio
import base64
import json
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from watchbell import __version__
from watchbell.alerting.model import Alert
from watchbell.errors import BadSettings
from watchbell.gateways.http_answer import Answer
from watchbell.gateways.medium import Message, Pace, Words
from watchbell.gateways.networks import Networks
from watchbell.store.client import Store

if TYPE_CHECKING:
    from watchbell.gateways.http_wire import Wire

MOST = 64 << 10
"""Bytes of an answer that are read; the rest is dropped."""
AGENT = f"watchbell/{__version__}"
JSON = {"Content-Type": "application/json; charset=utf-8"}
FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}


class Reach(Pace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the settings of media over HTTP have in common."""

    ca_file: str = ""
    """A file of certificates that are trusted besides the system's."""


class WideReach(Reach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same where the address of a contact says which server is asked."""

    allow_networks: tuple[str, ...] = ()
    """Networks that addresses may lead to, besides the public Internet."""

    def __post_init__(self) -> None:
        Networks(self.allow_networks)


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
    """One per medium: keeps its connections, and its limits.

    `is_service` tells a service that is the same for everybody from servers that addresses name.
    With `networks` all that is connected to is checked; without them the operator chose the URL,
    and no redirect leads to another host.
    """

    def __init__(
        self,
        chosen: Reach,
        *,
        is_service: bool,
        networks: Networks | None = None,
        connections: int = 0,
        most: int = MOST,
    ) -> None:
        self.timeout, self.is_service, self.networks = chosen.timeout, is_service, networks
        self.connections, self.most = connections or chosen.concurrency, most
        self.trust = trust(chosen.ca_file)
        self._wire: Wire | None = None

    async def ask(self, request: Request) -> Answer:
        """The answer, whatever it says; DeliveryFailed where there is none."""
        if self._wire is None:
            from watchbell.gateways.http_wire import Wire  # noqa: PLC0415 aiohttp takes its time

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


class OverHttp:
    """What media over HTTP have in common; each has its own `send`."""

    def __init__(self, name: str, pace: Pace, words: Words, *clients: Client) -> None:
        self.name, self.pace, self.words = name, pace, words
        self._clients = clients

    def render(self, alert: Alert) -> Message:
        return Message(alert=alert, text=self.words("text", alert))

    async def attend(self, store: Store) -> None:  # noqa: ARG002 nothing is heard back
        await asyncio.Event().wait()

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


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
