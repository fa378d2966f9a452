"""Notifications and alerts of other programs, which have fewer fields than ours."""

from typing import Any

import msgspec
import pytest

from tests.alerting.scenes import Stage
from watchbell.alerting import foreign
from watchbell.store.client import Store

LEAST = {"event_id": "web.example.com:HTTP 80", "state": "critical"}


def read(**fields: Any) -> Any:
    return foreign.notification(msgspec.json.encode({**LEAST, **fields}))


def test_a_state_implies_type_and_severity_and_the_names_imply_tags() -> None:
    found = read()
    assert (found.type, found.severity, found.count) == ("problem", "critical", 0)
    assert found.tags == ["80", "example.com", "http", "web"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"state": "warning"}, ("problem", "warning")),
        ({"state": "test_notifications"}, ("test", "critical")),
        ({"state": "ok", "severity": "warning"}, ("recovery", "warning")),
        ({"state": "acknowledgement", "severity": "critical"}, ("acknowledgement", "critical")),
        ({"count": None, "tags": None, "time": None}, ("problem", "critical")),
        ({"count": "17", "time": "1700000000"}, ("problem", "critical")),
    ],
)
def test_what_is_absent_null_or_written_as_text_is_understood(
    fields: dict[str, Any], expected: tuple[str, str]
) -> None:
    found = read(**fields)
    assert (found.type, found.severity) == expected
    assert found.count == int(fields.get("count") or 0)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"state": "ok"}, "missing required field `severity`"),
        ({"state": None}, "missing required field `state`"),
        ({"event_id": None}, "missing required field `event_id`"),
        ({"tags": "web"}, "tags"),
    ],
)
def test_what_cannot_be_understood_is_refused_by_the_field(
    fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=reason):
        read(**fields)


async def test_the_notifier_processes_another_programs_notification(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", rule={"tags": ("http",), "critical_media": ("email",)})
    await stage.contact("bob", "email")
    nulls = {"count": None, "tags": None, "type": None, "severity": None}
    raw = msgspec.json.encode({**LEAST, **nulls})
    await store.call("RPUSH", stage.keys.notifications(), raw)
    await stage.drain()
    assert sorted(await stage.alert_lines()) == [
        "alice problem web.example.com:HTTP 80 critical",
        "bob problem web.example.com:HTTP 80 critical",
    ]
    assert await store.call("EXISTS", stage.own.parked()) == 0
