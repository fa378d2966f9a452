"""How our indexes are built from Flapjack's keys, while everything runs."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from tests import servers
from tests.alerting.consistency import Picture, found_in
from tests.alerting.flapjack_store import FlapjackStore
from tests.alerting.scenes import START, Stage
from tests.waiting import eventually
from watchbell.alerting import indexes
from watchbell.alerting.keys import AlertingOwn
from watchbell.clock import SYSTEM
from watchbell.roles.alerting import PROCESSOR
from watchbell.roles.role import Context
from watchbell.settings import Settings
from watchbell.store.client import Store


@pytest.fixture
def old(store: Store) -> FlapjackStore:
    return FlapjackStore(store, START)


async def test_indexes_are_built_as_often_as_wanted(old: FlapjackStore, store: Store) -> None:
    await old.three_in_a_rollup(300)
    await old.check("db:x", "ok", 60)
    await old.notified("db:x", "critical", 600)
    await old.check("db:y", "ok", 60)
    own = AlertingOwn(store.prefix)
    await store.call("SADD", own.open_problems(), "db:y")  # from before Flapjack's turn
    for _ in range(2):
        assert await indexes.are_complete(store) is bool(_)
        await indexes.build(store)
        found = await store.call("SMEMBERS", own.open_problems())
        assert found == {b"", b"db:x", b"web:a", b"web:b", b"web:c"}
        assert await store.call("SMEMBERS", own.rollups()) == {b"", b"17:media:email"}
        assert await store.call("SMEMBERS", own.alerting_media("web", "a")) == {b"17:media:email"}


async def test_keys_of_a_wrong_type_stop_no_build(old: FlapjackStore, store: Store) -> None:
    await old.three_in_a_rollup(300)
    await store.call("DEL", "web:a:last_critical_notification")
    await store.call("HSET", "web:a:last_critical_notification", "not", "text")
    await store.call("SET", "contact_alerting_checks:18:media:email", "x")
    await store.call("HSET", "contact_media_rollup_thresholds:19", "email", "many")
    await store.call("SET", "all_checks:db", "x")
    await old.call("HSET", "check:db:x", "state", "ok")
    await indexes.build(store)
    assert await indexes.are_complete(store)
    own = AlertingOwn(store.prefix)
    assert await store.call("SISMEMBER", own.open_problems(), "web:b")
    assert await store.call("SMEMBERS", own.rollups()) == {b"", b"17:media:email"}
    for key in ("all_checks:db", "web:a:last_critical_notification"):
        await store.call("DEL", key)
    await store.call("DEL", "contact_alerting_checks:18:media:email")


async def test_indexes_that_get_lost_are_built_again(old: FlapjackStore, store: Store) -> None:
    await old.three_in_a_rollup(300)
    own = AlertingOwn(store.prefix)
    keeping = asyncio.create_task(indexes.keep(store, look_every=0.01))
    try:
        for index in (own.open_problems(), own.rollups()):
            await eventually(lambda: indexes.are_complete(store))
            before = await store.call("SMEMBERS", index)
            await store.call("DEL", index)
            await eventually(lambda: indexes.are_complete(store))
            assert await store.call("SMEMBERS", index) == before
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def test_the_processor_builds_them_when_it_starts(old: FlapjackStore, store: Store) -> None:
    await old.three_in_a_rollup(300)
    context = Context(Settings(data=Path()), store, SYSTEM, lambda _: None)
    processor = asyncio.ensure_future(PROCESSOR.run(context))
    try:
        await eventually(lambda: indexes.are_complete(store))
    finally:
        processor.cancel()
        await asyncio.gather(processor, return_exceptions=True)
    found = await store.call("SMEMBERS", AlertingOwn(store.prefix).open_problems())
    assert found == {b"", b"web:a", b"web:b", b"web:c"}


BUILDER = """
import asyncio, sys
from watchbell import probes
from watchbell.alerting import indexes
from watchbell.store import url
from watchbell.store.client import Store

async def main():
    async with Store(url.parse(sys.argv[1])) as store:
        await indexes.keep(store)

probes.arm("indexes.checks:2")
asyncio.run(main())
"""


async def test_a_build_that_is_killed_is_finished_by_another(
    old: FlapjackStore, store: Store, server: servers.Single
) -> None:
    await old.three_in_a_rollup(300)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", BUILDER, server.url)
    assert await process.wait() == -signal.SIGKILL
    assert not await indexes.are_complete(store)
    own = AlertingOwn(store.prefix)
    keeping = asyncio.create_task(indexes.keep(store, look_every=0.01))
    try:
        await store.call("DEL", own.rebuilding())  # as its lease ends
        await eventually(lambda: indexes.are_complete(store))
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    stage = Stage(store)
    await stage.send("ok", "web:c")
    assert await stage.alert_lines() == ["17 rollup-recovery web:c ok"]
    assert found_in(await Picture.of(store, stage.now)) == []


async def test_indexes_are_right_that_are_built_while_events_are_processed(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", threshold=5)
    checks = [{"entity": "web", "check": f"disk {n}", "type": "service"} for n in range(40)]

    async def build() -> None:
        while not done.is_set():
            await indexes.build(store)

    done = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(build())
        for number in range(12):
            some = checks[number % 3 :: 3]
            for wait, state in ((0, "critical"), (30, "critical"), (60, "ok")):
                stage.later(wait)
                await stage.push(*({**check, "state": state} for check in some))
                if state != "ok" or number % 2:
                    await stage.drain()
        await stage.drain()
        done.set()
    assert found_in(await Picture.of(store, stage.now)) == []
