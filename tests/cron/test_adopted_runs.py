"""Runs of an instance that was killed, and the next instance on the same machine."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.cron.crew import EVERY_SECOND, definition, ended, put, running, say
from tests.cron.fleet import Fleet, alive, check_invariants
from tests.waiting import eventually
from watchbell.cron import history
from watchbell.cron.keys import Cron
from watchbell.cron.model import lock_of
from watchbell.store.client import Store

KEYS = Cron()


@pytest.fixture
def fleet(server: servers.Single, store: Store, folder: Path) -> Iterator[Fleet]:
    assert store.prefix == ""
    crew = Fleet(server.url, folder)
    yield crew
    crew.end()


async def first(fleet: Fleet, store: Store, **settings: Any) -> None:
    fleet.start(data="same", orphans="adopt", **settings)
    await fleet.ready(store)


async def killed_and_replaced(fleet: Fleet, store: Store, **settings: Any) -> None:
    fleet.all[0].kill()
    await asyncio.to_thread(fleet.all[0].wait)
    fleet.start(**{"data": "same", "orphans": "adopt", **settings})
    await fleet.ready(store, fleet.all[1])


async def output(store: Store, run: str) -> bytes:
    return b"".join([line.text async for page in history.follow(store, run) for line in page])


async def leave(fleet: Fleet, store: Store, folder: Path) -> None:
    await asyncio.to_thread(fleet.end)
    await check_invariants(store)
    assert await store.call("EXISTS", KEYS.active()) == 0
    assert list((folder / "same" / "cron" / "wardens").iterdir()) == []


@pytest.mark.parametrize("upstream", ["false", "true"])
async def test_a_run_of_a_killed_instance_goes_on_and_has_one_result(
    fleet: Fleet, store: Store, folder: Path, upstream: str
) -> None:
    await first(fleet, store, heartbeat=600, upstream_data=upstream)
    gate = folder / "gate"
    numbers = "for n in $(seq 1 {}); do echo $n; done"
    cmd = f"{numbers.format(500)}; until test -e {gate}; do sleep 0.05; echo .; done"
    job = definition(f"{cmd}; {numbers.format(20_000)}; exit 7", EVERY_SECOND, ttl=600)
    await put(store, "long", job)
    await say(store, "reload", {})
    [seen] = await running(store, "long")
    await eventually(lambda: history.output(store, seen.id).tail(1), why="some output in the store")
    await killed_and_replaced(fleet, store, heartbeat=600, upstream_data=upstream)
    assert alive(seen.id)
    assert await store.call("GET", KEYS.lock(lock_of("long"))) == seen.id.encode()
    await eventually(lambda: score_is_new(store, seen.id), why="a sign of life")
    await say(store, "pause", "long")
    gate.touch()
    [done] = await ended(store, "long")
    assert (done.id, done.record.status, done.record.retcode) == (seen.id, "fail", 7)
    assert done.detail.reason == ""
    assert done.record.output == "".join(f"{n}\n" for n in range(19_991, 20_001))
    texts = (await output(store, seen.id)).split(b"\n")
    dots = texts.count(b".")
    assert texts == [b"%d" % n for n in range(1, 501)] + [b"."] * dots + [
        *(b"%d" % n for n in range(1, 20_001)),
        b"",
    ]
    assert await store.call("EXISTS", KEYS.lock(lock_of("long"))) == 0
    await leave(fleet, store, folder)


async def score_is_new(store: Store, run: str) -> bool:
    """Whether the run was kept since it was begun."""
    begun = (await history.run(store, run)).record.start_time
    return float(await store.call("ZSCORE", KEYS.active(), run) or 0) > begun


async def test_a_run_that_ended_meanwhile_has_its_own_result(
    fleet: Fleet, store: Store, folder: Path
) -> None:
    await first(fleet, store, heartbeat=600)
    gate = folder / "gate"
    cmd = f"echo begun; until test -e {gate}; do sleep 0.05; done; echo done"
    await put(store, "job", definition(cmd, lock=False))
    await say(store, "reload", {})
    await say(store, "trigger", "job")
    [seen] = await running(store, "job")
    await eventually(lambda: alive(seen.id))
    fleet.all[0].kill()
    gate.touch()
    await eventually(lambda: not alive(seen.id), why="the command's end")
    await killed_and_replaced(fleet, store, heartbeat=600)
    [done] = await ended(store, "job")
    assert (done.id, done.record.status, done.record.retcode) == (seen.id, "success", 0)
    assert done.record.output == "begun\ndone\n"
    await leave(fleet, store, folder)


@pytest.mark.parametrize("point", ["process.started", "cron.ended"])
async def test_wherever_an_instance_dies_its_successor_writes_the_result(
    fleet: Fleet, store: Store, folder: Path, point: str
) -> None:
    await first(fleet, store, heartbeat=600, fault=point)
    await put(store, "job", definition("echo said; exit 4", ttl=600))
    await say(store, "reload", {})
    await say(store, "trigger", "job")
    await asyncio.to_thread(fleet.all[0].wait, 60)
    await killed_and_replaced(fleet, store, heartbeat=600)
    [done] = await ended(store, "job")
    assert (done.record.status, done.record.retcode, done.record.output) == ("fail", 4, "said\n")
    await leave(fleet, store, folder)


@pytest.mark.parametrize("ttl", [6, 600])
async def test_a_run_that_nobody_adopts_is_dead_before_another_starts(
    fleet: Fleet, store: Store, ttl: int
) -> None:
    await first(fleet, store, heartbeat=3)
    await put(store, "long", fleet.job(600, EVERY_SECOND, ttl=ttl))
    await say(store, "reload", {})
    [row] = await eventually(fleet.rows)
    fleet.start(heartbeat=3)  # elsewhere
    await fleet.ready(store, fleet.all[1])
    fleet.all[0].kill()
    [frozen] = await ended(store, "long")
    assert not alive(row.run)
    assert (frozen.id, frozen.record.status, frozen.record.retcode) == (row.run, "frozen", None)
    if ttl == 6:
        later = await eventually(lambda: fleet.rows()[1:], why="the next run")
        assert not later[0].overlaps
    await asyncio.to_thread(fleet.end)
    await check_invariants(store)


async def test_where_orphans_are_to_end_those_of_an_instance_that_kept_them_do(
    fleet: Fleet, store: Store, folder: Path
) -> None:
    await first(fleet, store, heartbeat=600)
    await put(store, "long", definition("echo begun; sleep 600", ttl=600))
    await say(store, "reload", {})
    await say(store, "trigger", "long")
    [seen] = await running(store, "long")
    await eventually(lambda: history.output(store, seen.id).tail(1), why="some output in the store")
    await killed_and_replaced(fleet, store, heartbeat=600, orphans="end")
    [done] = await ended(store, "long")
    assert (done.id, done.record.status, done.record.retcode) == (seen.id, "fail", -15)
    assert (done.record.output, done.detail.reason) == ("begun\n", "its instance was killed")
    await leave(fleet, store, folder)


async def test_a_neighbour_on_the_same_folder_is_left_alone(
    fleet: Fleet, store: Store, folder: Path
) -> None:
    await first(fleet, store, heartbeat=600)
    await put(store, "long", definition("sleep 600", ttl=600))
    await say(store, "reload", {})
    await say(store, "trigger", "long")
    [seen] = await running(store, "long")
    await eventually(lambda: alive(seen.id))
    await killed_and_replaced(fleet, store, heartbeat=600)
    fleet.start(data="same", orphans="adopt", heartbeat=600)
    await fleet.ready(store, fleet.all[2])
    assert alive(seen.id)
    assert [one.id for one in await history.active(store)] == [seen.id]
    await leave(fleet, store, folder)
