"""The fleet as the dispatcher sees it follows what happens to servers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from tests.jobs.dispatching import FLEET, join, put_server
from tests.waiting import eventually
from watchbell.fleet import presence
from watchbell.fleet.model import Group, Sample, Server
from watchbell.jobs.decide.placement import ServerState
from watchbell.jobs.fleet_view import FleetView
from watchbell.store.client import Store

ONE = Server(id="s1", hostname="one.example.com", title="One", groups=("main",), max_jobs=3)


@asynccontextmanager
async def following(store: Store, down_after: float = 60) -> AsyncIterator[FleetView]:
    view = FleetView(store, down_after)
    await view.load()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(view.run())
        yield view
        task.cancel()


def state(view: FleetView) -> ServerState | None:
    return view.state.servers.get("s1")


async def change(store: Store, server: Server) -> None:
    await put_server(store, server)
    await store.call("PUBLISH", FLEET.changes(), server.id)


async def test_it_follows_a_server_that_joins_changes_and_leaves(store: Store) -> None:
    async with following(store) as view:
        told: list[None] = []
        view.subscribe(lambda: told.append(None))
        await join(store, ONE)
        await eventually(lambda: (one := state(view)) and one.is_online)
        assert state(view) == ServerState(id="s1", name="One", groups=("main",), slots=3)
        assert told
        await change(store, msgspec.structs.replace(ONE, enabled=False))
        await eventually(lambda: (one := state(view)) and not one.is_enabled)
        await presence.disconnect(store, "s1", "session of s1")
        await eventually(lambda: (one := state(view)) and not one.is_online)
        await store.call("HDEL", FLEET.servers(), "s1")
        await store.call("PUBLISH", FLEET.changes(), "s1")
        await eventually(lambda: state(view) is None)


async def test_a_server_that_is_silent_is_offline(store: Store) -> None:
    await join(store, ONE)
    async with following(store) as view:
        assert (one := state(view))
        assert one.is_online
        await store.call("ZADD", FLEET.seen(), 1, "s1")
        await eventually(lambda: (one := state(view)) and not one.is_online)


async def test_groups_limit_slots_and_samples_show_use(store: Store) -> None:
    group = Group(id="main", title="Main", max_jobs_per_server=2)
    await store.call("HSET", FLEET.groups(), "main", msgspec.json.encode(group))
    sample = Sample(at=0, cpu=40, load=(0, 0, 0), memory=7, memory_total=9)
    await store.call("HSET", FLEET.samples(), "s1", msgspec.json.encode(sample))
    await join(store, msgspec.structs.replace(ONE, max_jobs=None))
    view = FleetView(store, 60)
    await view.load()
    one = state(view)
    assert one is not None
    assert (one.slots, one.cpu, one.memory) == (2, 40, 7)
    assert view.state.groups == {"main": "Main"}


async def test_damaged_records_are_left_out(store: Store) -> None:
    await join(store, ONE)
    await store.call("HSET", FLEET.servers(), "s2", "{no JSON")
    await store.call("HSET", FLEET.samples(), "s1", "{no JSON")
    view = FleetView(store, 60)
    await view.load()
    assert list(view.state.servers) == ["s1"]
