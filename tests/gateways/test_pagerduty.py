"""PagerDuty: events as its API documents them."""

import pytest

from tests.gateways.http_media import NASTY, kind_of, problem, refused, scene, sent
from tests.gateways.http_sink import Reply
from watchbell.gateways.pagerduty import dedup_key
from watchbell.gateways.samples import SAMPLES, sample

KEY = "0123456789abcdef0123456789abcdef"
OWN = {"url": "SINK"}


@pytest.mark.parametrize(
    ("kind", "action", "severity"),
    [
        ("problem", "trigger", "critical"),
        ("acknowledgement", "acknowledge", "info"),
        ("recovery", "resolve", "info"),
        ("test", "trigger", "critical"),
        ("rollup_problem", "trigger", "critical"),
        ("rollup_recovery", "resolve", "info"),
    ],
)
async def test_an_alert_is_an_event(kind: str, action: str, severity: str) -> None:
    async with scene("pagerduty", **OWN) as (sink, medium):
        answer = await sent(medium, sample(kind, address=KEY))
        assert answer.startswith("202 ")
        assert not sink.problems
        event = sink.received[0].json
        assert event["routing_key"] == KEY
        assert event["event_action"] == action
        assert event["payload"]["severity"] == severity


async def test_an_event_tells_what_fails_and_where() -> None:
    async with scene("pagerduty", **OWN) as (sink, medium):
        await sent(medium, problem(KEY))
        event = sink.received[0].json
        payload = event["payload"]
        assert event["dedup_key"] == "web-1.example.com:HTTP"
        assert payload["source"] == "web-1.example.com"
        assert payload["component"] == "HTTP"
        assert payload["timestamp"] == "2026-03-05T13:07:09+00:00"
        assert "connection refused" in payload["summary"]
        details = payload["custom_details"]
        assert details["alert_id"] == "sample-problem"
        assert details["details"].startswith("GET https://web-1.example.com/health")
        link = "https://web-1.example.com/health"
        assert event["links"] == [{"href": link, "text": link}]


@pytest.mark.parametrize(
    ("state", "severity"), [("critical", "critical"), ("warning", "warning"), ("unknown", "error")]
)
async def test_a_state_has_its_severity(state: str, severity: str) -> None:
    async with scene("pagerduty", **OWN) as (sink, medium):
        await sent(medium, problem(KEY, state=state))
        assert sink.received[0].json["payload"]["severity"] == severity


async def test_failure_acknowledgement_and_recovery_are_one_incident_and_others_are_not() -> None:
    async with scene("pagerduty", **OWN) as (sink, medium):
        for kind in SAMPLES:
            await sent(medium, sample(kind, address=KEY))
        keys = {
            kind: got.json["dedup_key"] for kind, got in zip(SAMPLES, sink.received, strict=True)
        }
        assert keys["problem"] == keys["acknowledgement"] == keys["recovery"]
        assert keys["rollup_problem"] == keys["rollup_recovery"]
        assert len({keys["problem"], keys["test"], keys["rollup_problem"]}) == 3


def test_a_long_name_of_a_check_is_hashed() -> None:
    long, longer = "web:" + "x" * 252, "web:" + "x" * 251
    assert len(dedup_key(long)) == 64
    assert dedup_key(long) != dedup_key(long + "x")
    assert dedup_key(longer) == longer


@pytest.mark.parametrize("nasty", NASTY)
async def test_whatever_people_wrote_arrives(nasty: str) -> None:
    async with scene("pagerduty", **OWN) as (sink, medium):
        await sent(medium, problem(KEY, **NASTY[nasty]))
        assert not sink.problems


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(400, '{"status":"invalid event","errors":["routing_key"]}'), "permanent"),
        (Reply(429, "", {"Retry-After": "5"}), "passing"),
        (Reply(500, "oh"), "passing"),
        (Reply(403, "no"), "unreachable"),
    ],
)
async def test_an_answer_says_what_becomes_of_an_event(reply: Reply, kind: str) -> None:
    async with scene("pagerduty", **OWN) as (sink, medium):
        sink.reply("/v2/enqueue", reply)
        assert kind_of(await refused(medium, problem(KEY))) == kind


async def test_the_key_is_a_secret_and_must_be_there() -> None:
    async with scene("pagerduty", **OWN) as (sink, medium):
        sink.reply("/v2/enqueue", Reply(400, f"bad key {KEY}"))
        assert KEY not in str(await refused(medium, problem(KEY)))
        assert (await refused(medium, problem(" "))).permanent
