"""Reports over HTTP: each item is answered, taken once, and understood whoever sends it."""

import asyncio
import base64
import hashlib
import json
import subprocess
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.alerting import recorded
from tests.waiting import eventually
from tests.web.site import BY, Site, served
from watchbell.alerting import contacts
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import CheckEvent, Contact, Rejection
from watchbell.clock import SYSTEM
from watchbell.gateways import links as message_links
from watchbell.gateways.links import LASTS, Offer
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.alerting.intake import alertmanager, httpbroker, items, pings
from watchbell.web.alerting.intake.alertmanager import Alert
from watchbell.web.alerting.intake.items import Item, Terms
from watchbell.web.keys import Web
from watchbell.web.ping_check import Ping, ping_of

NOW = 1_700_000_000
PATH = "/api/v1/check-events"
NDJSON = {"Content-Type": "application/x-ndjson"}


def report(check: str = "HTTP", state: str = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "service", "state": state, "entity": "web-1", "check": check, **more}


async def queued(store: Store) -> list[dict[str, Any]]:
    """What waits for the processor, the next first."""
    found = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    return [msgspec.json.decode(one) for one in found[::-1]]


def lines(*reports: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in reports)


async def test_one_event_is_accepted_with_its_time(site: Site, store: Store) -> None:
    async with site.program("intake") as program:
        answer = await program.post(PATH, json=report(summary=" up "))
    assert answer.status == 202
    assert answer.json() == {"accepted": 1, "rejected": 0, "items": [{"status": "accepted"}]}
    (event,) = await queued(store)
    assert event.pop("time") == pytest.approx(SYSTEM.now(), abs=60)
    assert event == report(summary="up")


async def test_each_of_many_is_answered_and_they_stay_in_order(site: Site, store: Store) -> None:
    sent = [report("a"), report("b", "bad"), {"x": 1}, report("c"), 5, None]
    async with site.program("intake") as program:
        answer = await program.post(PATH, json=sent)
    body = answer.json()
    assert (answer.status, body["accepted"], body["rejected"]) == (202, 2, 4)
    assert [one["status"] for one in body["items"]] == [
        *("accepted", "rejected", "rejected", "accepted", "rejected", "rejected")
    ]
    assert "state is 'bad'; expected one of ok" in body["items"][1]["reason"]
    assert body["items"][2]["reason"] == "missing or empty: type, state, entity, check"
    assert [event["check"] for event in await queued(store)] == ["a", "c"]


async def test_many_are_not_stamped_with_the_time_of_their_request(
    site: Site, store: Store
) -> None:
    async with site.program("intake") as program:
        await program.post(PATH, json=[report(), report(time=1_600_000_000)])
        await program.post(PATH, data=lines(report()), headers=NDJSON)
    assert [event.get("time") for event in await queued(store)] == [None, 1_600_000_000, None]


async def test_lines_are_taken_as_they_come_however_they_are_cut(site: Site, store: Store) -> None:
    body = lines(*(report(f"check {n}") for n in range(2_500))) + b"\n\nnonsense\n" + b'{"type":'
    cuts = [body[at : at + 997] for at in range(0, len(body), 997)]

    async def pieces() -> Any:
        for piece in cuts:
            yield piece

    async with site.program("intake") as program:
        answer = await program.post(PATH, data=pieces(), headers=NDJSON)
    told = answer.json()
    assert (told["accepted"], told["rejected"]) == (2_500, 2)
    assert [event["check"] for event in await queued(store)] == [f"check {n}" for n in range(2_500)]


async def test_an_id_that_comes_again_is_accepted_once(site: Site, store: Store) -> None:
    first = [report("a", id="1"), report("b", id="1"), report("c", id="2"), report("d")]
    again = [report("a", id="1"), report("d"), report("e", id="3")]
    async with site.program("intake") as program:
        one = (await program.post(PATH, json=first)).json()
        two = (await program.post(PATH, data=lines(*again), headers=NDJSON)).json()
    assert [each["status"] for each in one["items"]] == [
        *("accepted", "repeated", "accepted", "accepted")
    ]
    assert [each["status"] for each in two["items"]] == ["repeated", "accepted", "accepted"]
    assert [event["check"] for event in await queued(store)] == ["a", "c", "d", "d", "e"]
    assert all("id" not in event for event in await queued(store))


async def test_ids_of_others_are_nothing_to_a_sender(site: Site, store: Store) -> None:
    async with site.program("intake") as one, site.program("intake") as other:
        for program in (one, other, one, other):
            await program.post(PATH, json=report(id="1"))
    assert len(await queued(store)) == 2


async def test_an_id_of_yesterday_is_known_and_one_of_the_day_before_is_not(
    site: Site, store: Store
) -> None:
    keys = Web(store.prefix)

    async def is_well_before_midnight() -> bool:
        return int((await store.call("TIME"))[0]) % 86_400 < 86_400 - 30

    await eventually(is_well_before_midnight)
    async with site.program("intake") as program:
        await program.post(PATH, json=report(id="1"))
        day = int((await store.call("TIME"))[0]) // 86_400
        assert 86_400 < await store.call("TTL", keys.intake_ids(day)) <= 2 * 86_400
        await store.call("RENAME", keys.intake_ids(day), keys.intake_ids(day - 1))
        known = await program.post(PATH, json=report(id="1"))
        await store.call("RENAME", keys.intake_ids(day - 1), keys.intake_ids(day - 2))
        forgotten = await program.post(PATH, json=report(id="1"))
    assert known.json()["items"] == [{"status": "repeated"}]
    assert forgotten.json()["items"] == [{"status": "accepted"}]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"", 422, "body"),
        (b"{", 422, "body"),
        (b"\xff", 422, "body"),
        (b"{}", 422, "type"),
        (b'{"id": 5}', 422, "id"),
        (json.dumps(report(ttl="soon")).encode(), 422, "ttl"),
        (json.dumps(report(id="")).encode(), 422, "id"),
        (json.dumps(report(id="x" * 1_001)).encode(), 422, "id"),
        (json.dumps(report(id={"a": 1})).encode(), 422, "id"),
        (b"[" * 100_000, 400, None),
        (b"[1, 2", 400, None),
    ],
)
async def test_a_single_event_that_is_none_is_told_with_its_field(
    site: Site, store: Store, body: bytes, status: int, field: str | None
) -> None:
    async with site.program("intake") as program:
        answer = await program.post(PATH, data=body)
    assert answer.status == status
    assert [one["field"] for one in answer.json()["errors"]] == ([field] if field else [])
    assert await queued(store) == []


async def test_an_intake_key_acknowledges_nothing(site: Site, store: Store) -> None:
    action = {**report(), "type": "action", "state": "acknowledgement"}
    async with site.program("intake") as program, site.program("operate") as operator:
        refused = await program.post(PATH, json=action)
        many = await program.post(PATH, json=[action, report()])
        taken = await operator.post(PATH, json=action)
    assert refused.status == 422
    assert many.json()["accepted"] == 1
    assert taken.status == 202
    assert [event["type"] for event in await queued(store)] == ["service", "action"]


async def test_a_sender_who_sends_too_much_waits_and_others_do_not(store: Store) -> None:
    async with (
        served(store, intake_rate=1) as site,
        site.program("intake") as noisy,
        site.program("intake") as calm,
    ):
        first = await noisy.post(PATH, json=[report()] * 9)
        second = await noisy.post(PATH, json=[report()] * 2)
        third = await noisy.post(PATH, json=report())
        other = await calm.post(PATH, json=report())
    assert [one.status for one in (first, second, third, other)] == [202, 429, 202, 202]
    assert 0 < int(second.headers["Retry-After"]) <= 10
    assert len(await queued(store)) == 11


async def test_what_is_packed_is_refused_not_unpacked(site: Site) -> None:
    async with site.program("intake") as program:
        for path in (PATH, "/state", "/api/v2/alerts"):
            headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
            answer = await program.post(path, data=b"[]", headers=headers)
            assert answer.status == 415


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_an_item_or_have_a_reason(raw: bytes) -> None:
    for text in (raw, b'{"id": ' + raw + b"}", b'{"id":"x", "type": ' + raw):
        found = items.read(text, Terms(NOW, "a", actions=True))
        assert isinstance(found, Item) or found.reason


# Prometheus


def prometheus(labels: dict[str, str], **more: Any) -> CheckEvent:
    found = alertmanager.event_of(Alert(labels=labels, **more), NOW)
    assert isinstance(found, CheckEvent)
    return found


@pytest.mark.parametrize(
    ("labels", "entity", "check", "state"),
    [
        ({"alertname": "Down"}, "prometheus", "Down", "critical"),
        ({"alertname": "Down", "instance": "web-1:9100"}, "web-1", "Down (port=9100)", "critical"),
        ({"alertname": "Down", "instance": "[::1]:9100"}, "--1", "Down (port=9100)", "critical"),
        ({"alertname": "Down", "instance": "fe80::1"}, "fe80--1", "Down", "critical"),
        ({"alertname": "Down", "node": "n-1", "job": "k"}, "n-1", "Down (job=k)", "critical"),
        (
            {"alertname": "D", "severity": "warning"},
            "prometheus",
            "D (severity=warning)",
            "warning",
        ),
        ({"alertname": "D", "severity": "page"}, "prometheus", "D (severity=page)", "critical"),
        ({"alertname": "W", "severity": "none"}, "prometheus", "W (severity=none)", "ok"),
    ],
)
def test_labels_say_what_an_alert_is_about(
    labels: dict[str, str], entity: str, check: str, state: str
) -> None:
    event = prometheus(labels)
    assert (event.entity, event.check, event.state) == (entity, check, state)


def test_an_alert_says_until_when_it_holds() -> None:
    labels = {"alertname": "Down"}

    def at(seconds: int) -> datetime:
        return datetime.fromtimestamp(NOW + seconds, UTC)

    firing = prometheus(labels, ends_at=at(240))
    assert (firing.state, firing.ttl) == ("critical", 240)
    over = prometheus(labels, ends_at=at(-1), annotations={"summary": "it is down"})
    assert (over.state, over.ttl, over.summary) == ("ok", None, "resolved: it is down")
    never = prometheus(labels, ends_at=datetime(1, 1, 1, tzinfo=UTC))
    assert (never.state, never.ttl) == ("critical", None)


@pytest.mark.parametrize("labels", [{}, {"alertname": " "}, {"alertname": "a", "instance": "{x}"}])
def test_an_alert_without_a_name_is_rejected(labels: dict[str, str]) -> None:
    assert isinstance(alertmanager.event_of(Alert(labels=labels), NOW), Rejection)


@given(
    st.dictionaries(st.text(max_size=8) | st.just("alertname"), st.text(max_size=8)),
    st.none() | st.datetimes(timezones=st.just(UTC)),
)
def test_any_alert_is_an_event_or_has_a_reason(
    labels: dict[str, str], ends: datetime | None
) -> None:
    found = alertmanager.event_of(Alert(labels=labels, ends_at=ends), NOW)
    assert isinstance(found, CheckEvent) or found.reason


async def test_a_prometheus_may_name_us_as_its_alertmanager(site: Site, store: Store) -> None:
    now = datetime.fromtimestamp(int(SYSTEM.now()), UTC)
    body = [
        {
            "labels": {
                "alertname": "HighLatency",
                "instance": "web-1.example.com:9100",
                "job": "node",
                "severity": "warning",
            },
            "annotations": {"summary": "slow", "runbook_url": "https://example.com/slow"},
            "startsAt": f"{now - timedelta(minutes=5):%FT%T}.123456789Z",
            "endsAt": f"{now + timedelta(minutes=4):%FT%T}Z",
            "generatorURL": "http://prometheus.example.com:9090/graph?g0.expr=up",
        },
        {"labels": {"alertname": "Gone"}, "annotations": {}, "endsAt": f"{now:%FT%T}Z"},
        {"labels": {"instance": "web-2"}, "status": {"state": "active"}},
    ]
    async with site.program("intake") as program:
        some = await program.post("/api/v2/alerts", json=body)
        good = await program.post("/api/v2/alerts", json=body[:2])
        none = await program.post("/api/v2/alerts", json={"labels": {}})
    assert (good.status, some.status, none.status) == (200, 400, 400)
    assert some.json()["errors"] == [
        {"field": "[2]", "reason": "labels: alertname is missing or empty"}
    ]
    first, second, *_ = await queued(store)
    assert first["entity"] == "web-1.example.com"
    assert first["check"] == "HighLatency (job=node, severity=warning, port=9100)"
    assert (first["state"], first["summary"]) == ("warning", "slow")
    assert 200 < first["ttl"] <= 240
    assert first["tags"] == ["job=node", "severity=warning", "port=9100"]
    assert "source: http://prometheus.example.com" in first["details"]
    assert (second["check"], second["state"]) == ("Gone", "ok")


# The httpbroker

ALARM = {
    "AlarmName": "cpu high",
    "AlarmDescription": "too much to do",
    "NewStateValue": "ALARM",
    "NewStateReason": "Threshold Crossed: 1 datapoint (97.0)",
    "Region": "EU (Ireland)",
    "Trigger": {
        "Dimensions": [{"name": "x", "value": "y"}, {"name": "InstanceId", "value": "i-1"}]
    },
}
NEW_RELIC = {
    "condition_name": "Apdex low",
    "current_state": "open",
    "severity": "WARNING",
    "details": "Apdex < 0.7",
    "policy_name": "shop",
    "targets": [{"name": "shop:production"}],
}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (report(), ("web-1", "HTTP", "ok", 300)),
        ({"state": "OK", "entity": "A", "check": "b", "ttl": 5}, ("a", "b", "ok", 5)),
        (report(ttl=-1), ("web-1", "HTTP", "ok", None)),
        (ALARM, ("i-1", "cpu high", "critical", None)),
        ({**ALARM, "NewStateValue": "OK"}, ("i-1", "cpu high", "ok", None)),
        (
            {**ALARM, "NewStateValue": "INSUFFICIENT_DATA", "Trigger": None},
            ("cloudwatch", "cpu high", "unknown", None),
        ),
        (NEW_RELIC, ("shop-production", "Apdex low", "warning", None)),
        ({**NEW_RELIC, "current_state": "closed"}, ("shop-production", "Apdex low", "ok", None)),
        ({**NEW_RELIC, "targets": []}, ("shop", "Apdex low", "warning", None)),
    ],
)
def test_a_state_is_understood_whoever_posts_it(body: object, expected: tuple[Any, ...]) -> None:
    event = httpbroker.event_of(body, NOW)
    assert isinstance(event, CheckEvent)
    assert (event.entity, event.check, event.state, event.ttl) == expected


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ([], "not a JSON object"),
        ({}, "missing or empty: state, entity, check"),
        ({**ALARM, "NewStateValue": "WHAT"}, "NewStateValue: expected one of ALARM"),
        ({**ALARM, "AlarmName": ""}, "missing or empty: check"),
        (report(ttl="x"), "ttl is 'x'; expected a whole number"),
    ],
)
def test_what_is_no_state_has_a_reason(body: object, reason: str) -> None:
    found = httpbroker.event_of(body, NOW)
    assert isinstance(found, Rejection)
    assert found.reason.startswith(reason)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from([*ALARM, *NEW_RELIC, "ttl", "name", "value"]),
                inner,
            )
        ),
    )
)
def test_any_state_is_an_event_or_has_a_reason(body: Any) -> None:
    for found in (httpbroker.event_of(body, NOW), httpbroker.alarm_of(json.dumps(body), NOW)):
        assert isinstance(found, CheckEvent) or found.reason


# Pings


async def ping_url(site: Site, **more: Any) -> str:
    ping = Ping("db-1", "backup: nightly", 3_600)
    secret, _ = await site.services.api_keys.make("backup", ("ping",), BY, ping=ping, **more)
    return f"{site.url}/ping/{secret}"


async def test_a_shell_pings_with_curl(site: Site, store: Store) -> None:
    url = await ping_url(site)
    script = f"""
        set -e
        curl -fsS {url}/start
        echo 3 rows | curl -fsS --data-binary @- {url}
        curl -fsS -X POST {url}/fail
        false || curl -fsS {url}/$?
        curl -fsS -o /dev/null -w '%{{http_code}}' {url}/soon || true
    """
    command = ["sh", "-c", script]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    assert done.stdout == "OK\n" * 4 + "404", done.stderr
    first, *rest = await queued(store)
    assert (first["entity"], first["check"], first["ttl"]) == ("db-1", "backup: nightly", 3_600)
    assert (first["state"], first["details"]) == ("ok", "3 rows")
    assert first["summary"].startswith("pinged, after ")
    assert first["perfdata"].startswith("duration=")
    assert [(event["state"], event["summary"]) for event in rest] == [
        ("critical", "pinged: failed"),
        ("critical", "pinged: exit code 1"),
    ]


async def test_a_ping_opens_nothing_else_and_other_keys_do_not_ping(site: Site) -> None:
    url = await ping_url(site)
    over = await ping_url(site, expires=1)
    secret, _ = await site.services.api_keys.make("x", ("admin",), BY)
    async with site.stranger() as visitor:
        headers = {"Authorization": f"Bearer {url.rpartition('/')[2]}"}
        assert (await visitor.post(PATH, json=report(), headers=headers)).status == 403
        assert (await visitor.get("/api/v1/session", headers=headers)).status == 403
        for path in (f"/ping/{secret}", "/ping/x", over.removeprefix(site.url)):
            assert (await visitor.get(path)).status == 404


async def test_a_ping_ends_with_its_owners_permission(site: Site, store: Store) -> None:
    users = site.services.users
    alice = await users.add("alice", "operator", BY)
    path = (await ping_url(site, owner=alice)).removeprefix(site.url)
    async with site.stranger() as visitor:

        async def status() -> int:
            return (await visitor.get(path)).status

        async def becomes(expected: int) -> None:
            await eventually(lambda: _is(status(), expected), why=f"a ping answers {expected}")

        assert await status() == 200
        await users.set_role("alice", "viewer", BY)
        await becomes(403)
        refused = await visitor.get(f"{path}/start")
        assert (refused.status, "is a viewer now" in refused.text) == (403, True)
        await users.set_role("alice", "editor", BY)
        await becomes(200)
        await users.remove("alice", BY)
        await becomes(404)
        await users.add("alice", "operator", BY)  # another one of the same name
        assert await status() == 404
    assert await store.call("EXISTS", Web(store.prefix).pings()) == 0


async def _is(answer: Awaitable[int], expected: int) -> bool:
    return await answer == expected


async def test_a_ping_is_made_by_the_api(site: Site) -> None:
    async with site.somebody("operator") as alice:
        ping = {"check": "db-1:backup", "ttl": 60}
        given = {"name": "backup", "scopes": ["ping"], "ping": ping}
        made = await alice.post("/api/v1/api-keys", json=given)
        assert made.status == 201
        assert f"/ping/{made.json()['secret']}" in made.json()["ping_url"]
        for wrong in (
            {**given, "ping": None},
            {**given, "scopes": ["ping", "read"]},
            {**given, "scopes": ["read"]},
            {**given, "ping": {"check": "no colon", "ttl": 60}},
        ):
            assert (await alice.post("/api/v1/api-keys", json=wrong)).status == 422


@pytest.mark.parametrize(
    ("signal", "state"),
    [
        *(("", "ok"), ("fail", "critical"), ("0", "ok"), ("1", "critical"), ("255", "critical")),
        *(("256", None), ("-1", None), ("stop", None), ("٣", None)),
    ],
)
def test_what_stands_behind_the_key_is_a_state(signal: str, state: str | None) -> None:
    found = pings.state_of(signal)
    assert (found[0] if found else None) == state


def test_a_ping_is_for_a_check() -> None:
    assert ping_of("DB-1:backup: nightly", 60, NOW) == Ping("db-1", "backup: nightly", 60)


# The page behind links of messages


async def test_links_of_messages_are_answered_here_too(site: Site, store: Store) -> None:
    now = int(SYSTEM.now())
    await recorded.check(store, "web-1:HTTP", [(now - 60, "critical")], last_update=now)
    await contacts.save(store, Contact(id="alice", first_name="Alice"))
    signer = await message_links.signer(store)
    token = signer.token(Offer("web-1:HTTP", "alice", now + LASTS))
    async with site.stranger() as visitor:
        looked = await visitor.get(f"/ack/{token}")
        wrong = await visitor.get("/ack/nonsense")
        done = await visitor.post(f"/ack/{token}", data={"for": "2 hours", "summary": "on it"})
    assert (looked.status, wrong.status, done.status) == (200, 410, 200)
    assert "HTTP on web-1" in looked.text
    policy = looked.headers["Content-Security-Policy"]
    style = looked.text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    (event,) = await queued(store)
    assert (event["state"], event["duration"]) == ("acknowledgement", 7_200)
    (used,) = await audit.read(store, "", 1)
    assert (used.entry.who, used.entry.action) == ("Alice (link)", "check.acknowledge")
    assert (used.entry.subject, used.entry.address) == ("web-1:HTTP", "127.0.0.1")
