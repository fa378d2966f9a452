"""Whether a message of SNS is from Amazon: verified by the certificate that it names."""

import asyncio
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from watchbell import logs
from watchbell.clock import Clock
from watchbell.errors import DeliveryFailed
from watchbell.gateways import over_http
from watchbell.gateways.over_http import Reach
from watchbell.http.answer import Answer
from watchbell.http.client import Request
from watchbell.http.networks import Networks
from watchbell.settings import Web
from watchbell.web.alerting.intake import signatures, sns
from watchbell.web.alerting.intake.signatures import NoCertificate
from watchbell.web.alerting.intake.sns import Envelope, Hosts
from watchbell.web.problems import HttpProblem

_SECONDS = 5.0
_MOST_BYTES = 32 << 10
_REMEMBERED = 50
_FAILURE_SECONDS = 30.0
"""How long a certificate that could not be fetched is not fetched again."""


class SnsTrust:
    def __init__(self, settings: Web, clock: Clock) -> None:
        self._topics, self._clock = settings.sns_topics, clock
        self._hosts = Hosts(settings.sns_hosts)
        self._fetching = asyncio.Lock()
        self._keys: dict[str, RSAPublicKey] = {}
        self._failures: dict[str, tuple[float, str]] = {}

    async def verify(self, envelope: Envelope, body: Mapping[str, Any]) -> None:
        """Raises HttpProblem, which says why, unless the message is from Amazon, recent and
        wanted."""
        if self._topics and not sns.is_wanted(envelope.topic, self._topics):
            raise _distrusted("TopicArn", "expected one of web.sns_topics")
        if sns.is_old(envelope, self._clock.now()):
            raise _distrusted("Timestamp", "expected a message of the last day")
        if not self._hosts.has_certificate(envelope.certificate):
            raise _distrusted("SigningCertURL", "expected a URL of Amazon")
        signed = envelope.signed
        key = await self._key(envelope.certificate)
        text = sns.signed_text(body, envelope.kind)
        if signed is None or not signatures.fits(key, envelope.digest, text, signed):
            raise _distrusted("Signature", "it does not match the message and its certificate")

    async def confirm(self, envelope: Envelope) -> str:
        """Confirm a subscription if the settings name its topic. Returns what was done."""
        log = logs.get(role="web", topic=envelope.topic)
        if not self._topics:
            log.warning(
                "SNS asks to be confirmed: name the topic in web.sns_topics, or open the URL",
                url=envelope.confirmation,
            )
            return "not confirmed: the topic is not in web.sns_topics; the URL is in the log"
        if not self._hosts.has_confirmation(envelope.confirmation):
            raise _distrusted("SubscribeURL", "expected a URL of Amazon")
        try:
            answer = await self._fetched(envelope.confirmation)
        except DeliveryFailed as error:
            raise _try_later(f"the subscription could not be confirmed: {error}") from None
        failure = answer.failure(is_service=True)
        if failure is not None:
            raise _try_later(f"the subscription could not be confirmed: {failure}")
        log.info("subscription confirmed")
        return "confirmed"

    async def _key(self, url: str) -> RSAPublicKey:
        async with self._fetching:
            until, why = self._failures.get(url, (0.0, ""))
            if url not in self._keys and until <= self._clock.monotonic():
                why = await self._fetch_key(url)
        if url not in self._keys:
            raise _try_later(f"the certificate {url} can't be used: {why}")
        return self._keys[url]

    async def _fetch_key(self, url: str) -> str:
        """Remember the key of a certificate. Returns why there is none, or nothing."""
        for known in (self._keys, self._failures):
            while len(known) >= _REMEMBERED:
                del known[next(iter(known))]
        try:
            answer = await self._fetched(url)
            failure = answer.failure(is_service=True)
            if failure is not None:
                raise failure
            self._keys[url] = signatures.key_of(answer.text)
        except (DeliveryFailed, NoCertificate) as error:
            self._failures[url] = self._clock.monotonic() + _FAILURE_SECONDS, str(error)
            return str(error)
        return ""

    async def _fetched(self, url: str) -> Answer:
        """A host that the settings name may be within our own networks."""
        networks = None if self._hosts.is_chosen(url) else Networks()
        reach = Reach(timeout=_SECONDS)
        client = over_http.client(reach, is_service=True, networks=networks, most=_MOST_BYTES)
        try:
            return await client.ask(Request(url=url, method="GET"))
        finally:
            await client.close()


def _distrusted(field: str, expected: str) -> HttpProblem:
    return HttpProblem(403, expected, field=field)


def _try_later(reason: str) -> HttpProblem:
    return HttpProblem(503, reason, headers={"Retry-After": "30"})
