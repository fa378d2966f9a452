"""Pipelines renew their records, disappear, come back and are asked to stop."""

from typing import Any

import msgspec
import pytest

from tests.archive.crawling import KEYS, NOW, OTHER, OWN, PIPELINE
from watchbell.alerting.keys import Alerting
from watchbell.archive import pipelines
from watchbell.archive.model import Pipeline
from watchbell.archive.pipeline_reporter import PipelineReporter, Seen, Transitions, judge
from watchbell.archive.pipelines import Capacity
from watchbell.clock import SetClock
from watchbell.errors import NotFound, Refused
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store

ROOM = Capacity(concurrent=20, running=3, large=True)


def record(pipeline: str = PIPELINE, nickname: str = "alice", **fields: Any) -> Pipeline:
    return Pipeline(
        **{
            "id": pipeline,
            "nickname": nickname,
            "hostname": "h1",
            "fqdn": "h1.example.com",
            "pid": 42,
            "version": "1",
            "python": "3.11",
            "ts": NOW,
            "disk_usage": 12.5,
            "disk_available": 1 << 40,
            "mem_usage": 50.25,
            "mem_available": 1 << 30,
            "load_average_1m": 0.5,
            "load_average_5m": 0.25,
            "load_average_15m": 1.0,
            **fields,
        }
    )


async def test_a_record_has_the_fields_of_the_document(store: Store) -> None:
    for _ in range(2):
        assert await pipelines.report(store, record(), ROOM) is False
    found = await store.call("HGETALL", PIPELINE)
    texts = {name.decode(): value.decode() for name, value in found.items()}
    assert texts == {
        "id": PIPELINE,
        "nickname": "alice",
        "hostname": "h1",
        "fqdn": "h1.example.com",
        "pid": "42",
        "version": "1",
        "python": "3.11",
        "status": "Running",
        "ts": "1790000000.250",
        "disk_usage": "12.5",
        "disk_available": str(1 << 40),
        "mem_usage": "50.25",
        "mem_available": str(1 << 30),
        "load_average_1m": "0.5",
        "load_average_5m": "0.25",
        "load_average_15m": "1.0",
    }
    assert await store.call("LRANGE", KEYS.pipelines(), 0, -1) == [PIPELINE.encode()]
    (known,) = await pipelines.every(store)
    assert (known.record, known.capacity, known.should_stop) == (record(), ROOM, False)


async def test_a_goodbye_leaves_nothing(store: Store) -> None:
    await pipelines.report(store, record(), ROOM)
    await pipelines.stop(store, PIPELINE)
    await pipelines.say_goodbye(store, PIPELINE)
    assert await store.call("DBSIZE") == 0


async def test_a_pipeline_is_asked_to_stop(store: Store) -> None:
    await pipelines.report(store, record(), ROOM)
    await pipelines.stop(store, (await pipelines.find(store, "alice")).record.id)
    assert await pipelines.report(store, record(status="Stopping"), ROOM) is True
    with pytest.raises(NotFound):
        await pipelines.stop(store, OTHER)
    with pytest.raises(NotFound):
        await pipelines.find(store, "bob")


async def test_a_nickname_of_two_pipelines_names_neither(store: Store) -> None:
    await pipelines.report(store, record(), ROOM)
    await pipelines.report(store, record(OTHER), ROOM)
    with pytest.raises(Refused, match=PIPELINE):
        await pipelines.find(store, "alice")
    found = await pipelines.find(store, OTHER.removeprefix("pipeline:"))
    assert found.record.id == OTHER


async def test_pipelines_of_other_programs_are_listed(store: Store) -> None:
    await store.call("HSET", OTHER, "id", OTHER, "nickname", "bob", "pid", "x", "ts", "nan")
    await store.call("SADD", KEYS.pipelines(), OTHER)
    await pipelines.notice(store, [OTHER, PIPELINE])
    await pipelines.report(store, record(), ROOM)
    assert [one.name for one in await pipelines.every(store)] == ["alice", "bob"]
    await store.call("DEL", KEYS.pipelines())


def seen(name: str, nickname: str | None, silent: float, watched: float = 100) -> Seen:
    return Seen(name, "5", nickname, silent, watched)


@pytest.mark.parametrize(
    ("found", "known", "expected"),
    [
        ([seen("1", "a", 1)], {}, Transitions({}, {}, [])),
        ([seen("1", "a", 29)], {}, Transitions({}, {}, [])),
        ([seen("1", "a", 40)], {}, Transitions({"a": 40}, {}, [])),
        ([seen("1", "a", 40, 10)], {}, Transitions({}, {}, [])),
        ([seen("1", "a", 40)], {"a": "1"}, Transitions({}, {}, [])),
        ([seen("1", "a", 1)], {"a": "1"}, Transitions({}, {"a": "the pipeline is back"}, [])),
        ([], {"a": "1"}, Transitions({}, {"a": "the pipeline was removed"}, [])),
        ([seen("1", "a", 40), seen("2", "a", 1)], {}, Transitions({}, {}, [])),
        (
            [seen("1", "a", 700), seen("2", "a", 1)],
            {},
            Transitions({}, {}, [seen("1", "a", 700)]),
        ),
        ([seen("1", None, 1)], {}, Transitions({}, {}, [seen("1", None, 1)])),
    ],
)
def test_who_is_gone_is_decided_by_nickname(
    found: list[Seen], known: dict[str, str], expected: Transitions
) -> None:
    assert judge(found, known, lease=30, forget_after=600) == expected


async def test_a_pipeline_that_disappears_fails_its_check_until_it_returns(store: Store) -> None:
    clock = SetClock(NOW)
    reporter = PipelineReporter(store, Settings(), clock)

    async def looked() -> list[tuple[str, str]]:
        for _ in range(2):
            await reporter.look()
            clock.advance(31)
        events = await store.call("LRANGE", Alerting().events(), 0, -1)
        decoded = [msgspec.json.decode(one) for one in events]
        return [(f"{one['entity']}:{one['check']}", one["state"]) for one in decoded]

    await pipelines.report(store, record(), ROOM)
    assert await looked() == []
    await store.call("ZADD", OWN.pipelines_seen(), 5, PIPELINE)
    assert await looked() == [("pipelines:alice", "critical")]
    assert await looked() == [("pipelines:alice", "critical")]
    await pipelines.report(store, record(OTHER), ROOM)
    assert (await looked())[0] == ("pipelines:alice", "ok")
    assert [one.record.id for one in await pipelines.every(store)] == [OTHER]
    await pipelines.say_goodbye(store, OTHER)
    assert len(await looked()) == 2


async def test_a_pipeline_that_will_not_come_back_is_forgotten_and_fails_no_longer(
    store: Store,
) -> None:
    clock = SetClock(NOW)
    reporter = PipelineReporter(store, Settings(), clock)

    async def states() -> list[str]:
        for _ in range(2):
            await reporter.look()
            clock.advance(31)
        events = await store.call("LRANGE", Alerting().events(), 0, -1)
        return [msgspec.json.decode(one)["state"] for one in reversed(events)]

    await pipelines.report(store, record(), ROOM)
    known = await pipelines.find(store, "alice")
    with pytest.raises(Refused, match="alice is running; stop it instead"):
        await pipelines.forget(store, known, lease=30)
    await store.call("ZADD", OWN.pipelines_seen(), 5, PIPELINE)
    assert await states() == ["critical"]
    await pipelines.forget(store, known, lease=30)
    with pytest.raises(NotFound):
        await pipelines.forget(store, known, lease=30)
    assert await states() == ["critical", "ok"]
    assert await pipelines.every(store) == []
    await pipelines.report(store, record(), ROOM)
    assert [one.name for one in await pipelines.every(store)] == ["alice"], "it has come back"
