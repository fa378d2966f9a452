"""Maintenance over the API: a calendar of all checks, and what people do in it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.alerting.scenes import Stage
from tests.web.site import Site, Visitor
from watchbell.alerting import calendar, history, maintenance
from watchbell.alerting.calendar import Alike
from watchbell.alerting.keys import Alerting
from watchbell.alerting.windows import Window
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web.audit import read as audit_read

PATH = "/api/v1/maintenance"
HOUR, DAY = 3_600, 86_400
NASTY = "web-1:Disk: /var?a=b&c %2F <b>ü</b>"


@pytest.fixture
async def now(store: Store) -> int:
    """Some checks that have reported, just now."""
    stage = Stage(store)
    stage.now = int(SYSTEM.now())
    for name in ("web-1:HTTP", "web-2:HTTP", "web-1:SSH", "db-1:MySQL", NASTY):
        await stage.send("ok", name)
    return stage.now


async def planned(visitor: Visitor, **fields: Any) -> dict[str, Any]:
    answer = await visitor.post(PATH, json={"duration": HOUR, **fields})
    assert answer.status == 201, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def listed(visitor: Visitor, **query: Any) -> list[dict[str, Any]]:
    answer = await visitor.get(PATH, params=query)
    assert answer.status == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


async def test_windows_that_are_alike_are_one_item(site: Site, store: Store, now: int) -> None:
    async with site.somebody("operator") as alice:
        told = await planned(alice, pattern="web-*", start=now + DAY, summary=" new disks ")
        assert (told["count"], told["end"]) == (4, now + DAY + HOUR)
        await planned(alice, checks=["db-1:MySQL"], start=now + DAY, summary="new disks")
        await planned(alice, checks=["db-1:MySQL"], start=now, duration="2 hours")
        first, second = await listed(alice)
    assert first["checks"] == ["db-1:MySQL"]
    assert (first["when"], first["duration"], first["summary"]) == ("current", 2 * HOUR, "")
    assert second["when"] == "future"
    assert (second["kind"], second["summary"]) == ("scheduled", "new disks")
    assert second["count"] == 5
    assert second["checks"] == sorted(
        ["db-1:MySQL", "web-1:HTTP", "web-1:SSH", "web-2:HTTP", NASTY]
    )
    (window,) = await maintenance.windows(store, NASTY, "scheduled")
    assert window == Window(now + DAY, HOUR, "new disks")


async def test_what_overlaps_the_range_is_found_whoever_wrote_it(
    site: Site, store: Store, now: int
) -> None:
    keys = Alerting(store.prefix)
    for start, length in ((now - 10, 10), (now - 10, 11), (now + 100, 5), (now + 200, 0)):
        await store.call("DEL", keys.scheduled_windows("web-1", "HTTP"))
        await store.call("ZADD", keys.scheduled_windows("web-1", "HTTP"), length, start)
        site.services.calendar.forget()
        async with site.program("read") as program:
            found = await listed(program, **{"from": now, "to": now + 100})
        assert bool(found) == ((start, length) == (now - 10, 11))


async def test_nonsense_that_others_left_is_left_out(site: Site, store: Store, now: int) -> None:
    keys = Alerting(store.prefix)
    await store.call("ZADD", keys.scheduled_windows("web-1", "HTTP"), 60, "soon")
    await store.call("ZADD", keys.scheduled_windows("web-1", "HTTP"), "+inf", now)
    await store.call("ZADD", keys.scheduled_windows("web-1", "HTTP"), 1e200, now + 1)
    await store.call("SET", keys.unscheduled_windows("web-2", "HTTP"), "x")
    await maintenance.create_unscheduled(store, "db-1:MySQL", now, 60, "\x00é", now)
    async with site.program("read") as program:
        found = await listed(program)
    assert [(one["start"], one["duration"]) for one in found] == [
        (now, 60),
        (now + 1, maintenance.LATEST),
    ]
    await store.call("DEL", keys.unscheduled_windows("web-2", "HTTP"))


async def test_kind_pattern_and_pages_narrow_it_down(site: Site, store: Store, now: int) -> None:
    await maintenance.create_unscheduled(store, "web-1:SSH", now, HOUR, "Bob is on it", now)
    for number in range(5):
        await maintenance.create_scheduled(store, "web-1:HTTP", now + number, HOUR, "", now)
    async with site.program("read") as program:
        assert len(await listed(program)) == 6
        assert len(await listed(program, kind="scheduled")) == 5
        (one,) = await listed(program, kind="unscheduled")
        assert (one["summary"], one["checks"]) == ("Bob is on it", ["web-1:SSH"])
        assert len(await listed(program, pattern="*:SSH")) == 1
        assert await listed(program, pattern="db-*") == []
        first = (await program.get(f"{PATH}?kind=scheduled&limit=3")).json()
        rest = (await program.get(f"{PATH}?kind=scheduled&limit=3&cursor={first['next']}")).json()
    starts = [one["start"] for one in first["items"] + rest["items"]]
    assert starts == [now + number for number in range(5)]
    assert rest["next"] is None


async def test_the_checks_of_alike_windows_come_in_pages(site: Site, now: int) -> None:
    async with site.somebody("operator") as alice:
        await planned(alice, pattern="*")
        (one,) = await listed(alice)
        first = (await alice.get(f"{PATH}/checks", params={"id": one["id"], "limit": 3})).json()
        query = {"id": one["id"], "limit": 3, "cursor": first["next"]}
        rest = (await alice.get(f"{PATH}/checks", params=query)).json()
    assert len(first["items"]) == 3
    assert first["items"] + rest["items"] == one["checks"]
    assert now


async def test_a_preview_changes_nothing_and_reads_words_in_the_readers_zone(
    site: Site, now: int
) -> None:
    body = {
        "pattern": "WEB-*:HTTP",
        "start": "2030-03-31 01:30",
        "end": "2030-03-31 03:30",
        "zone": "Europe/Berlin",
    }
    async with site.somebody("viewer") as bob:
        told = (await bob.post(f"{PATH}/preview", json=body)).json()
        none = await bob.post(f"{PATH}/preview", json={**body, "pattern": "nothing"})
        assert await listed(bob, **{"from": told["start"], "to": told["end"]}) == []
    assert (told["count"], told["checks"]) == (2, ["web-1:HTTP", "web-2:HTTP"])
    assert told["start"] == 1_901_147_400  # 00:30 UTC; clocks are set forward half an hour later
    assert told["duration"] == HOUR
    assert none.json()["count"] == 0
    assert now


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({}, 422, "pattern"),
        ({"pattern": "*", "checks": ["web-1:HTTP"]}, 422, "pattern"),
        ({"pattern": "/(/"}, 422, "pattern"),
        ({"pattern": "nothing"}, 422, "pattern"),
        ({"pattern": "*", "duration": None}, 422, "duration"),
        ({"pattern": "*", "end": "in 2 hours"}, 422, "duration"),
        ({"pattern": "*", "duration": "soon"}, 422, "duration"),
        ({"pattern": "*", "duration": 0}, 422, "duration"),
        ({"pattern": "*", "start": "whenever"}, 422, "start"),
        ({"pattern": "*", "start": "9000 years ago"}, 422, "start"),
        ({"pattern": "*", "start": "in 1 hour", "kind": "unscheduled"}, 422, "start"),
        ({"pattern": "*", "duration": None, "end": 5}, 422, "end"),
        ({"pattern": "*", "zone": "Nowhere"}, 422, "zone"),
        ({"pattern": "*", "start": -1}, 400, "start"),
        ({"pattern": "*", "kind": "sometimes"}, 400, "kind"),
        ({"pattern": "*", "why": "x"}, 400, "why"),
        ({"pattern": "*", "summary": "x" * 1_001}, 400, "summary"),
        ({"checks": ["web-1:FTP"]}, 404, None),
    ],
)
async def test_what_does_not_fit_is_told_with_its_field(
    site: Site, now: int, fields: dict[str, Any], status: int, field: str | None
) -> None:
    async with site.somebody("operator") as alice:
        answer = await alice.post(PATH, json={"duration": HOUR, **fields})
        assert answer.status == status, answer.text
        assert [one["field"] for one in answer.json()["errors"]] == ([field] if field else [])
        assert await listed(alice) == []
    assert now


async def test_half_a_character_is_refused(site: Site, now: int) -> None:
    async with site.somebody("operator") as alice:
        headers = {"Content-Type": "application/json"}
        body = b'{"pattern": "*", "duration": 60, "summary": "\\ud800"}'
        answer = await alice.post(PATH, data=body, headers=headers)
    assert answer.status == 400
    assert now


@pytest.mark.parametrize(
    "query", ["from=5&to=5", "from=5&to=4", f"from=0&to={401 * DAY}", "from=x", "kind=x", "to=-1"]
)
async def test_a_range_that_is_none_is_refused(site: Site, query: str) -> None:
    async with site.program("read") as program:
        assert (await program.get(f"{PATH}?{query}")).status in (400, 422)


async def test_what_is_open_is_ended_and_what_is_to_come_is_taken_back(
    site: Site, store: Store, now: int
) -> None:
    await maintenance.create_scheduled(store, "web-1:HTTP", now - 60, 30, "over", now)
    async with site.somebody("operator") as alice:
        await planned(alice, pattern="web-*:HTTP", start=now - HOUR, duration=2 * HOUR)
        await planned(alice, pattern="web-*:HTTP", start=now + DAY)
        past, opened, coming = sorted(
            await listed(alice, **{"from": now - 2 * HOUR}),
            key=lambda one: one["when"] != "past" and one["start"],
        )
        done = [
            (await alice.post(f"{PATH}/end", json={"id": one["id"]})).json()
            for one in (past, opened, coming)
        ]
        again = await alice.post(f"{PATH}/end", json={"id": coming["id"]})
        left = await listed(alice, **{"from": now - 2 * HOUR})
    assert [one["count"] for one in done] == [0, 2, 2]
    assert done[0]["left"] == ["web-1:HTTP"]
    assert again.status == 404
    assert {one["when"] for one in left} == {"past"}
    assert all(abs(one["end"] - now) < 30 for one in left if one["count"] == 2)
    (status,) = await history.check_states(store, ["web-1:HTTP"], int(SYSTEM.now()))
    assert status.scheduled is None


async def test_an_acknowledgement_is_ended_and_shortened_too(
    site: Site, store: Store, now: int
) -> None:
    await maintenance.create_unscheduled(store, "web-1:HTTP", now - 5, DAY, "on it", now)
    async with site.somebody("operator") as alice:
        for until in (now + HOUR, now + 3 * HOUR):
            (one,) = await listed(alice)
            answer = await alice.ask("PUT", PATH, json={"id": one["id"], "end": until})
            assert answer.json() == {"count": 1, "left": []}
            (one,) = await listed(alice)
            assert (one["end"], one["start"], one["summary"]) == (until, now - 5, "on it")
        (one,) = await listed(alice)
        assert (await alice.post(f"{PATH}/end", json={"id": one["id"]})).json()["count"] == 1
        assert await listed(alice) == []


async def test_one_of_many_gets_another_end(site: Site, now: int) -> None:
    async with site.somebody("operator") as alice:
        await planned(alice, pattern="web-1:*", start=now + HOUR, summary="move")
        (one,) = await listed(alice)
        body = {"id": one["id"], "end": now + 3 * HOUR, "checks": ["web-1:SSH"]}
        assert (await alice.ask("PUT", PATH, json=body)).json()["count"] == 1
        shorter, longer = sorted(await listed(alice), key=lambda each: each["duration"])
        assert (shorter["count"], longer["checks"]) == (2, ["web-1:SSH"])
        assert longer["summary"] == "move"
        for wrong, status in (
            ({"id": longer["id"], "end": now + HOUR}, 422),
            ({"id": longer["id"], "end": "yesterday"}, 422),
            ({"id": longer["id"], "end": now + DAY, "checks": ["db-1:MySQL"]}, 422),
            ({"id": one["id"], "end": now + DAY, "checks": ["web-1:SSH"]}, 422),
            ({"id": "nonsense", "end": now + DAY}, 404),
            ({"id": longer["id"]}, 400),
        ):
            answer = await alice.ask("PUT", PATH, json=wrong)
            assert answer.status == status, (wrong, answer.text)


async def test_what_is_over_keeps_its_end(site: Site, store: Store, now: int) -> None:
    await maintenance.create_scheduled(store, "web-1:HTTP", now - 60, 30, "", now)
    async with site.somebody("operator") as alice:
        (one,) = await listed(alice, **{"from": now - HOUR})
        answer = await alice.ask("PUT", PATH, json={"id": one["id"], "end": now + HOUR})
    assert answer.status == 422
    assert "is over" in answer.json()["detail"]


async def test_who_may_only_look_plans_and_ends_nothing(site: Site, now: int) -> None:
    async with site.somebody("viewer") as bob, site.program("intake") as program:
        assert (await bob.post(PATH, json={"pattern": "*", "duration": 60})).status == 403
        assert (await bob.post(f"{PATH}/end", json={"id": "x"})).status == 403
        assert (await bob.ask("PUT", PATH, json={"id": "x", "end": now})).status == 403
        assert (await program.get(PATH)).status == 403


async def test_what_is_done_is_in_the_audit_log(site: Site, store: Store, now: int) -> None:
    async with site.somebody("operator", "alice") as alice:
        await planned(alice, pattern="web-*", start=now, summary="move")
        (one,) = await listed(alice)
        await alice.ask("PUT", PATH, json={"id": one["id"], "end": now + DAY})
        (one,) = await listed(alice)
        await alice.post(f"{PATH}/end", json={"id": one["id"], "checks": ["web-1:SSH"]})
    logged = [one.entry for one in await audit_read(store, "", 3)][::-1]
    assert [(one.who, one.action, one.subject) for one in logged] == [
        ("alice", "maintenance.plan", "web-*"),
        ("alice", "maintenance.resize", "4 checks"),
        ("alice", "maintenance.end", "web-1:SSH"),
    ]
    assert logged[0].details == f"scheduled, 4 checks, {Window(now, HOUR).in_words()}: move"


async def test_what_was_read_a_moment_ago_is_not_read_again(
    site: Site, store: Store, now: int
) -> None:
    async with site.program("operate") as program:
        assert await listed(program, **{"from": now}) == []
        await maintenance.create_scheduled(store, "web-1:HTTP", now, HOUR, "", now)
        assert await listed(program, **{"from": now}) == []
        await planned(program, checks=["db-1:MySQL"], start=now)
        (one,) = await listed(program, **{"from": now})
    assert one["count"] == 2


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a:1", "a:2", "b:1"]),
            st.sampled_from(calendar.KINDS),
            st.builds(Window, st.integers(0, 3), st.integers(1, 3), st.sampled_from(["", "x"])),
        )
    )
)
def test_grouping_loses_and_invents_nothing(found: list[tuple[str, Any, Window]]) -> None:
    groups = calendar.grouped(found)
    assert {(c, one.kind, one.window) for one in groups for c in one.checks} == set(found)
    assert len({one.id for one in groups}) == len(groups)
    assert [one.window.start for one in groups] == sorted(one.window.start for one in groups)
    for one in groups:
        name = calendar.named(one.id)
        assert name is not None
        assert (name.kind, name.start) == (one.kind, one.window.start)


@pytest.mark.parametrize("text", ["", "scheduled", "scheduled-1-2-xyz", "other-1-2-0123456789ab"])
def test_what_is_no_id_is_none(text: str) -> None:
    assert calendar.named(text) is None
    assert calendar.named(Alike("scheduled", Window(1, 2, "x"), []).id) is not None


async def test_a_check_whose_keys_are_of_no_use_stops_none_of_the_others(
    site: Site, store: Store, now: int
) -> None:
    wrong = Alerting(store.prefix).scheduled_windows("web-1", "SSH")
    await store.call("SET", wrong, "left by somebody else")
    async with site.somebody("operator") as alice:
        answer = await alice.post(PATH, json={"pattern": "web-*", "duration": HOUR})
        (one,) = await listed(alice)
    assert answer.status == 422
    assert "web-1:SSH" in answer.json()["detail"]
    assert one["count"] == 3
    assert one["start"] >= now
    await store.call("DEL", wrong)
