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
"""Addresses that stand for the URLs of the settings."""
_REMEMBERED = 10_000


class Settings(WideReach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    urls: tuple[Secret, ...] = ()
    """Where alerts for the address `default` go: to each of these."""
    secret: Secret = field(default_factory=Secret)
    """What messages are signed with; without one they are not."""


def open_medium(name: str, chosen: Settings) -> "Webhook":
    return Webhook(name, chosen)


def signature(secret: str, time: int, body: bytes) -> str:
    """The value of `X-Watchbell-Signature`."""
    signed = hmac.digest(secret.encode(), f"{time}.".encode() + body, hashlib.sha256)
    return f"t={time},v1={signed.hex()}"


class Webhook(OverHttp):
    form = Form(parts=("payload",))

    def __init__(self, name: str, chosen: Settings) -> None:
        self._urls = [url.reveal() for url in chosen.urls]
        self._secret = chosen.secret.reveal() if chosen.secret else ""
        self._theirs = client(chosen, is_service=False, networks=Networks(chosen.allow_networks))
        several = chosen.concurrency * len(self._urls)
        self._ours = client(chosen, is_service=False, connections=several)
        self._done: dict[str, set[str]] = {}
        """Alerts that some of the URLs have taken already, and which."""
        super().__init__(name, chosen, self._theirs, self._ours)

    async def send(self, message: Message) -> str:
        address = message.address.strip()
        if address not in OWN:
            return (await self._theirs.hand_over(self._request(address, message))).line()
        if not self._urls:
            raise DeliveryFailed("the settings of this medium have no urls", permanent=True)
        return await self._to_each(message)

    async def _to_each(self, message: Message) -> str:
        """To those that have not taken it yet, all at once: a slow one delays no other."""
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
            answer = await self._ours.hand_over(self._request(url, message))
        except DeliveryFailed as error:
            return error
        return answer.line()

    def _remember(self, alert_id: str, done: set[str]) -> None:
        if done:
            self._done[alert_id] = done
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
    """One failure for all: final only where no other try can help any of them."""
    reasons = "; ".join(dict.fromkeys(map(str, failures)))
    return DeliveryFailed(
        reasons if count == 1 else f"{len(failures)} of {count} URLs failed: {reasons}"[:1000],
        permanent=all(one.permanent for one in failures),
        retry_after=max(one.retry_after for one in failures),
    )
