"""Processes say that they are there; one that is gone is missed for a day."""

import asyncio

import msgspec
import pytest

from tests.waiting import eventually
from watchbell.roles import presence
from watchbell.roles.role import Context, Role
from watchbell.roles.supervisor import Status
from watchbell.store import processes
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys
from watchbell.store.processes import KEPT, Process

KEY = StoreKeys().processes()


async def nothing(_: Context) -> None: ...


def statuses() -> list[Status]:
    return [Status(Role("processor", "decides", nothing), "running", "3 checks", 1_700_000_000)]


async def test_a_process_tells_of_its_roles_until_it_ends(store: Store) -> None:
    told = statuses()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(presence.run(store, told, every=0.01))
        (one,) = await eventually(lambda: processes.processes(store))
        assert one.is_alive
        assert [(r.name, r.state, r.words) for r in one.roles] == [
            ("processor", "running", "3 checks")
        ]
        told[0].state, told[0].words = "failed", "it fell"

        async def heard() -> bool:
            return (await processes.processes(store))[0].roles[0].state == "failed"

        await eventually(heard)
        task.cancel()
    assert await processes.processes(store) == []


async def test_who_was_killed_is_missed_for_a_day(store: Store) -> None:
    first = Process(name="a.1.x", host="a", pid=1, version="1", roles=[])
    await processes.report(store, first)
    said = await store.call("HGET", KEY, first.name)
    text = said.partition(b" ")[2]
    now = float(said.partition(b" ")[0])
    await store.call("HSET", KEY, first.name, b"%.3f %s" % (now - 60, text))
    await processes.report(store, msgspec.structs.replace(first, name="a.2.y"))
    found = await processes.processes(store)
    assert [(one.name, one.is_alive) for one in found] == [("a.1.x", False), ("a.2.y", True)]
    await store.call("HSET", KEY, first.name, b"%.3f %s" % (now - KEPT - 60, text))
    await processes.report(store, msgspec.structs.replace(first, name="a.2.y"))
    assert [one.name for one in await processes.processes(store)] == ["a.2.y"]


@pytest.mark.parametrize("said", [b"", b"\xff", b"1", b"x {}", b'9e99 {"name": "\xff"}', b"1 []"])
async def test_what_is_not_of_our_writing_is_not_read(store: Store, said: bytes) -> None:
    await store.call("HSET", KEY, b"\xff", said)
    assert await processes.processes(store) == []
    await processes.report(store, Process(name="a", host="a", pid=1, version="1", roles=[]))
    assert len(await processes.processes(store)) == 1


async def test_a_store_that_takes_nothing_ends_nobody(store: Store) -> None:
    await store.call("SET", KEY, "of another type")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(presence.run(store, statuses(), every=0.001))
        for _ in range(20):
            await asyncio.sleep(0)
            await store.call("PING")
        assert not task.done()
        task.cancel()
    await store.call("DEL", KEY)
