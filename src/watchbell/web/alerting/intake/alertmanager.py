"""Alerts of Prometheus and of its Alertmanager as check events.

entity   the label `instance` without its port; else `host`, `node`, `pod`, `cluster`, `job`; else
         the word `prometheus`
check    the label `alertname`, and all labels that make two alerts of one name differ
state    `ok` once `endsAt` is over or `status` is `resolved`; else by the label `severity`:
         `warning` is `warning`, `info` and `none` are `ok`, all else is `critical`
tags     `label=value` of every label but those of entity and name
summary  the annotation `summary`, else `message`, `description`, `title`
ttl      seconds until `endsAt`: Prometheus sends again before, and its silence is `unknown`
"""

from datetime import datetime
from typing import Any

from msgspec import Struct, field

from watchbell.alerting.event import from_fields
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.alerting.receivers.hosts import entity_of

_ENTITY_LABELS = ("instance", "host", "node", "pod", "cluster", "job")
_SUMMARIES = ("summary", "message", "description", "title")
_MILD = {"warning": "warning", "warn": "warning", "info": "ok", "none": "ok"}
_LONGEST = 10_000


class Alert(Struct, frozen=True, rename="camel"):
    """An alert as in versions 1 and 2 of Alertmanager's API and in its webhook."""

    labels: dict[str, str]
    annotations: dict[str, str] = {}
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    generator_url: str = field(default="", name="generatorURL")
    status: str | dict[str, Any] = ""
    """In a webhook, `firing` or `resolved`."""


class Webhook(Struct, frozen=True):
    """The fields that we use of what Alertmanager posts to a webhook receiver."""

    alerts: list[Alert]


def event_of(alert: Alert, now: int) -> CheckEvent | Rejection:
    name = alert.labels.get("alertname", "").strip()
    if not name:
        return Rejection("labels: alertname is missing or empty")
    label, entity, port = _entity(alert.labels)
    rest = {k: v for k, v in sorted(alert.labels.items()) if k not in ("alertname", label) and v}
    if port:
        rest["port"] = port
    ends = int(alert.ends_at.timestamp()) if _is_set(alert.ends_at) and alert.ends_at else None
    over = alert.status == "resolved" or (ends is not None and ends <= now)
    fields: dict[str, Any] = {
        "type": "service",
        "entity": entity,
        "check": f"{name} ({', '.join(f'{k}={v}' for k, v in rest.items())})" if rest else name,
        "state": "ok" if over else _MILD.get(alert.labels.get("severity", "").lower(), "critical"),
        "summary": _summary(alert, name, over=over),
        "details": _details(alert),
        "tags": [f"{k}={v}" for k, v in rest.items()],
        "ttl": None if ends is None or over else ends - now,
    }
    return from_fields(fields, now)


def _is_set(time: datetime | None) -> bool:
    """Programs in Go write the year 1 for no time."""
    return time is not None and time.year > 1970


def _entity(labels: dict[str, str]) -> tuple[str, str, str]:
    """The label that names it, the name, and the port that was in it."""
    for label in _ENTITY_LABELS:
        value = labels.get(label, "").strip()
        if value:
            host, port = _host_and_port(value) if label == "instance" else (value, "")
            return label, entity_of(host), port
    return "", "prometheus", ""


def _host_and_port(instance: str) -> tuple[str, str]:
    host, colon, port = instance.rpartition(":")
    if colon and port.isdecimal() and (":" not in host or host.endswith("]")):
        return host, port
    return instance, ""


def _summary(alert: Alert, name: str, *, over: bool) -> str:
    texts = (alert.annotations.get(key, "").strip() for key in _SUMMARIES)
    text = next((one for one in texts if one), name)
    return f"resolved: {text}" if over else text


def _details(alert: Alert) -> str | None:
    lines = [f"{key}: {value}" for key, value in sorted(alert.annotations.items())]
    if alert.generator_url:
        lines.append(f"source: {alert.generator_url}")
    return "\n".join(lines)[:_LONGEST] or None
