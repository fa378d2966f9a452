"""Sample alerts, one of each kind, for previews and tests."""

from typing import Any

import msgspec

from watchbell.alerting.model import Alert, RollupEntry

_CHECK: dict[str, Any] = {
    "media": "email",
    "address": "alice@example.com",
    "contact_id": "alice",
    "contact_first_name": "Alice",
    "contact_last_name": "Archer",
    "event_id": "web-1.example.com:HTTP",
    "event_hash": "0b5d1d55",
    "time": 1_772_716_029,
    "event_count": 4_217,
    "tags": ["web-1", "example.com", "http"],
}
_DETAILS = """\
GET https://web-1.example.com/health
connect to 192.0.2.17 port 443: connection refused (3 tries in 10 s)

last answer: 200 after 84 ms, 13:02:11 UTC\
"""
_FAILING = {
    "web-1.example.com:HTTP": ("critical", 200, "connection refused"),
    "web-2.example.com:HTTP": ("critical", 185, "connection refused"),
    "db-1.example.com:Replication": ("warning", 1_260, "37 s behind"),
    "web-1.example.com:Disk / Util": ("warning", 7_500, "/var/log is 91 % full"),
    "backup.example.com:Nightly backup": ("unknown", 93_780, "said nothing for a day"),
}
_ROLLUP = {
    name: RollupEntry(state=state, duration=duration, summary=summary)
    for name, (state, duration, summary) in _FAILING.items()
}
_PROBLEM: dict[str, Any] = {
    "state": "critical",
    "summary": "connection refused",
    "details": _DETAILS,
    "last_state": "ok",
    "last_summary": "200 OK in 84 ms",
    "state_duration": 200,
    "notification_type": "problem",
}
_RECOVERY: dict[str, Any] = {
    "state": "ok",
    "summary": "200 OK in 91 ms",
    "last_state": "critical",
    "last_summary": "connection refused",
    "state_duration": 0,
    "notification_type": "recovery",
}
_FIELDS: dict[str, dict[str, Any]] = {
    "problem": _PROBLEM,
    "recovery": _RECOVERY,
    "acknowledgement": {
        "state": "acknowledgement",
        "summary": "Bob: the load balancer is being replaced",
        "duration": 14_400,
        "last_state": "critical",
        "last_summary": "connection refused",
        "state_duration": 320,
        "notification_type": "acknowledgement",
    },
    "test": {
        "state": "test_notifications",
        "summary": "Testing notifications to all contacts",
        "notification_type": "test",
    },
    "rollup_problem": {
        **_PROBLEM,
        "rollup": "problem",
        "rollup_alerts": _ROLLUP,
        "rollup_threshold": 5,
    },
    "rollup_recovery": {
        **_RECOVERY,
        "rollup": "recovery",
        "rollup_alerts": dict(list(_ROLLUP.items())[2:]),
        "rollup_threshold": 5,
    },
}
SAMPLES = {kind: Alert(id=f"sample-{kind}", **_CHECK, **fields) for kind, fields in _FIELDS.items()}


def sample(kind: str, **fields: Any) -> Alert:
    """The sample of a kind, with some fields replaced."""
    return msgspec.structs.replace(SAMPLES[kind], **fields)
