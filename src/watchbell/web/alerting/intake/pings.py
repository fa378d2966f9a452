"""Pings as check events, by the signal in the URL and the duration of the run."""

import re

from watchbell.alerting.event import from_fields
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.web.ping_check import Ping

LONGEST_BODY = 10_000
_CODE = re.compile("[0-9]{1,3}")


def state_of(signal: str) -> tuple[str, str] | None:
    """State and summary by what follows the key in the URL: nothing, `fail`, or an exit code."""
    if signal in ("", "fail"):
        return ("ok", "pinged") if not signal else ("critical", "pinged: failed")
    if _CODE.fullmatch(signal) and int(signal) <= 255:
        return ("critical" if int(signal) else "ok"), f"pinged: exit code {int(signal)}"
    return None


def event_of(
    ping: Ping, state: str, summary: str, body: str, began: int | None, now: int
) -> CheckEvent | Rejection:
    """`began` is when the run reported its start."""
    took = None if began is None else max(now - began, 0)
    fields = {
        "type": "service",
        "state": state,
        "entity": ping.entity,
        "check": ping.check,
        "summary": summary if took is None else f"{summary}, after {took} s",
        "details": body[:LONGEST_BODY] or None,
        "perfdata": None if took is None else f"duration={took}s",
        "ttl": ping.ttl,
        "initial_failure_delay": 0,  # nothing more will come before the next run
    }
    return from_fields(fields, now)
