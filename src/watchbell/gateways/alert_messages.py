"""Alerts rendered as messages, with the parts that the medium's form asks for."""

import asyncio
import hashlib
import re
from collections.abc import Callable
from typing import Any, Literal

from watchbell.alerting.model import Alert, split_id
from watchbell.gateways.message import Form, Incident, Message, Thread
from watchbell.gateways.message_texts import kind_of
from watchbell.http.answer import one_line
from watchbell.http.client import encoded

_ACTIONS: dict[str, Literal["trigger", "acknowledge", "resolve"]] = {
    "problem": "trigger",
    "test": "trigger",
    "acknowledgement": "acknowledge",
    "recovery": "resolve",
}
_SEVERITIES: dict[str, Literal["critical", "error", "warning"]] = {
    "critical": "critical",
    "warning": "warning",
    "unknown": "error",
    "test_notifications": "critical",
}
_TONES = {"problem": "critical", "recovery": "ok"}
"""The tones of rollups."""
_DETAILS, _LINE, _TAG, _TAGS = 50_000, 1_000, 100, 100
"""Characters of an incident's details, of a summary and of a tag; the number of tags."""
_LINK = re.compile(r"https?://[!-;=?-~]+")
_LINKS, _LONGEST_LINK = 5, 2_000


class AlertRenderer:
    def __init__(
        self, texts: Callable[[str, Alert], str], form: Form, *, is_slow: bool = False
    ) -> None:
        """`is_slow` where the texts come from another process, as those of people's templates."""
        self._texts, self._form, self._is_slow = texts, form, is_slow

    async def message(self, alert: Alert) -> Message:
        """Renders it without holding up the event loop."""
        return await asyncio.to_thread(self, alert) if self._is_slow else self(alert)

    def __call__(self, alert: Alert) -> Message:
        parts = self._form.parts
        subject = self._texts("subject", alert) if "subject" in parts else ""
        text = self._text(alert) if "text" in parts else ""
        if "headline" in parts:
            subject, text = _split_headline(text)
        return Message(
            id=alert.id,
            address=alert.address,
            subject=subject,
            text=text,
            html=self._texts("html", alert) if "html" in parts else "",
            recipient=f"{alert.contact_first_name} {alert.contact_last_name}",
            topic=alert.event_id,
            tone=_TONES.get(alert.rollup or "", alert.state),
            is_urgent=alert.state == "critical" and alert.notification_type == "problem",
            thread=_thread(alert) if "thread" in parts else None,
            headers=_headers(alert) if "thread" in parts else {},
            payload=_payload(alert) if "payload" in parts else "",
            incident=_incident(alert) if "incident" in parts else None,
        )

    def _text(self, alert: Alert) -> str:
        text = self._texts("text", alert)
        if not self._form.reply_prefix or not alert.event_hash:
            return text
        command = f"ACKID {alert.event_hash}"
        return text.replace(command, f"{self._form.reply_prefix}{command}", 1)


def _split_headline(text: str) -> tuple[str, str]:
    headline, _, rest = text.partition("\n")
    return (headline, rest.strip()) if rest.strip() else ("", headline.strip())


def _headers(alert: Alert) -> dict[str, str]:
    return {
        "X-Watchbell-Alert": alert.id,
        "X-Watchbell-Check": alert.event_id,
        "X-Watchbell-Kind": kind_of(alert),
        "X-Watchbell-State": alert.state,
    }


def _thread(alert: Alert) -> Thread:
    """One thread per check, and one for all rollups to a contact by a medium."""
    if alert.rollup:
        return Thread(_thread_name("summaries", f"{alert.contact_id} {alert.media}"), "summaries")
    return Thread(_thread_name("check", alert.event_id), alert.event_id)


def _thread_name(kind: str, about: str) -> str:
    return f"{kind}.{hashlib.sha256(about.encode('utf-8', 'replace')).hexdigest()[:32]}"


def _payload(alert: Alert) -> str:
    kind = "rollup" if alert.rollup else "alert"
    return encoded({"alert": alert, "id": alert.id, "type": kind}).decode()


def _incident(alert: Alert) -> Incident:
    entity, check = split_id(alert.event_id)
    return Incident(
        key=_incident_key(alert),
        action=_ACTIONS[alert.rollup or alert.notification_type],
        severity=_SEVERITIES.get(alert.state, "info"),
        source=entity,
        component=check,
        time=alert.time,
        details=_incident_details(alert),
        links=_links(alert),
    )


def _incident_key(alert: Alert) -> str:
    """Rollups and tests have incidents of their own: whoever acknowledged a test would not be
    paged when the check fails."""
    if alert.rollup:
        return f"summary for {alert.contact_id}"
    if alert.notification_type == "test":
        return f"test of {alert.event_id}"
    return alert.event_id


def _incident_details(alert: Alert) -> dict[str, Any]:
    found = {
        "alert_id": alert.id,
        "state": alert.state,
        "summary": one_line(alert.summary or "", _LINE),
        "details": (alert.details or "")[:_DETAILS],
        "last_state": alert.last_state,
        "last_summary": one_line(alert.last_summary or "", _LINE),
        "state_duration": alert.state_duration,
        "tags": ", ".join(one_line(tag, _TAG) for tag in alert.tags[:_TAGS]),
    }
    return {name: value for name, value in found.items() if value not in (None, "")}


def _links(alert: Alert) -> list[str]:
    """URLs in the check's report, such as a page that says what to do."""
    report = f"{alert.summary or ''} {(alert.details or '')[:_DETAILS]}"
    found = dict.fromkeys(one for one in _LINK.findall(report) if len(one) <= _LONGEST_LINK)
    return list(found)[:_LINKS]
