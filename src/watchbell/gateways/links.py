"""Signed links with which one contact can acknowledge one check for a week."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from functools import lru_cache

import msgspec
from msgspec import Struct

from watchbell.alerting.model import Alert
from watchbell.alerting.reports import Change
from watchbell.clock import Clock
from watchbell.errors import Refused
from watchbell.gateways.keys import Gateways
from watchbell.store.client import Store, patiently

LASTS = 7 * 86_400
"""Seconds for which a link is valid."""
_SIGNATURE = 16


class Offer(Struct, frozen=True, array_like=True):
    """What a link allows."""

    event_id: str
    contact_id: str
    ends: int
    count: int = 0
    """The number of the event that the message was about; 0 where it is not known."""

    def is_from_before(self, began: Change) -> bool:
        """Whether the link is older than the outage that began with this change."""
        if self.count and began.count is not None:
            return self.count < began.count
        return self.ends - LASTS < began.timestamp


class Signer:
    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def token(self, offer: Offer) -> str:
        content = msgspec.msgpack.encode(offer)
        return base64.urlsafe_b64encode(self._signature(content) + content).decode().rstrip("=")

    def offer(self, token: str, now: float) -> Offer:
        """What a token allows; Refused if it is not ours, was changed, or has expired."""
        try:
            raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
            content = raw[_SIGNATURE:]
            if not hmac.compare_digest(raw[:_SIGNATURE], self._signature(content)):
                raise Refused("this link is not valid: it was not made here, or was changed")
            offer = msgspec.msgpack.decode(content, type=Offer)
        except (ValueError, msgspec.DecodeError):
            raise Refused("this link is incomplete; copy all of it") from None
        if offer.ends < now:
            raise Refused("this link has expired after a week; use the link in a newer message")
        return offer

    def _signature(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, content, hashlib.sha256)[:_SIGNATURE]


async def signer(store: Store) -> Signer:
    """All processes share the secret in the store; the first one that needs it makes it."""
    key = Gateways(store.prefix).link_secret()

    async def secret() -> bytes:
        await store.call("SET", key, secrets.token_hex(32), "NX")
        return bytes(await store.call("GET", key))

    return Signer(await patiently(secret))


async def open_links(store: Store, url: str, clock: Clock) -> Callable[[Alert], str]:
    """A function from an alert to its link, which is empty without `url` or for a non-failure."""
    if not url:
        return lambda alert: ""  # noqa: ARG005
    signs = await signer(store)
    base = url.rstrip("/")

    @lru_cache(1_000)  # so that all parts of one message have the same link
    def token(_: str, event_id: str, contact_id: str, count: int) -> str:
        return signs.token(Offer(event_id, contact_id, int(clock.now()) + LASTS, count))

    def link(alert: Alert) -> str:
        if alert.notification_type != "problem" or alert.rollup:
            return ""
        signed = token(alert.id, alert.event_id, alert.contact_id, alert.event_count)
        return f"{base}/ack/{signed}"

    return link
