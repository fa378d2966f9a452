"""Live checks: what streams send, and how the table behind them is kept current."""

from typing import Any

import pytest

from tests.alerting.scenes import Stage
from tests.waiting import eventually
from tests.web.checks import CHECKS, filled, names, streamed, they_are
from tests.web.site import Site
from watchbell.alerting import entities, maintenance
from watchbell.alerting.entities import Entity
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web.alerting.check_filter import CheckFilter
from watchbell.web.live import live_table, row_loader, row_store, topics, views


@pytest.fixture
async def stage(store: Store) -> Stage:
    return await filled(store)


async def test_a_page_hears_what_changes_in_its_list(site: Site, stage: Stage) -> None:
    async with (
        site.somebody("viewer") as alice,
        streamed(alice, "/api/v1/checks/live?failing=true&text=http") as stream,
    ):
        name, first = await stream.next()
        assert (name, first["rows"], first["counts"]["critical"]) == ("changed", [], 1)
        await stage.later(1).send("warning", "web-2:HTTP", summary="slow")
        row = await stream.changed("web-2:HTTP")
        assert (row["state"], row["summary"]) == ("warning", "slow")
        await stage.later(1).send("critical", "db-1:Load")  # which nobody asked for
        await stage.later(1).send("ok", "web-1:HTTP")
        name, told = await stream.next()
        assert (told["rows"], told["gone"]) == ([], ["web-1:HTTP"])
        assert (told["counts"]["critical"], told["counts"]["warning"]) == (0, 1)
        await stage.later(1).send("acknowledgement", "web-2:HTTP")
        assert (await stream.changed("web-2:HTTP"))["acknowledged"] is True


async def test_a_name_that_ends_as_an_entity_does_is_one_of_a_check(
    site: Site, stage: Stage
) -> None:
    await stage.send("ok", "web-1:Disk:")
    async with (
        site.somebody("viewer") as alice,
        streamed(alice, "/api/v1/checks/live") as stream,
    ):
        await stream.next()
        await stage.later(1).send("critical", "web-1:Disk:")
        assert (await stream.changed("web-1:Disk:"))["state"] == "critical"


async def test_whoever_was_cut_off_hears_what_was_missed(site: Site, stage: Stage) -> None:
    async with site.somebody("viewer") as alice:
        moment = (await alice.get("/api/v1/checks")).json()["moment"]
        await stage.later(1).send("critical", "web-2:HTTP")
        await eventually(
            lambda: they_are(names(alice, "state=critical&text=web-2"), ["web-2:HTTP"])
        )
        async with streamed(alice, f"/api/v1/checks/live?resume={moment}") as stream:
            name, told = await stream.next()
            assert (name, [row["id"] for row in told["rows"]]) == ("changed", ["web-2:HTTP"])
            last = stream.id
        async with streamed(alice, f"/api/v1/checks/live?resume={last}") as stream:
            assert (await stream.next())[1]["rows"] == []
        for unknown in ("x", "x.1", f"{last}0", f"{last.partition('.')[0]}.{'9' * 30}"):
            async with streamed(alice, f"/api/v1/checks/live?resume={unknown}") as stream:
                assert await stream.next() == ("reset", None)


async def test_a_reader_who_falls_far_behind_reads_anew(
    site: Site, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST_PENDING", 1)
    async with (
        site.somebody("viewer") as alice,
        streamed(alice, "/api/v1/checks/live") as stream,
    ):
        await stream.next()
        for name in CHECKS:
            entity, _, check = name.partition(":")
            event = {"type": "service", "state": "critical", "entity": entity, "check": check}
            await stage.push(event)
        await stage.later(1).drain()
        assert await stream.next() == ("reset", None)


async def test_what_nobody_tells_is_found_by_going_over_all(
    site: Site, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_loader, "ROUND", 0.1)
    store, keys = stage.store, stage.keys
    async with (
        site.somebody("viewer") as alice,
        streamed(alice, "/api/v1/checks/live") as stream,
    ):
        await stream.next()
        await store.call("HSET", keys.current("web-2", "HTTP"), "summary", "200 OK in 12 ms")
        while not (heard := (await stream.next())[1]["heard"]):
            pass
        assert (heard[0][0], heard[0][2]) == ("web-2:HTTP", "200 OK in 12 ms")
        await store.call("ZREM", keys.all_checks(), "web-2:HTTP")
        while not (gone := (await stream.next())[1]["gone"]):
            pass
        assert gone == ["web-2:HTTP"]
        await store.call("ZADD", keys.all_checks(), stage.now, "web-2:HTTP")
        assert (await stream.changed("web-2:HTTP"))["state"] == "ok"


async def test_windows_begin_and_end_without_being_told_of(site: Site, stage: Stage) -> None:
    async with (
        site.somebody("viewer") as alice,
        streamed(alice, "/api/v1/checks/live") as stream,
    ):
        await stream.next()
        now = int(SYSTEM.now())
        await maintenance.create_scheduled(stage.store, "web-1:HTTP", now + 1, 4, "soon", now)
        assert (await stream.changed("web-1:HTTP"))["scheduled_until"] == now + 5
        assert (await stream.changed("web-1:HTTP"))["scheduled_until"] is None


async def test_tags_of_an_entity_are_those_of_its_checks_at_once(site: Site, stage: Stage) -> None:
    ids = {name: id_ for id_, name in (await entities.names(stage.store)).items()}
    async with site.somebody("viewer") as alice:
        assert await names(alice, "tag=front") == []
        entity = Entity(id=ids["web-1"], name="web-1", tags=("front",))
        await entities.save(stage.store, entity)
        found = ["web-1:HTTP", "web-1:Disk /"]
        await eventually(lambda: they_are(names(alice, "tag=front"), found))
        await entities.remove(stage.store, ids["web-1"])
        await eventually(lambda: they_are(names(alice, "tag=front"), []))


async def test_what_was_said_while_nobody_could_hear_is_read_anew(site: Site, stage: Stage) -> None:
    async with site.somebody("viewer") as alice:
        assert await names(alice, "state=unknown") == ["db-1:NTP:drift"]
        assert await stage.store.call("CLIENT", "KILL", "TYPE", "PUBSUB") == 1
        key = stage.keys.current("web-2", "HTTP")
        await stage.store.call("HSET", key, "state", "unknown")
        await eventually(
            lambda: they_are(names(alice, "state=unknown"), ["db-1:NTP:drift", "web-2:HTTP"])
        )


@pytest.mark.usefixtures("stage")
async def test_a_board_that_nobody_looks_at_is_given_up(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_loader, "ROUND", 0.05)
    async with site.somebody("viewer") as alice:
        assert len(await names(alice)) == 6
        assert site.services.check_table.is_loaded
        monkeypatch.setattr(live_table, "IDLE", 0.0)
        await eventually(lambda: not site.services.check_table.is_loaded)
        monkeypatch.setattr(live_table, "IDLE", 300.0)
        assert len(await names(alice)) == 6


async def test_windows_that_make_no_sense_keep_nobody_busy(site: Site, stage: Stage) -> None:
    key = stage.keys.scheduled_windows("web-1", "HTTP")
    await stage.store.call("ZADD", key, "inf", stage.now - 10, "-inf", 0, 5, "soon")
    async with site.somebody("viewer") as alice:
        found = (await alice.get("/api/v1/checks?maintenance=true")).json()["items"]
        assert [(row["id"], row["scheduled_until"]) for row in found] == [("web-1:HTTP", 1 << 50)]
        calls = await _scripts_run(stage.store)
        assert len(await names(alice)) == 6
    assert await _scripts_run(stage.store) - calls < 20


async def _scripts_run(store: Store) -> int:
    told = await store.call("INFO", "commandstats")
    return int(told["cmdstat_evalsha"]["calls"])


async def test_any_bytes_in_the_store_make_a_row(site: Site, store: Store) -> None:
    keys = Alerting()
    for name in ("a:b", "a:", "nocolon", "x:y"):
        await store.call("ZADD", keys.all_checks(), 1, name)
    fields = ("state", b"\xff\xfe", "summary", b"\x00\xff" * 500, "last_change", "soon")
    await store.call("HSET", keys.current("a", "b"), *fields, "last_update", "1e400")
    await store.call("SET", keys.current("x", "y"), "of no use")
    await store.call("ZADD", keys.current_checks("a"), 1, "b")
    async with site.somebody("viewer") as alice:
        found = (await alice.get("/api/v1/checks?enabled=any")).json()["items"]
    row = next(row for row in found if row["id"] == "a:b")
    assert (row["state"], row["since"], row["last_update"]) == ("unknown", None, None)
    assert len(row["summary"]) == 200
    await store.call("DEL", keys.current("x", "y"))


async def test_topics_tell_how_things_are_and_what_changes(site: Site, stage: Stage) -> None:
    path = "/api/v1/live?topics=" + ",".join(topics.TOPICS)
    async with site.somebody("viewer") as alice, streamed(alice, path) as stream:
        first: dict[str, dict[str, Any]] = {}
        while set(first) != set(topics.TOPICS):
            topic, data = await stream.next()
            first.setdefault(topic, data)
        assert (first["checks"]["critical"], first["queues"]["events"]) == (1, 0)
        assert first["cron"] == {
            "jobs": 0,
            "paused": 0,
            "running": 0,
            "runs": 0,
            "last_success": None,
            "last_failure": None,
        }
        await stage.later(1).send("critical", "web-2:HTTP")
        assert (await stream.until("checks", critical=2))["moment"] != first["checks"]["moment"]
        now = int(SYSTEM.now())
        await maintenance.create_scheduled(stage.store, "web-1:HTTP", now + 9_000, 60, "", now)
        await stream.until("maintenance", changes=first["maintenance"]["changes"] + 1, open=0)
        await stage.push(b"{}")
        await stream.until("queues", events=1)


@pytest.mark.parametrize("query", ["", "?topics=", "?topics=weather", "?topics=checks,weather"])
async def test_a_topic_that_there_is_not_is_refused(site: Site, query: str) -> None:
    async with site.program("read") as program:
        answer = await program.get(f"/api/v1/live{query}")
    assert answer.status in (400, 422)
    assert answer.json()["errors"][0]["field"] == "topics"


@pytest.mark.usefixtures("stage")
async def test_what_was_seen_lately_is_kept_and_no_more(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many filters after each other, as somebody types them."""
    monkeypatch.setattr(row_store, "MOST_VIEWS", 3)
    monkeypatch.setattr(row_store, "THREADED", 1)
    async with site.program("read") as program:
        for text in ("h", "ht", "htt", "http", "h"):
            assert "web-1:HTTP" in await names(program, f"text={text}")
        kept, _ = await site.services.check_table.view(CheckFilter())
        assert len(kept._views) <= 4
