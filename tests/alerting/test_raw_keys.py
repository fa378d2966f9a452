"""What operators and other programs do to our keys directly, with plain Redis commands."""

from tests.alerting.scenes import START, Stage
from tests.waiting import eventually
from watchbell.alerting.callees import callees
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
    assert await stage.told() == ["alice problem web:http critical"]
    await stage.later(1_000).send("critical")
    assert await stage.told() == []
    await stage.send("critical", "web:disk")  # the next batch tidies up what has ended
    await stage.later(60).send("critical")
    assert await stage.told() == []


async def test_an_expiry_that_an_operator_shortens_is_when_alerts_go_on(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", interval=900)
    await stage.fails()
    assert await stage.told() == ["alice problem web:http critical"]
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
    assert await stage.told() == ["alice problem web:http critical"]


async def test_an_expiry_that_nobody_changed_ends_by_the_clock_of_a_replay(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", interval=900)
    await stage.fails()
    await stage.later(800).send("critical")
    assert await stage.told() == ["alice problem web:http critical"]
    await stage.later(100).send("critical")
    assert await stage.told() == ["alice problem web:http critical"]


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
