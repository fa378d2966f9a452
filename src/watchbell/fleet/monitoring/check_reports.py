"""Check events about alerts of servers: `HOST:ALERT`. Pure."""

from typing import NamedTuple

from watchbell.alerting.event import encode
from watchbell.alerting.model import CheckEvent, State


class CheckReport(NamedTuple):
    check: str
    """`ENTITY:CHECK`."""
    event: bytes


def active(host: str, alert: str, title: str, message: str, now: float) -> CheckReport:
    return _report(host, alert, "critical", f"{title}: {message}" if message else title, now)


def cleared(host: str, alert: str, title: str, reason: str, now: float) -> CheckReport:
    return _report(host, alert, "ok", f"{title}: cleared, {reason}", now)


def _report(host: str, alert: str, state: State, summary: str, now: float) -> CheckReport:
    event = CheckEvent(
        type="service",
        state=state,
        entity=host,
        check=alert,
        time=int(now),
        summary=summary,
        initial_failure_delay=0,  # the definition counts samples
    )
    return CheckReport(f"{host}:{alert}", encode(event))
