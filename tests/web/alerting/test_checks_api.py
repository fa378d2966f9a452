"""Checks: lists of them, and what is done with many at once."""

import gzip
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from tests.alerting.scenes import Stage
from tests.waiting import eventually
from tests.web.checks import CHECKS, filled, names, they_are
from tests.web.site import BY, Site
from watchbell.alerting import check_settings, maintenance
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.alerting import check_actions


@pytest.fixture
async def stage(store: Store) -> Stage:
    return await filled(store)


async def test_a_check_at_a_glance(site: Site, stage: Stage) -> None:
    await stage.send("acknowledgement", "web-1:HTTP", duration=3_600, summary="Alice is on it")
    async with site.somebody("viewer") as alice:
        page = (await alice.get("/api/v1/checks")).json()
    first = page["items"][0]
    changed = first["since"]
    assert first == {
        "id": "web-1:HTTP",
        "entity": "web-1",
        "check": "HTTP",
        "state": "critical",
        "summary": "critical since a while",
        "since": changed,
        "failing_since": changed,
        "last_update": changed,
        "acknowledged": True,
        "unscheduled_until": stage.now + 3_600,
        "scheduled_until": None,
        "enabled": True,
        "tags": [],
    }
    assert (page["count"], page["next"]) == (6, None)
    assert page["counts"] == {
        "ok": 3,
        "warning": 1,
        "critical": 1,
        "unknown": 1,
        "acknowledged": 1,
        "maintenance": 0,
    }


@pytest.mark.usefixtures("stage")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["web-1:HTTP", "db-1:Load", "db-1:NTP:drift"]),
        ("state=critical", ["web-1:HTTP"]),
        ("state=critical&state=unknown", ["web-1:HTTP", "db-1:NTP:drift"]),
        ("failing=true", ["web-1:HTTP", "db-1:Load", "db-1:NTP:drift"]),
        ("failing=true&acknowledged=false", ["web-1:HTTP", "db-1:Load", "db-1:NTP:drift"]),
        ("acknowledged=true", []),
        ("maintenance=true", []),
        ("entity=DB-1", ["db-1:Load", "db-1:NTP:drift"]),
        ("entity=db-1&entity=web-2", ["db-1:Load", "db-1:NTP:drift", "web-2:HTTP"]),
        ("tag=database&tag=eu", ["db-1:Load", "db-1:NTP:drift"]),
        ("tag=database&tag=us", []),
        ("text=http", ["web-1:HTTP", "web-2:HTTP"]),
        ("text=DB+warning", ["db-1:Load"]),
        (f"text={quote('ÜNÏCODE &')}", ["<b>bold</b>:ünïcode & more"]),
        ("text=nothing", []),
        ("enabled=no", []),
        (
            "failing=false",
            ["<b>bold</b>:ünïcode & more", "web-2:HTTP", "web-1:Disk /"],
        ),
    ],
)
async def test_checks_are_found_the_worst_first(site: Site, query: str, found: list[str]) -> None:
    async with site.program("read") as program:
        assert (await names(program, query))[: len(found) or None] == found


@pytest.mark.usefixtures("stage")
@pytest.mark.parametrize("sort", ["severity", "age", "name", "update"])
@pytest.mark.parametrize("reverse", ["true", "false"])
async def test_pages_follow_each_other_in_any_order(site: Site, sort: str, reverse: str) -> None:
    query, seen, cursor = f"sort={sort}&reverse={reverse}", [], ""
    async with site.program("read") as program:
        whole = await names(program, query)
        while True:
            path = f"/api/v1/checks?{query}&limit=2&cursor={quote(cursor)}"
            page = (await program.get(path)).json()
            seen += [row["id"] for row in page["items"]]
            assert page["count"] == 6
            if (cursor := page["next"]) is None:
                break
    assert seen == whole
    assert set(seen) == set(CHECKS)
    if sort == "name":
        assert seen == sorted(CHECKS, reverse=reverse == "true")


@pytest.mark.usefixtures("stage")
async def test_counts_are_told_whatever_states_are_asked_for(site: Site) -> None:
    async with site.program("read") as program:
        page = (await program.get("/api/v1/checks?state=ok&text=http")).json()
    assert page["count"] == 1
    assert (page["counts"]["ok"], page["counts"]["critical"]) == (1, 1)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=bad", "state"),
        ("sort=colour", "sort"),
        ("limit=0", "limit"),
        ("cursor=x", "cursor"),
        ("cursor=WzEsMl0=", "cursor"),
        ("enabled=maybe", "enabled"),
        (f"text={'a' * 201}", "text"),
    ],
)
async def test_what_a_list_can_not_be_asked_is_named(site: Site, query: str, field: str) -> None:
    async with site.program("read") as program:
        answer = await program.get(f"/api/v1/checks?{query}")
    assert answer.status == 400
    assert answer.json()["errors"][0]["field"] == field


async def test_checks_are_found_by_the_tags_of_their_reports(site: Site, stage: Stage) -> None:
    await stage.send("warning", "db-1:Load", tags=("prod",))
    async with site.program("read") as program:

        async def found(*tags: str) -> list[list[str]]:
            query = "&".join(f"tag={tag}" for tag in tags)
            page = (await program.get(f"/api/v1/checks?{query}")).json()
            return [[row["id"], *row["tags"]] for row in page["items"]]

        assert await found("prod") == [["db-1:Load", "database", "eu", "prod"]]
        assert await found("prod", "eu") == [["db-1:Load", "database", "eu", "prod"]]
        await stage.send("ok", "web-2:HTTP", tags=("prod", "<i>"))  # as well as it was

        async def is_heard() -> bool:
            return len(await found("prod")) == 2

        await eventually(is_heard)
        await stage.send("warning", "db-1:Load")

        async def is_gone() -> bool:
            return await found("prod") == [["web-2:HTTP", "<i>", "prod"]]

        await eventually(is_gone)


async def test_the_board_is_given_in_columns(site: Site, stage: Stage) -> None:
    await check_settings.disable(stage.store, "web-2:HTTP")
    async with site.program("read") as program:
        answer = await program.get("/api/v1/checks/board?enabled=any")
        rows = (await program.get("/api/v1/checks?enabled=any")).json()["items"]
    told = answer.json()
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert told["count"] == 6
    for at, row in enumerate(rows):
        assert told["entities"][told["entity"][at]] == row["entity"]
        assert told["names"][told["name"][at]] == row["check"]
        assert told["tag_sets"][told["tags"][at]] == row["tags"]
        assert ("ok", "unknown", "warning", "critical")[told["state"][at]] == row["state"]
        assert told["now"] - told["since"][at] == row["since"]
        assert told["now"] - told["last_update"][at] == row["last_update"]
        assert told["summary"][at] == row["summary"]
        failing = told["failing_since"].get(str(at))
        assert (None if failing is None else told["now"] - failing) == row["failing_since"]
        assert (at in told["disabled"]) is not row["enabled"]
    async with site.stranger() as raw:
        headers = {**program.http.headers, "Accept-Encoding": "gzip"}
        async with raw.http.get(
            f"{site.url}/api/v1/checks/board?enabled=any", headers=headers, auto_decompress=False
        ) as small:
            assert small.headers["Content-Encoding"] == "gzip"
            again = msgspec.json.decode(gzip.decompress(await small.read()))
    assert again["summary"] == told["summary"]


async def test_failures_are_acknowledged_and_the_others_say_why_not(
    site: Site, stage: Stage
) -> None:
    async with site.somebody("operator", "alice") as alice:
        body = {
            "checks": ["web-1:HTTP", "DB-1:Load", "web-2:HTTP", "web-3:HTTP", "web-1:HTTP"],
            "summary": "on it",
            "duration": "2 hours",
        }
        acted = (await alice.post("/api/v1/checks/acknowledge", json=body)).json()
        await stage.drain()
        assert await names(alice, "acknowledged=true") == ["web-1:HTTP", "db-1:Load"]
    assert (acted["count"], acted["done"], acted["dry_run"]) == (4, 2, False)
    assert acted["items"] == [
        {"check": "web-1:HTTP", "done": True, "reason": ""},
        {"check": "db-1:Load", "done": True, "reason": ""},
        {
            "check": "web-2:HTTP",
            "done": False,
            "reason": "it is not failing; there is nothing to acknowledge",
        },
        {"check": "web-3:HTTP", "done": False, "reason": "there is no such check"},
    ]
    (window,) = await maintenance.windows(stage.store, "web-1:HTTP", "unscheduled")
    assert (window.duration, window.summary) == (7_200, "alice: on it")
    logged = (await audit.read(stage.store, "", 1))[0].entry
    assert (logged.who, logged.action, logged.subject) == ("alice", "check.acknowledge", "2 checks")


async def test_a_dry_run_says_what_would_be_done_and_does_nothing(site: Site, stage: Stage) -> None:
    paths = ("acknowledge", "maintenance", "disable", "test-notifications", "settings")
    more: dict[str, dict[str, Any]] = {
        "maintenance": {"duration": "1 hour"},
        "settings": {"ttl": 60},
    }
    async with site.somebody("editor") as bob:
        for path in paths:
            body = {"filter": {"entity": ["web-1"]}, "dry_run": True, **more.get(path, {})}
            acted = (await bob.post(f"/api/v1/checks/{path}", json=body)).json()
            assert (acted["count"], acted["dry_run"]) == (2, True)
            assert acted["done"] == (1 if path == "acknowledge" else 2)
        assert await names(bob, "maintenance=true") == []
    assert await stage.store.call("LLEN", stage.keys.events()) == 0
    assert await check_settings.settings(stage.store, "web-1:HTTP") == {}
    assert all(one.entry.action[:6] != "check." for one in await audit.read(stage.store, "", 50))


async def test_maintenance_is_planned_and_ended_by_a_filter(site: Site, stage: Stage) -> None:
    async with site.somebody("operator") as alice:
        body = {"filter": {"tag": ["database"]}, "duration": "1 hour", "summary": "disks"}
        acted = (await alice.post("/api/v1/checks/maintenance", json=body)).json()
        assert acted["done"] == 2
        told = ["db-1:Load", "db-1:NTP:drift"]
        await eventually(lambda: they_are(names(alice, "maintenance=true"), told))
        body = {"checks": ["db-1:Load", "web-1:HTTP"], "kind": "scheduled"}
        ended = (await alice.post("/api/v1/checks/end-maintenance", json=body)).json()
        assert [item["reason"] for item in ended["items"]] == ["", "it is not in such maintenance"]
        await eventually(lambda: they_are(names(alice, "maintenance=true"), told[1:]))
        ended = (await alice.post("/api/v1/checks/end-maintenance", json={"filter": {}})).json()
        assert (ended["count"], ended["done"]) == (6, 1)
    windows = await maintenance.windows(stage.store, "db-1:NTP:drift", "scheduled")
    assert [(one.summary, one.is_open(int(SYSTEM.now()))) for one in windows] == [("disks", False)]


async def test_the_end_of_unscheduled_maintenance_takes_an_acknowledgement_back(
    site: Site, stage: Stage
) -> None:
    await stage.send("acknowledgement", "web-1:HTTP")
    async with site.somebody("operator") as alice:
        body = {"checks": ["web-1:HTTP"]}
        ended = (await alice.post("/api/v1/checks/end-maintenance", json=body)).json()
        assert ended["done"] == 1
        await eventually(lambda: they_are(names(alice, "acknowledged=true"), []))


@pytest.mark.usefixtures("stage")
async def test_checks_are_hidden_and_shown_again(site: Site) -> None:
    async with site.somebody("editor") as bob:
        body = {"checks": ["web-1:HTTP", "web-2:HTTP"]}
        assert (await bob.post("/api/v1/checks/disable", json=body)).json()["done"] == 2
        await eventually(lambda: they_are(names(bob, "text=http"), []))
        again = (await bob.post("/api/v1/checks/disable", json=body)).json()
        assert {item["reason"] for item in again["items"]} == {"it is disabled already"}
        assert await names(bob, "enabled=no") == ["web-1:HTTP", "web-2:HTTP"]
        assert (await bob.post("/api/v1/checks/enable", json=body)).json()["done"] == 2
        await eventually(lambda: they_are(names(bob, "text=http"), body["checks"]))
        again = (await bob.post("/api/v1/checks/enable", json=body)).json()
        assert {item["reason"] for item in again["items"]} == {"it is enabled already"}


async def test_settings_are_given_to_many_and_taken_back(site: Site, stage: Stage) -> None:
    async with site.somebody("editor") as bob:
        body = {"filter": {"text": "http"}, "ttl": 60, "initial_failure_delay": 0}
        assert (await bob.post("/api/v1/checks/settings", json=body)).json()["done"] == 2
        assert await check_settings.settings(stage.store, "web-2:HTTP") == {
            "ttl": 60,
            "initial_failure_delay": 0,
        }
        body = {"checks": ["web-2:HTTP"], "ttl": None}
        await bob.post("/api/v1/checks/settings", json=body)
        nothing = await bob.post("/api/v1/checks/settings", json={"checks": ["web-2:HTTP"]})
    assert await check_settings.settings(stage.store, "web-2:HTTP") == {"initial_failure_delay": 0}
    assert nothing.status == 422


async def test_notifications_are_tried(
    site: Site, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.contact("alice", "email")
    monkeypatch.setattr(check_actions, "MOST_TESTED", 5)
    async with site.somebody("operator") as alice:
        body = {"checks": ["web-2:HTTP"]}
        done = await alice.post("/api/v1/checks/test-notifications", json=body)
        assert done.json()["done"] == 1
        assert (await stage.drain()).notifications == 1
        many = await alice.post("/api/v1/checks/test-notifications", json={"filter": {}})
    assert (many.status, many.json()["errors"][0]["field"]) == (422, "checks")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("acknowledge", {}, "checks"),
        ("acknowledge", {"checks": ["a:b"], "filter": {}}, "checks"),
        ("acknowledge", {"checks": ["a:b"], "duration": "a while"}, "duration"),
        ("acknowledge", {"checks": ["a:b"], "duration": 0}, "duration"),
        ("acknowledge", {"checks": ["a"]}, "checks[0]"),
        ("acknowledge", {"filter": {"colour": "red"}}, "colour"),
        ("acknowledge", {"filter": {"state": ["bad"]}}, "filter.state[0]"),
        ("maintenance", {"checks": ["a:b"]}, "duration"),
        ("maintenance", {"checks": ["a:b"], "duration": 60, "start": "someday"}, "start"),
        ("maintenance", {"checks": ["a:b"], "end": "yesterday"}, "end"),
        ("maintenance", {"checks": ["a:b"], "duration": 60, "zone": "Mars"}, "zone"),
        ("settings", {"checks": ["a:b"], "ttl": -1}, "ttl"),
    ],
)
async def test_what_an_action_can_not_be_asked_is_named(
    site: Site, path: str, body: dict[str, Any], field: str
) -> None:
    async with site.somebody("administrator") as alice:
        answer = await alice.post(f"/api/v1/checks/{path}", json=body)
    assert answer.status in (400, 422)
    assert answer.json()["errors"][0]["field"] == field


@pytest.mark.usefixtures("stage")
async def test_a_filter_that_means_too_many_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_actions, "MOST", 5)
    async with site.somebody("operator") as alice:
        answer = await alice.post("/api/v1/checks/acknowledge", json={"filter": {}})
    assert answer.status == 422
    assert "6 checks match; expected at most 5" in answer.json()["detail"]


async def test_one_check_of_no_use_stops_none_of_the_others(site: Site, stage: Stage) -> None:
    spoilt = Alerting().scheduled_windows("web-1", "HTTP")
    await stage.store.call("SET", spoilt, "no windows")
    async with site.somebody("operator") as alice:
        body = {"checks": ["web-1:HTTP", "web-2:HTTP", "db-1:Load"], "duration": "1 hour"}
        acted = (await alice.post("/api/v1/checks/maintenance", json=body)).json()
    await stage.store.call("DEL", spoilt)
    assert [item["done"] for item in acted["items"]] == [False, True, True]


async def test_a_viewer_acts_on_nothing(site: Site) -> None:
    await site.services.users.add("carol", "viewer", BY)
    async with site.somebody("viewer", "carol") as carol:
        for path in ("acknowledge", "maintenance", "end-maintenance", "test-notifications"):
            body = {"checks": ["web-1:HTTP"], "duration": "1 hour"}
            assert (await carol.post(f"/api/v1/checks/{path}", json=body)).status == 403
    async with site.somebody("operator") as alice:
        for path in ("disable", "enable", "settings"):
            answer = await alice.post(f"/api/v1/checks/{path}", json={"checks": ["web-1:HTTP"]})
            assert answer.status == 403
