"""Web hooks: a message as signed JSON to a URL."""

import asyncio
import hashlib
import hmac
from collections.abc import Sequence

from msgspec import field

from watchbell.clock import SYSTEM
from watchbell.errors import DeliveryFailed
from watchbell.gateways.message import Form, Message
from watchbell.gateways.over_http import OverHttp, WideReach, client
from watchbell.http.client import JSON, Request, encoded, header
from watchbell.http.networks import Networks
from watchbell.settings import Secret

STYLE = "plain"
OWN = ("", "default")
"""Addresses that mean the URLs of the settings."""
_REMEMBERED = 10_000
_NO_OTHER = "who sends this message allows no other address"


class Settings(WideReach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    urls: tuple[Secret, ...] = ()
    """URLs that all receive the messages to the address `default`."""
    secret: Secret = field(default_factory=Secret)
    """The key for signatures; without it messages are not signed."""


def open_medium(_: str, settings: Settings) -> "Webhook":
    return Webhook(settings)


def signature(secret: str, time: int, body: bytes) -> str:
    """The value of `X-Watchbell-Signature`."""
    signed = hmac.digest(secret.encode(), f"{time}.".encode() + body, hashlib.sha256)
    return f"t={time},v1={signed.hex()}"


class Webhook(OverHttp):
    form = Form(parts=("payload",))

    def __init__(self, settings: Settings) -> None:
        self._urls = [url.reveal() for url in settings.urls]
        self._secret = settings.secret.reveal() if settings.secret else ""
        self._theirs = client(
            settings, is_service=False, networks=Networks(settings.allow_networks)
        )
        public = client(settings, is_service=False, networks=Networks(advice=_NO_OTHER))
        several = settings.concurrency * len(self._urls)
        self._ours = client(settings, is_service=False, connections=several)
        self._done: dict[str, set[str]] = {}
        """The ids of messages that only some of the URLs have accepted, and which."""
        self._reaches = {"": self._theirs, "public": public, "any": self._ours}
        super().__init__(settings, self._theirs, public, self._ours)

    async def send(self, message: Message) -> str:
        address = message.address.strip()
        if address not in OWN:
            reached = self._reaches[message.reach]
            return (await reached.send(self._request(address, message))).line()
        if not self._urls:
            raise DeliveryFailed("the settings of this medium have no urls", permanent=True)
        return await self._to_each(message)

    async def _to_each(self, message: Message) -> str:
        """Sends it to all URLs that have not accepted it yet, side by side."""
        done = self._done.pop(message.id, set())
        open_urls = [url for url in self._urls if url not in done]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._tried(url, message)) for url in open_urls]
        results = [task.result() for task in tasks]
        failures = [one for one in results if isinstance(one, DeliveryFailed)]
        if not failures:
            return "; ".join(str(one) for one in results)
        for url, result in zip(open_urls, results, strict=True):
            if not isinstance(result, DeliveryFailed):
                done.add(url)
        self._remember(message.id, done)
        raise _together(failures, len(self._urls))

    async def _tried(self, url: str, message: Message) -> "str | DeliveryFailed":
        try:
            answer = await self._ours.send(self._request(url, message))
        except DeliveryFailed as error:
            return error
        return answer.line()

    def _remember(self, message_id: str, done: set[str]) -> None:
        if done:
            self._done[message_id] = done
            if len(self._done) > _REMEMBERED:
                del self._done[next(iter(self._done))]

    def _request(self, url: str, message: Message) -> Request:
        body = _payload(message)
        signed = signature(self._secret, int(SYSTEM.now()), body) if self._secret else ""
        return Request(
            url=url,
            headers={**JSON, "Idempotency-Key": header(message.id)},
            private={"X-Watchbell-Signature": signed} if signed else {},
            body=body,
            secrets=tuple(filter(None, [self._secret, signed])),
        )


def _payload(message: Message) -> bytes:
    if message.payload:
        return message.payload.encode()
    return encoded({"id": message.id, "subject": message.subject, "text": message.text})


def _together(failures: Sequence[DeliveryFailed], count: int) -> DeliveryFailed:
    """One failure for all of them, permanent only if each of them is."""
    reasons = "; ".join(dict.fromkeys(map(str, failures)))
    return DeliveryFailed(
        reasons if count == 1 else f"{len(failures)} of {count} URLs failed: {reasons}"[:1000],
        permanent=all(one.permanent for one in failures),
        retry_after=max(one.retry_after for one in failures),
    )
