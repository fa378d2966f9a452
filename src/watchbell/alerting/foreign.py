"""Notifications and alerts as other programs write them: with fewer fields than ours, or nulls."""

from typing import Any

import msgspec

from watchbell.alerting.event import ephemeral_tags
from watchbell.alerting.model import FAILING, Alert, Notification

_TYPES = {
    **dict.fromkeys(FAILING, "problem"),
    "ok": "recovery",
    "acknowledgement": "acknowledgement",
    "test_notifications": "test",
}
"""The type of notification that a state implies."""
_SEVERITIES = {**{state: state for state in FAILING}, "test_notifications": "critical"}
"""The severity that a state implies; a recovery or an acknowledgement has to name it."""


def notification(raw: bytes) -> Notification:
    """Raises a msgspec.DecodeError, UnicodeDecodeError or RecursionError that says what is wrong.

    Required: `event_id` and `state`; and `severity`, unless the state implies it.
    """
    try:
        found = msgspec.json.decode(raw, type=Notification)
    except msgspec.ValidationError:
        fields = _fields(raw)
        _imply(fields, "type", _TYPES)
        _imply(fields, "severity", _SEVERITIES)
        found = msgspec.convert(fields, Notification, strict=False)
    if not found.tags:  # ours always have those that the names imply
        found.tags = sorted(ephemeral_tags(found.entity, found.check))
    return found


def alert(raw: bytes, medium: str, alert_id: str) -> Alert:
    """An alert from the queue of a medium; `alert_id` is for one that has none. Raises as above.

    Required: `address`, `event_id` and `state`.
    """
    fields = {
        "id": alert_id,
        "media": medium,
        "contact_id": "",
        "contact_first_name": "",
        "contact_last_name": "",
        **_fields(raw),
    }
    _imply(fields, "notification_type", _TYPES)
    found = msgspec.convert(fields, Alert, strict=False)
    durations = [found.state_duration, *(one.duration for one in found.rollup_alerts.values())]
    if any(seconds is not None and seconds < 0 for seconds in durations):
        raise msgspec.ValidationError("a duration is below 0")
    for name, entry in found.rollup_alerts.items():
        if entry.state not in FAILING:
            raise msgspec.ValidationError(f"{name} is rolled up, but its state is {entry.state}")
    return found


def _fields(raw: bytes) -> dict[str, Any]:
    fields = msgspec.json.decode(raw, type=dict[str, Any])
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _imply(fields: dict[str, Any], name: str, by_state: dict[str, str]) -> None:
    state = fields.get("state")
    if name not in fields and isinstance(state, str) and state in by_state:
        fields[name] = by_state[state]
