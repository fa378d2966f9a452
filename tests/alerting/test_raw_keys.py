"""What operators and other programs do to our keys directly, with plain Redis commands."""

from collections.abc import Awaitable, Callable

import pytest

from tests.alerting.scenes import START, Stage
from tests.waiting import eventually
from watchbell.alerting.decide.routing import Fate
from watchbell.alerting.who_is_called import callees
from watchbell.settings import Alerting as Settings
from watchbell.store.client import Store


async def drop(stage: Stage, state: str = "critical") -> str:
    key = stage.keys.state_drop("alice", "email", "web", "http", state)
    assert await stage.store.call("EXISTS", key)
    return key


async def absent(store: Store, key: str) -> bool:
    return not await store.call("EXISTS", key)


async def test_an_expiry_that_an_operator_prolongs_holds_alerts_back_until_then(
    store: Store,
) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", interval=900)
    await stage.fails()
    await store.call("EXPIRE", await drop(stage), 86_400)
    assert await stage.alert_lines() == ["alice problem web:http critical"]
    await stage.later(1_000).send("critical")
    assert await stage.alert_lines() == []
    await stage.send("critical", "web:disk")  # the next batch tidies up what has ended
    await stage.later(60).send("critical")
    assert await stage.alert_lines() == []


async def test_an_expiry_that_an_operator_shortens_is_when_alerts_go_on(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", interval=900)
    await stage.fails()
    assert await stage.alert_lines() == ["alice problem web:http critical"]
    key = await drop(stage)
    await store.call("EXPIRE", key, 300)
    stage.later(60)
    asked = await callees(store, "web:http", "critical", Settings(), stage.now)
    (medium,) = asked.contacts[0].media
    assert medium.until is not None
    assert stage.now < medium.until <= stage.now + 300
    await store.call("PEXPIRE", key, 1)
    await eventually(lambda: absent(store, key))
    await stage.send("critical")
    assert await stage.alert_lines() == ["alice problem web:http critical"]


async def test_an_expiry_that_nobody_changed_ends_by_the_clock_of_a_replay(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", interval=900)
    await stage.fails()
    await stage.later(800).send("critical")
    assert await stage.alert_lines() == ["alice problem web:http critical"]
    await stage.later(100).send("critical")
    assert await stage.alert_lines() == ["alice problem web:http critical"]


async def test_what_no_longer_holds_alerts_back_leaves_no_record(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", interval=900, threshold=1)
    await stage.fails()
    assert await store.call("HLEN", stage.own.drop_expiries()) == 2
    assert await store.call("ZCARD", stage.own.drops()) == 2
    await stage.later(60).send("ok")
    assert await store.call("EXISTS", stage.own.drop_expiries(), stage.own.drops()) == 0


async def test_two_actions_in_one_second_are_both_recorded(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    await stage.fails()
    for action in ("acknowledgement", "test_notifications", "acknowledgement"):
        await stage.send(action)
    assert await store.call("HGETALL", stage.keys.actions("web", "http")) == {
        str(START + 30).encode(): b"acknowledgement",
        str(START + 31).encode(): b"test_notifications",
        str(START + 32).encode(): b"acknowledgement",
    }


Change = Callable[[Stage], Awaitable[object]]


async def disable(stage: Stage) -> None:
    await stage.store.call("ZREM", stage.keys.current_checks("db"), "c")


async def maintain(stage: Stage) -> None:
    await stage.store.call("SET", stage.keys.scheduled("db", "c"), stage.now, "EX", 600)


async def acknowledge(stage: Stage) -> None:
    await stage.store.call("SET", stage.keys.unscheduled("db", "c"), stage.now, "EX", 600)


async def unlink(stage: Stage) -> None:
    id_ = await stage.store.call("HGET", stage.keys.entity_ids(), "db")
    await stage.store.call("SREM", stage.keys.entity_contacts(id_.decode()), "alice")


async def recover(stage: Stage) -> None:
    await stage.store.call("ZREM", stage.keys.failed_checks(), "db:c")


RAW_CHANGES = [disable, maintain, acknowledge, unlink, recover]


async def three_fail(stage: Stage, threshold: int) -> None:
    """Three checks for which Alice is alerted, the last one of an entity of its own."""
    await stage.send("ok", "web:a")
    await stage.send("ok", "db:c")
    for entity in ("web", "db"):
        id_ = await stage.store.call("HGET", stage.keys.entity_ids(), entity)
        await stage.contact("alice", "email", linked=id_.decode(), threshold=threshold)
    stage.later(60)
    for name in ("web:a", "web:b", "db:c"):
        await stage.fails(name)


async def alerting(stage: Stage) -> list[bytes]:
    key = stage.keys.alerting_checks("alice", "email")
    return sorted(await stage.store.call("ZRANGE", key, 0, -1))


@pytest.mark.parametrize("change", RAW_CHANGES)
async def test_a_check_that_no_longer_counts_ends_the_rollup_when_the_contact_is_next_considered(
    store: Store, change: Change
) -> None:
    stage = Stage(store)
    await three_fail(stage, threshold=3)
    assert await alerting(stage) == [b"db:c", b"web:a", b"web:b"]
    assert (await stage.alert_lines())[-1] == "alice rollup-problem db:c critical"
    await change(stage.later(900))
    await stage.send("critical", "web:a")
    assert await stage.alert_lines() == ["alice rollup-recovery web:a critical"]
    assert await alerting(stage) == [b"web:a", b"web:b"]
    assert await store.call("EXISTS", stage.own.alerting_media("db", "c")) == 0


@pytest.mark.parametrize("change", RAW_CHANGES)
async def test_without_a_threshold_it_is_dropped_too(store: Store, change: Change) -> None:
    stage = Stage(store)
    await three_fail(stage, threshold=0)
    await change(stage.later(900))
    await stage.send("critical", "web:a")
    assert await alerting(stage) == [b"web:a", b"web:b"]


@pytest.mark.parametrize("change", RAW_CHANGES)
async def test_the_view_counts_as_the_notifier_will(store: Store, change: Change) -> None:
    stage = Stage(store)
    await three_fail(stage, threshold=3)
    await change(stage.later(900))
    asked = await callees(store, "web:a", "critical", Settings(), stage.now)
    assert [one.words for one in asked.contacts[0].media] == [Fate.ROLLUP_ENDS.value]
    assert len(await alerting(stage)) == 3


@pytest.mark.parametrize("change", [disable, maintain, unlink])
async def test_a_summary_does_not_list_it(store: Store, change: Change) -> None:
    stage = Stage(store)
    await three_fail(stage, threshold=2)
    await stage.alerts()
    await change(stage.later(900))
    await stage.send("critical", "web:a")
    (alert,) = await stage.alerts()
    assert (alert.rollup, sorted(alert.rollup_alerts)) == ("problem", ["web:a", "web:b"])


async def test_however_many_no_longer_count_all_are_dropped(store: Store) -> None:
    stage = Stage(store)
    await three_fail(stage, threshold=3)
    await stage.alerts()
    strays = [word for n in range(1_500) for word in (n, f"gone:{n}")]
    await store.call("ZADD", stage.keys.alerting_checks("alice", "email"), *strays, 0, b"\xff")
    await stage.later(900).send("ok", "db:c")
    assert await alerting(stage) == [b"web:a", b"web:b"]
    assert await stage.alert_lines() == ["alice rollup-recovery db:c ok"]


async def test_a_rollup_of_another_program_ends_as_ours_do(store: Store) -> None:
    stage = Stage(store)
    await three_fail(stage, threshold=3)
    await stage.alerts()
    _, names = await store.call("SCAN", 0, "COUNT", 10_000)
    ours = [name for name in names if name in (b"rollups", b"drops", b"drop_expiries")]
    await store.call("DEL", *ours)
    await stage.later(900).send("ok", "db:c")
    assert await stage.alert_lines() == ["alice rollup-recovery db:c ok"]
