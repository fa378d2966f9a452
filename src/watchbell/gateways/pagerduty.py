"""PagerDuty: what fails is an incident there, by the Events API version 2."""

import hashlib
import re
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import Meta

from watchbell.alerting.model import Alert, split_id
from watchbell.errors import DeliveryFailed
from watchbell.gateways import over_http
from watchbell.gateways.medium import Message, Words
from watchbell.gateways.message_texts import cut
from watchbell.gateways.over_http import OverHttp, Reach
from watchbell.gateways.pagerduty_acks import Acknowledgements
from watchbell.http.answer import one_line
from watchbell.http.client import JSON, Request, encoded
from watchbell.store.client import Store

STYLE = "plain"

_ACTIONS = {
    "problem": "trigger",
    "test": "trigger",
    "acknowledgement": "acknowledge",
    "recovery": "resolve",
}
_SEVERITIES = {
    "critical": "critical",
    "warning": "warning",
    "unknown": "error",
    "test_notifications": "critical",
}
_LONGEST_KEY, _SUMMARY, _DETAILS = 255, 1_024, 50_000
_LINK = re.compile(r"https?://[!-;=?-~]+")
_LINKS, _LONGEST_LINK = 5, 2_000


class Settings(Reach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: str = "https://events.pagerduty.com"
    poll: Annotated[float, Meta(ge=0, le=86_400)] = 10
    """Seconds between two looks for acknowledgements; 0 for never."""
    api_url: str = "https://api.pagerduty.com"
    """Where they are looked for with a contact's token,"""
    account_url: str = "https://{subdomain}.pagerduty.com"
    """and where with a name and password."""


def open_medium(name: str, chosen: Settings, words: Words) -> "PagerDuty":
    return PagerDuty(name, chosen, words)


class PagerDuty(OverHttp):
    def __init__(self, name: str, chosen: Settings, words: Words) -> None:
        self._url = f"{chosen.url.rstrip('/')}/v2/enqueue"
        self._client = over_http.client(chosen, is_service=True)
        self._acks = Acknowledgements(
            name, chosen, chosen.poll, chosen.api_url, chosen.account_url, dedup_key
        )
        super().__init__(name, chosen, words, self._client, self._acks.client)

    async def send(self, message: Message) -> str:
        routing_key = message.alert.address.strip()
        if not routing_key:
            raise DeliveryFailed("the address has no integration key", permanent=True)
        request = Request(
            url=self._url,
            headers=JSON,
            body=encoded(event(message, routing_key)),
            secrets=(routing_key,),
        )
        return (await self._client.hand_over(request)).line()

    async def attend(self, store: Store) -> None:
        await self._acks.watch(store)


def event(message: Message, routing_key: str) -> dict[str, Any]:
    """The event as the Events API takes it."""
    alert = message.alert
    entity, check = split_id(alert.event_id)
    payload: dict[str, Any] = {
        "summary": cut(message.text, _SUMMARY) or alert.event_id[:_SUMMARY] or "an alert",
        "source": one_line(entity) or "watchbell",
        "severity": _SEVERITIES.get(alert.state, "info"),
        "component": one_line(check),
        "custom_details": _details(alert),
    }
    if alert.time is not None and 0 <= alert.time < 1 << 37:
        payload["timestamp"] = datetime.fromtimestamp(alert.time, UTC).isoformat()
    return {
        "routing_key": routing_key,
        "event_action": _ACTIONS[alert.rollup or alert.notification_type],
        "dedup_key": _key(alert),
        "payload": payload,
        "links": _links(alert),
        "client": "Watchbell",
    }


def dedup_key(event_id: str) -> str:
    """The key of a check's incident."""
    if len(event_id) <= _LONGEST_KEY:
        return event_id
    return hashlib.sha256(event_id.encode(errors="replace")).hexdigest()


def _key(alert: Alert) -> str:
    """A summary is none of the check's, and a test's incident must not be taken for it either: who
    had acknowledged the test would not be called when the check fails."""
    if alert.rollup:
        return dedup_key(f"summary for {alert.contact_id}")
    if alert.notification_type == "test":
        return dedup_key(f"test of {alert.event_id}")
    return dedup_key(alert.event_id)


def _links(alert: Alert) -> list[dict[str, str]]:
    """Where the check's own words lead to, such as a page on what to do."""
    said = f"{alert.summary or ''} {(alert.details or '')[:_DETAILS]}"
    found = dict.fromkeys(one for one in _LINK.findall(said) if len(one) <= _LONGEST_LINK)
    return [{"href": one, "text": one[:100]} for one in list(found)[:_LINKS]]


def _details(alert: Alert) -> dict[str, Any]:
    details = alert.details or ""
    found = {
        "alert_id": alert.id,
        "state": alert.state,
        "summary": one_line(alert.summary or "", 1_000),
        "details": details[:_DETAILS],
        "last_state": alert.last_state,
        "last_summary": one_line(alert.last_summary or "", 1_000),
        "state_duration": alert.state_duration,
        "tags": ", ".join(one_line(tag, 100) for tag in alert.tags[:100]),
    }
    return {name: value for name, value in found.items() if value not in (None, "")}
