"""A store that Flapjack left in the middle of an incident: for the people nothing changes.

Each scene is played twice: with our indexes built from Flapjack's keys, and before that."""

from collections.abc import Awaitable, Callable

import pytest

from tests.alerting.flapjack_store import FlapjackStore
from tests.alerting.scenes import START, Stage
from watchbell.alerting import entities, history, indexes, known_checks
from watchbell.gateways.keys import Gateways
from watchbell.gateways.outbox import Outbox
from watchbell.store.client import Store

TakeOver = Callable[[], Awaitable[Stage]]


@pytest.fixture
def old(store: Store) -> FlapjackStore:
    return FlapjackStore(store, START)


@pytest.fixture(params=[False, True], ids=["at once", "indexes built"])
def take_over(store: Store, request: pytest.FixtureRequest) -> TakeOver:
    async def take_over() -> Stage:
        if request.param:
            await indexes.build(store)
        return Stage(store)

    return take_over


async def alerting(stage: Stage) -> list[bytes]:
    key = stage.keys.alerting_checks("17", "email")
    return sorted(await stage.store.call("ZRANGE", key, 0, -1))


# --- rollups


@pytest.mark.parametrize("ago", [300, 1000], ids=["suppressed", "no longer suppressed"])
async def test_a_rollup_of_flapjack_ends_and_its_keys_are_removed(
    old: FlapjackStore, take_over: TakeOver, ago: int
) -> None:
    await old.three_in_a_rollup(ago)
    stage = await take_over()
    await stage.send("ok", "web:c")
    (alert,) = await stage.alerts()
    assert (alert.rollup, sorted(alert.rollup_alerts)) == ("recovery", ["web:a", "web:b"])
    assert alert.rollup_threshold == 3
    drop = stage.keys.state_drop("17", "email", "web", "c", "critical")
    assert await old.call("EXISTS", stage.keys.rollup_drop("17", "email"), drop) == 0
    assert await alerting(stage) == [b"web:a", b"web:b"]
    await stage.later(1).send("ok", "web:b")
    assert await stage.alert_lines() == ["17 recovery web:b ok"]


async def test_a_rollup_of_flapjack_goes_on(old: FlapjackStore, take_over: TakeOver) -> None:
    await old.three_in_a_rollup(300)
    await old.check("web:d", "critical", 30)
    stage = await take_over()
    await stage.send("critical", "web:d")
    assert await stage.alert_lines() == []  # a summary was sent 300 s ago
    assert len(await alerting(stage)) == 4
    await old.call("DEL", stage.keys.rollup_drop("17", "email"))  # expires
    await stage.later(600).send("critical", "web:d")
    (alert,) = await stage.alerts()
    assert (alert.rollup, len(alert.rollup_alerts)) == ("problem", 4)


async def test_checks_that_alert_a_medium_are_known(
    old: FlapjackStore, take_over: TakeOver
) -> None:
    await old.contact("17", threshold=3)
    await old.entity("web", "5", "17")
    for name in ("web:a", "web:b"):
        await old.failing(name, "17", 100)
    await old.check("web:c", "critical", 30)
    stage = await take_over()
    await stage.send("critical", "web:c")
    (alert,) = await stage.alerts()
    assert alert.rollup == "problem"
    assert sorted(alert.rollup_alerts) == ["web:a", "web:b", "web:c"]


async def test_an_alert_that_flapjack_sent_is_not_sent_again_within_the_interval(
    old: FlapjackStore, take_over: TakeOver
) -> None:
    await old.contact("17")
    await old.entity("web", "5", "17")
    await old.failing("web:a", "17", 100)
    stage = await take_over()
    await stage.send("critical", "web:a")
    assert await stage.alert_lines() == []
    await old.call("DEL", stage.keys.state_drop("17", "email", "web", "a", "critical"))  # expires
    await stage.later(800).send("critical", "web:a")
    assert await stage.alert_lines() == ["17 problem web:a critical"]


# --- recoveries


@pytest.mark.parametrize("kind", ["critical", "warning", "unknown", "acknowledgement"])
async def test_a_pending_recovery_is_sent(
    old: FlapjackStore, take_over: TakeOver, kind: str
) -> None:
    """It fell into a window that is over, or its delay had not passed."""
    await old.contact("17")
    await old.entity("web", "5", "17")
    await old.check("web:a", "ok", 60)
    await old.notified("web:a", "recovery", 5000)
    await old.alerted("web:a", "17", 700)
    await old.notified("web:a", kind, 600)
    stage = await take_over()
    await stage.send("ok", "web:a", summary="x")
    assert await stage.alert_lines() == ["17 recovery web:a ok"]
    assert await alerting(stage) == []
    await stage.later(60).send("ok", "web:a", summary="x")
    assert await stage.alert_lines() == []


async def test_a_recovery_that_flapjack_sent_is_not_sent_again(
    old: FlapjackStore, take_over: TakeOver
) -> None:
    await old.contact("17")
    await old.entity("web", "5", "17")
    await old.check("web:a", "ok", 60)
    await old.notified("web:a", "critical", 600)
    await old.notified("web:a", "recovery", 600)  # in the same second
    stage = await take_over()
    await stage.send("ok", "web:a", summary="y")
    assert await stage.alert_lines() == []


async def test_a_failure_that_flapjack_reported_recovers(
    old: FlapjackStore, take_over: TakeOver
) -> None:
    await old.contact("17")
    await old.entity("web", "5", "17")
    await old.failing("web:a", "17", 100)
    stage = await take_over()
    await stage.send("ok", "web:a")
    (alert,) = await stage.alerts()
    assert (alert.notification_type, alert.last_state) == ("recovery", "critical")
    assert await alerting(stage) == []


# --- members that don't belong


async def recovered(old: FlapjackStore) -> None:
    await old.check("web:c", "ok", 10)
    await old.call("ZREM", "failed_checks", "web:c")


async def disabled(old: FlapjackStore) -> None:
    await old.call("ZREM", "current_checks:web", "c")


async def in_scheduled_maintenance(old: FlapjackStore) -> None:
    await old.maintenance("web:c", "scheduled", 10, 600)


async def acknowledged(old: FlapjackStore) -> None:
    await old.maintenance("web:c", "unscheduled", 10, 600)


async def unlinked(old: FlapjackStore) -> None:
    await old.call("ZREM", "contact_alerting_checks:17:media:email", "web:c")
    await old.entity("db", "6")
    await old.failing("db:c", "17", 100)


async def garbage(old: FlapjackStore) -> None:
    alerting = "contact_alerting_checks:17:media:email"
    await old.call("ZREM", alerting, "web:c")
    await old.call("ZADD", alerting, 1, b"\xff:c")


@pytest.mark.parametrize(
    "change",
    [recovered, disabled, in_scheduled_maintenance, acknowledged, unlinked, garbage],
)
async def test_what_does_not_belong_to_a_rollup_is_dropped_when_the_contact_is_next_considered(
    old: FlapjackStore, take_over: TakeOver, change: Callable[[FlapjackStore], Awaitable[None]]
) -> None:
    await old.three_in_a_rollup(1000)
    await change(old)
    stage = await take_over()
    await stage.send("critical", "web:a")
    assert await stage.alert_lines() == ["17 rollup-recovery web:a critical"]
    assert await alerting(stage) == [b"web:a", b"web:b"]


# --- maintenance


async def test_an_acknowledgement_goes_on_and_ends_with_the_recovery(
    old: FlapjackStore, take_over: TakeOver
) -> None:
    await old.contact("17")
    await old.entity("web", "5", "17")
    await old.check("web:a", "critical", 1000)
    await old.notified("web:a", "critical", 900)
    await old.notified("web:a", "acknowledgement", 500)
    await old.maintenance("web:a", "unscheduled", 500, 14_400)
    stage = await take_over()
    await stage.send("critical", "web:a")
    assert await stage.alert_lines() == []
    await stage.later(100).send("ok", "web:a")
    assert await stage.alert_lines() == ["17 recovery web:a ok"]
    assert await old.call("EXISTS", stage.keys.unscheduled("web", "a")) == 0
    windows = stage.keys.unscheduled_windows("web", "a")
    assert await old.call("ZSCORE", windows, START - 500) == 600


async def test_an_acknowledgement_that_runs_out_lets_alerts_go_on(
    old: FlapjackStore, take_over: TakeOver
) -> None:
    await old.contact("17")
    await old.entity("web", "5", "17")
    await old.check("web:a", "critical", 1000)
    await old.notified("web:a", "critical", 900)
    await old.notified("web:a", "acknowledgement", 500)
    await old.maintenance("web:a", "unscheduled", 500, 600)
    stage = await take_over()
    await stage.later(100).send("critical", "web:a")
    assert await stage.alert_lines() == ["17 problem web:a critical"]


@pytest.mark.parametrize("has_begun", [True, False], ids=["with its key", "without its key"])
async def test_scheduled_maintenance_goes_on_and_ends(
    old: FlapjackStore, take_over: TakeOver, has_begun: bool
) -> None:
    """Flapjack sets the key that expires with the first event in the window."""
    await old.contact("17")
    await old.entity("web", "5", "17")
    await old.check("web:a", "critical", 1000)
    await old.maintenance("web:a", "scheduled", 100, 600)
    if not has_begun:
        await old.call("DEL", "web:a:scheduled_maintenance")
    stage = await take_over()
    await stage.send("critical", "web:a")
    assert await stage.alert_lines() == []
    assert await old.call("GET", "web:a:scheduled_maintenance") == str(START - 100).encode()
    await stage.later(500).send("critical", "web:a")
    assert await stage.alert_lines() == ["17 problem web:a critical"]


# --- queues


async def test_what_waits_in_the_queues_is_processed(
    old: FlapjackStore, take_over: TakeOver
) -> None:
    await old.contact("17")
    await old.entity("web", "5", "17")
    for name in ("web:a", "web:b"):
        await old.check(name, "critical", 30)
        await old.notified(name, "critical", 0)
    await old.queued("web:a", "critical")
    await old.queued("web:b", "critical", tags=None, event_hash="0a1b2c3d")
    event = '{"type":"service","state":"ok","entity":"WEB","check":"b","time":"1700000000"}'
    await old.call("LPUSH", "events", event)
    await old.call("LPUSH", "events", '{"type":"noop"}')  # by which Flapjack stops its processor
    stage = await take_over()
    await stage.drain()
    assert await stage.alert_lines() == [
        "17 problem web:a critical",
        "17 problem web:b critical",
        "17 recovery web:b ok",
    ]
    assert await old.call("EXISTS", stage.own.parked()) == 0
    assert await alerting(stage) == [b"web:a"]


async def test_alerts_that_wait_for_a_gateway_are_delivered(
    old: FlapjackStore, store: Store
) -> None:
    plain = await old.alert("web:a", "critical")
    entry = {"state": "critical", "duration": 30, "summary": "x"}
    rollup = await old.alert(
        "web:b", "critical", rollup="problem", rollup_alerts={"web:b": entry}, rollup_threshold=1
    )
    outbox = Outbox(store, "email")
    batch = await outbox.taker.take()
    assert batch is not None
    assert await outbox.admit(batch, START) == 2
    await outbox.taker.release()
    keys = Gateways(store.prefix)
    assert set(await store.call("HKEYS", keys.outbox("email"))) == {plain.encode(), rollup.encode()}
    assert await store.call("EXISTS", keys.failed("email")) == 0


# --- operators


@pytest.mark.parametrize("ending", ["", ":email", ":email:web:a", ":email:web:a:critical"])
async def test_drops_that_operators_set_hold(
    old: FlapjackStore, take_over: TakeOver, ending: str
) -> None:
    await old.contact("17")
    await old.entity("web", "5", "17")
    await old.check("web:a", "critical", 30)
    key = f"drop_alerts_for_contact:17{ending}"
    await old.call("SETEX", key, 3600, "d")
    stage = await take_over()
    await stage.send("critical", "web:a")
    assert await stage.alert_lines() == []
    await old.call("DEL", key)
    await stage.later(60).send("critical", "web:a")
    assert await stage.alert_lines() == ["17 problem web:a critical"]


async def test_a_drop_of_a_state_is_none_of_a_check_that_is_called_like_it(
    old: FlapjackStore, take_over: TakeOver
) -> None:
    await old.contact("17")
    await old.entity("web", "5", "17")
    await old.failing("web:a", "17", 100)
    await old.check("web:a:critical", "warning", 30)
    stage = await take_over()
    await stage.send("warning", "web:a:critical")
    assert await stage.alert_lines() == ["17 problem web:a:critical warning"]


# --- before Flapjack 1.2


async def test_a_store_of_flapjack_0_9_is_taken_over(store: Store, take_over: TakeOver) -> None:
    old = FlapjackStore(store, START, is_old=True)
    await old.three_in_a_rollup(300)
    await old.check("web:d", "ok", 300)
    stage = await take_over()
    assert [(one.id, one.name) for one in await entities.find(store)] == [("5", "web")]
    await stage.send("ok", "web:c")
    assert await stage.alert_lines() == ["17 rollup-recovery web:c ok"]
    await stage.later(60).fails("web:d")
    assert (await stage.alert_lines())[-1] == "17 rollup-problem web:d critical"
    assert await old.call("HGETALL", stage.keys.entity_ids()) == {b"web": b"5"}


async def test_checks_of_flapjack_0_9_are_listed(store: Store) -> None:
    old = FlapjackStore(store, START, is_old=True)
    await old.entity("web", "5")
    for name in ("web:a", "web:b:c"):
        await old.check(name, "ok", 300)
    await indexes.build(store)
    assert await known_checks.every(store) == ["web:a", "web:b:c"]
    assert await known_checks.of_entities(store, ["web"]) == {"web": ["web:a", "web:b:c"]}
    assert await old.call("HGETALL", "all_entity_names_by_id") == {b"5": b"web"}
    states = await history.check_states(store, ["web:a"], START)
    assert [one.state for one in states] == ["ok"]
