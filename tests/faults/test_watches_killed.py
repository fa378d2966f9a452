"""Conductors that are killed while they take the snapshots of a watch: of each minute there is one
snapshot, and the watch goes on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.job_fleet import JobFleet, job_fleet
from tests.fleet.snapshot_scene import sampled
from tests.waiting import eventually
from watchbell.clock import SYSTEM
from watchbell.fleet import snapshots, watches
from watchbell.fleet.model import Server, Watch

HOURS = 7_200


@pytest.fixture
async def fleet(folder: Path) -> AsyncIterator[JobFleet]:
    async with job_fleet(folder) as made:
        yield made


async def watched(fleet: JobFleet) -> Server:
    now = SYSTEM.now()
    server = await sampled(fleet.store, at=now)
    for kind, target in (("server", server.id), ("group", "main")):
        watch = Watch(type=kind, target=target, until=now + HOURS, created=now)  # type: ignore[arg-type]
        await watches.begin(fleet.store, watch)
    return server


async def count(fleet: JobFleet) -> int:
    return len(await snapshots.heads(fleet.store, 1_000))


async def turn_back(fleet: JobFleet) -> None:
    """As if the snapshots of this minute were those of the minute before."""
    key = fleet.fleet_keys.watched()
    for field, minute in (await fleet.store.call("HGETALL", key)).items():
        await fleet.store.call("HSET", key, field, int(minute) - 1)
    found = await snapshots.heads(fleet.store, 1_000)
    await snapshots.delete(fleet.store, [one.id for one in found])


@pytest.mark.parametrize("point", ["watch.taking", "watch.taken"])
async def test_a_conductor_that_is_killed_costs_no_snapshot(fleet: JobFleet, point: str) -> None:
    await watched(fleet)
    doomed = fleet.conductor("doomed").start(point)
    await doomed.died()
    assert await count(fleet) == (point == "watch.taken")
    fleet.conductor().start()

    async def both() -> bool:
        return await count(fleet) >= 2

    await eventually(both, why="the snapshots of both watches")
    heads = await snapshots.heads(fleet.store, 1_000)
    kinds = [(one.type, one.source) for one in heads]
    assert len({(one.type, one.id) for one in heads}) == len(heads)
    assert set(kinds) == {("server", "watch"), ("group", "watch")}


async def test_many_conductors_take_one_snapshot_of_each_minute(fleet: JobFleet) -> None:
    server = await watched(fleet)
    for number in range(3):
        fleet.conductor(f"c{number}").start()
    minutes = set[bytes]()
    for _ in range(5):

        async def is_taken() -> bool:
            return await count(fleet) >= 2

        await eventually(is_taken, why="the snapshots of a minute")
        heads = await snapshots.heads(fleet.store, 1_000)
        taken = await fleet.store.call("HGETALL", fleet.fleet_keys.watched())
        minutes |= set(taken.values())
        # More only where the real clock passes the minute meanwhile.
        assert len(heads) <= 2 * len(minutes)
        await turn_back(fleet)
    await watches.end(fleet.store, "server", server.id)
    await watches.end(fleet.store, "group", "main")
