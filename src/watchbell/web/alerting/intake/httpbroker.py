"""What is posted to `/state` as check events: states with a ttl, alarms of CloudWatch and New
Relic."""

from collections.abc import Mapping
from typing import Any

import msgspec

from watchbell.alerting.event import from_fields
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.alerting.receivers.hosts import entity_of

TTL = 300
"""Seconds after which a state that was not posted again becomes unknown; below 0 for never."""

_CLOUDWATCH = {"ALARM": "critical", "OK": "ok", "INSUFFICIENT_DATA": "unknown"}
_NEW_RELIC = {"CRITICAL": "critical", "WARNING": "warning", "WARN": "warning", "INFO": "ok"}
_DIMENSIONS = ("InstanceId", "DBInstanceIdentifier", "LoadBalancerName", "FunctionName")

Fields = Mapping[str, Any]


def event_of(body: object, now: int) -> CheckEvent | Rejection:
    if not isinstance(body, dict):
        return Rejection("not a JSON object")
    if "NewStateValue" in body:
        return _cloudwatch(body, now)
    if "condition_name" in body and "current_state" in body:
        return _new_relic(body, now)
    return _state(body, now)


def alarm_of(message: str, now: int) -> CheckEvent | Rejection:
    """The alarm of CloudWatch in a message of SNS."""
    try:
        alarm = msgspec.json.decode(message)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return Rejection("Message: expected the JSON of an alarm of CloudWatch", "Message")
    if not isinstance(alarm, dict) or "NewStateValue" not in alarm:
        return Rejection("Message: expected the JSON of an alarm of CloudWatch", "Message")
    return _cloudwatch(alarm, now)


def _state(body: Fields, now: int) -> CheckEvent | Rejection:
    ttl = body.get("ttl", TTL)
    fields = {"type": "service", **body, "ttl": ttl}
    if isinstance(ttl, int) and not isinstance(ttl, bool) and ttl < 0:
        del fields["ttl"]
    return from_fields(fields, now)


def _cloudwatch(alarm: Fields, now: int) -> CheckEvent | Rejection:
    state = _CLOUDWATCH.get(_text(alarm, "NewStateValue"))
    if state is None:
        expected = f"NewStateValue: expected one of {', '.join(_CLOUDWATCH)}"
        return Rejection(expected, "NewStateValue")
    fields = {
        "type": "service",
        "state": state,
        "entity": entity_of(_dimension(alarm) or _text(alarm, "AWSAccountId") or "cloudwatch"),
        "check": _text(alarm, "AlarmName"),
        "summary": _text(alarm, "NewStateReason") or _text(alarm, "AlarmDescription"),
        "details": _text(alarm, "AlarmDescription") or None,
        "tags": [word for word in ("cloudwatch", _text(alarm, "Region")) if word],
    }
    return from_fields(fields, now)


def _dimension(alarm: Fields) -> str:
    """The machine, or whatever else the alarm is about."""
    trigger = alarm.get("Trigger")
    found = trigger.get("Dimensions") if isinstance(trigger, dict) else None
    pairs = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    known = {_text(one, "name"): _text(one, "value") for one in pairs}
    preferred = (known[name] for name in _DIMENSIONS if known.get(name))
    return next(preferred, next((value for value in known.values() if value), ""))


def _new_relic(body: Fields, now: int) -> CheckEvent | Rejection:
    targets = body.get("targets")
    first = targets[0] if isinstance(targets, list) and targets else {}
    target = _text(first, "name") if isinstance(first, dict) else ""
    severity = _NEW_RELIC.get(_text(body, "severity").upper(), "critical")
    closed = _text(body, "current_state").lower() == "closed"
    fields = {
        "type": "service",
        "state": "ok" if closed else severity,
        "entity": entity_of(target or _text(body, "policy_name") or "newrelic"),
        "check": _text(body, "condition_name"),
        "summary": _text(body, "details") or None,
        "details": _text(body, "incident_url") or None,
        "tags": [word for word in ("newrelic", _text(body, "policy_name")) if word],
    }
    return from_fields(fields, now)


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else "" if value is None else str(value)
