"""Contacts, entities and checks of another store, as a Flapjack leaves them there."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests import servers
from tests.alerting.scenes import Stage
from tests.conftest import watched
from watchbell.alerting import (
    contacts,
    entities,
    history,
    indexes,
    known_checks,
    maintenance,
    record_keeping,
    record_verify,
)
from watchbell.alerting.entities import Entity
from watchbell.alerting.flapjack_import import EXISTS, Copied, FlapjackImport
from watchbell.alerting.model import Contact, Medium, Rule
from watchbell.store.client import Store

NOW = 1_790_000_000


@pytest.fixture
async def flapjack(folder: Path) -> AsyncIterator[Store]:
    with servers.single(folder) as other:
        async for one in watched(other.url):
            yield one


async def a_check(store: Store) -> None:
    """`web-1:HTTP`, critical since 200, acknowledged, with a window to come."""
    call = store.call
    await call("HSET", "check:web-1:HTTP", "state", "critical", "last_change", 200)
    await call("HSET", "check:web-1:HTTP", "last_update", 260, "summary", "it is down")
    for time, state in ((100, "ok"), (200, "critical")):
        await call("RPUSH", "web-1:HTTP:states", time)
        await call("ZADD", "web-1:HTTP:sorted_state_timestamps", time, time)
        await call("SET", f"web-1:HTTP:{time}:state", state)
        await call("SET", f"web-1:HTTP:{time}:summary", f"it is {state}")
        await call("SET", f"web-1:HTTP:{time}:count", time)
    await call("ZADD", "failed_checks", 200, "web-1:HTTP")
    await call("ZADD", "current_checks:web-1", 260, "HTTP")
    await call("ZADD", "current_entities", 260, "web-1")
    await call("ZADD", "all_checks", 260, "web-1:HTTP")
    await call("ZADD", "all_checks:web-1", 260, "HTTP")
    await call("HSET", "all_entity_ids_by_name", "web-1", "12")
    await call("HSET", "all_entity_names_by_id", "12", "web-1")
    await call("SET", "web-1:HTTP:last_problem_notification", 230)
    await call("RPUSH", "web-1:HTTP:problem_notifications", 230)
    await call("HSET", "web-1:HTTP:actions", 240, "acknowledgement")
    await maintenance.create_unscheduled(store, "web-1:HTTP", NOW - 60, 3600, "on it", NOW)
    await maintenance.create_scheduled(store, "web-1:HTTP", NOW + 9_000, 60, "planned", NOW)


ADA = Contact(
    id="ada",
    first_name="Ada",
    tags=("night",),
    media={"email": Medium(address="ada@example.org", interval=60, rollup_threshold=3)},
    rules=(Rule(id="r1", contact_id="ada", tags=("web",), critical_media=("email",)),),
)


async def copied(flapjack: Store, store: Store, *, dry_run: bool = False) -> Copied:
    steps: list[tuple[str, int, int]] = []
    copy = FlapjackImport(flapjack, store, NOW, dry_run=dry_run)
    found = await copy.run(lambda *step: steps.append(step))
    assert all(done <= total for _, done, total in steps)
    return found


async def everything(flapjack: Store) -> None:
    await contacts.save(flapjack, ADA, with_rules=True, tags_before=())
    await a_check(flapjack)
    linked = Entity(id="12", name="web-1", contacts=("ada",), tags=("rack-1",))
    await entities.save(flapjack, linked)
    await known_checks.tag(flapjack, "web-1:HTTP", "slow", is_on=True)


async def test_everything_about_a_check_is_copied(flapjack: Store, store: Store) -> None:
    await everything(flapjack)
    done = await copied(flapjack, store)
    assert (done.contacts, done.rules, done.entities) == (1, 1, 1)
    assert (done.checks, done.changes, done.windows, done.skipped) == (1, 2, 2, [])
    for read in (
        lambda s: history.check_states(s, ["web-1:HTTP"], NOW),
        lambda s: history.state_changes(s, "web-1:HTTP", None, None),
        lambda s: history.notifications(s, "web-1:HTTP", None, None),
        lambda s: history.actions(s, "web-1:HTTP", None, None),
        lambda s: maintenance.windows(s, "web-1:HTTP", "scheduled"),
        lambda s: maintenance.windows(s, "web-1:HTTP", "unscheduled"),
        history.failing,
        entities.find,
        contacts.everybody,
        known_checks.tags,
    ):
        assert await read(store) == await read(flapjack)
    assert await store.call("TTL", "web-1:HTTP:unscheduled_maintenance") > 3_000


async def test_a_dry_run_says_the_same_and_writes_nothing(flapjack: Store, store: Store) -> None:
    await everything(flapjack)
    dry = await copied(flapjack, store, dry_run=True)
    assert await store.call("DBSIZE") == 0
    assert dry == await copied(flapjack, store)


async def test_what_exists_stays_as_it_is(flapjack: Store, store: Store) -> None:
    await everything(flapjack)
    await copied(flapjack, store)
    await store.call("HSET", "check:web-1:HTTP", "summary", "ours")
    again = await copied(flapjack, store)
    assert {(one.kind, one.name) for one in again.skipped} == {
        ("contact", "ada"),
        ("entity", "web-1"),
        ("check", "web-1:HTTP"),
    }
    assert {one.reason for one in again.skipped} == {EXISTS}
    assert again.refused == []
    assert await store.call("HGET", "check:web-1:HTTP", "summary") == b"ours"


async def test_a_store_without_a_list_of_checks_is_searched(flapjack: Store, store: Store) -> None:
    await everything(flapjack)
    await flapjack.call("DEL", "all_checks", "all_checks:web-1")
    assert (await copied(flapjack, store)).checks == 1
    assert await known_checks.every(store) == ["web-1:HTTP"]


async def test_what_is_invalid_is_listed_and_stops_nothing(flapjack: Store, store: Store) -> None:
    await everything(flapjack)
    await flapjack.call("HSET", "contact:b:d", "first_name", "Eve")
    await flapjack.call("HSET", "entity:9", "name", "check")
    await flapjack.call("ZADD", "all_checks", 1, "broken:keys")
    await flapjack.call("SET", "broken:keys:states", "no list")
    done = await copied(flapjack, store)
    assert (done.contacts, done.entities, done.checks) == (1, 1, 1)
    found = {(one.kind, one.name): one.reason for one in done.refused}
    assert set(found) == {("contact", "b:d"), ("entity", "check"), ("check", "broken:keys")}
    assert found["check", "broken:keys"] == "its keys there have wrong types"
    await flapjack.call("DEL", "broken:keys:states")


async def test_long_histories_are_copied_whole(flapjack: Store, store: Store) -> None:
    await everything(flapjack)
    for first in range(0, 9_000, 1_000):
        times = range(10_000 + first, 11_000 + first)
        await flapjack.call("RPUSH", "web-1:HTTP:recovery_notifications", *times)
    await copied(flapjack, store)
    assert await store.call("LLEN", "web-1:HTTP:recovery_notifications") == 9_000


async def test_a_recovery_that_flapjack_owes_is_sent(flapjack: Store, store: Store) -> None:
    """The check is well again, and nobody was told so yet."""
    await everything(flapjack)
    await flapjack.call("SET", "web-1:HTTP:last_critical_notification", 230)
    await flapjack.call("HSET", "check:web-1:HTTP", "state", "ok", "last_change", 300)
    await flapjack.call("RPUSH", "web-1:HTTP:states", 300)
    await flapjack.call("ZADD", "web-1:HTTP:sorted_state_timestamps", 300, 300)
    await flapjack.call("SET", "web-1:HTTP:300:state", "ok")
    await flapjack.call("ZREM", "failed_checks", "web-1:HTTP")
    for kind in ("scheduled", "unscheduled"):
        await flapjack.call("DEL", f"web-1:HTTP:{kind}_maintenance")
        await flapjack.call("DEL", f"web-1:HTTP:{kind}_maintenances")
    await indexes.build(store)
    await copied(flapjack, store)
    stage = Stage(store)
    stage.now = NOW + 60
    await stage.send("ok", "web-1:HTTP")
    assert await stage.alert_lines() == ["ada recovery web-1:HTTP ok"]


async def test_records_that_are_kept_have_what_was_copied(flapjack: Store, store: Store) -> None:
    await everything(flapjack)
    await record_keeping.build(store, lambda _: None)
    await copied(flapjack, store)
    assert [one async for one in record_verify.differences(store)] == []
    assert (await record_keeping.counts(store))["check"] == 1


async def test_what_is_no_time_is_left_out_and_a_refused_check_is_listed(
    flapjack: Store, store: Store
) -> None:
    await everything(flapjack)
    await record_keeping.build(store, lambda _: None)
    await flapjack.call("ZADD", "web-1:HTTP:scheduled_maintenances", 60, "nan", -5, 7)
    await flapjack.call("ZADD", "web-1:HTTP:sorted_state_timestamps", 1, "soon")
    await store.call("SET", "web-1:HTTP:sorted_state_timestamps", "no sorted set")
    for _ in range(2):
        [refused] = (await copied(flapjack, store)).refused
        assert (refused.name, refused.reason) == ("web-1:HTTP", "its keys here have wrong types")
    await store.call("DEL", "web-1:HTTP:sorted_state_timestamps")
    done = await copied(flapjack, store)
    assert (done.checks, done.changes, done.windows, done.refused) == (1, 2, 2, [])
    assert await store.call("LRANGE", "web-1:HTTP:states", 0, -1) == [b"100", b"200"]
    assert [one async for one in record_verify.differences(store)] == []
