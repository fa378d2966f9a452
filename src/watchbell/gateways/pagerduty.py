"""PagerDuty: failures become incidents, by the Events API version 2."""

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import Meta

from watchbell.errors import DeliveryFailed
from watchbell.gateways import over_http
from watchbell.gateways.message import Form, Incident, Message
from watchbell.gateways.message_texts import cut
from watchbell.gateways.over_http import OverHttp, Reach
from watchbell.gateways.pagerduty_acks import Acknowledgements
from watchbell.http.answer import one_line
from watchbell.http.client import JSON, Request, encoded
from watchbell.store.client import Store

STYLE = "plain"

_LONGEST_KEY, _SUMMARY = 255, 1_024


class Settings(Reach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: str = "https://events.pagerduty.com"
    poll: Annotated[float, Meta(ge=0, le=86_400)] = 10
    """Seconds between two requests for acknowledgements; 0 for never."""
    api_url: str = "https://api.pagerduty.com"
    """Where acknowledgements are requested with a contact's token."""
    account_url: str = "https://{subdomain}.pagerduty.com"
    """Where they are requested with a name and password."""


def open_medium(name: str, settings: Settings) -> "PagerDuty":
    return PagerDuty(name, settings)


class PagerDuty(OverHttp):
    form = Form(parts=("text", "incident"))

    def __init__(self, name: str, settings: Settings) -> None:
        self._url = f"{settings.url.rstrip('/')}/v2/enqueue"
        self._client = over_http.client(settings, is_service=True)
        self._acks = Acknowledgements(
            name, settings, settings.poll, settings.api_url, settings.account_url, dedup_key
        )
        super().__init__(settings, self._client, self._acks.client)

    async def send(self, message: Message) -> str:
        routing_key = message.address.strip()
        if not routing_key:
            raise DeliveryFailed("the address is no integration key", permanent=True)
        request = Request(
            url=self._url,
            headers=JSON,
            body=encoded(event(message, routing_key)),
            secrets=(routing_key,),
        )
        return (await self._client.send(request)).line()

    async def attend(self, store: Store) -> None:
        await self._acks.watch(store)


def event(message: Message, routing_key: str) -> dict[str, Any]:
    """The event as the Events API takes it."""
    incident = message.incident or Incident(key=message.topic or message.id)
    payload: dict[str, Any] = {
        "summary": cut(message.text, _SUMMARY) or message.topic[:_SUMMARY] or "an alert",
        "source": one_line(incident.source) or "watchbell",
        "severity": incident.severity,
        "component": one_line(incident.component),
        "custom_details": incident.details,
    }
    if incident.time is not None and 0 <= incident.time < 1 << 37:
        payload["timestamp"] = datetime.fromtimestamp(incident.time, UTC).isoformat()
    return {
        "routing_key": routing_key,
        "event_action": incident.action,
        "dedup_key": dedup_key(incident.key),
        "payload": payload,
        "links": [{"href": one, "text": one[:100]} for one in incident.links],
        "client": "Watchbell",
    }


def dedup_key(key: str) -> str:
    """The key of an incident as PagerDuty takes it: a long one as its digest."""
    if len(key) <= _LONGEST_KEY:
        return key
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()
