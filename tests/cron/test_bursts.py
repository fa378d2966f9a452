"""Many fires at once: an instance begins its share first, and what others leave afterwards."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.cron.crew import definition, ended, now, put, say, serving, until
from tests.cron.fleet import Fleet
from tests.waiting import eventually, wait_until
from watchbell.cron.instances import fleet as read_fleet
from watchbell.cron.instances import instances, is_idle
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import Job
from watchbell.cron.validation import from_fields
from watchbell.store.client import Store

KEYS, OWN = Cron(), CronOwn()
BURST = 40


@pytest.fixture
def fleet(server: servers.Single, store: Store, folder: Path) -> Iterator[Fleet]:
    assert store.prefix == ""
    crew = Fleet(server.url, folder)
    yield crew
    crew.end()


async def beat(store: Store, name: str, *, seen: float, every: float = 30, **more: object) -> None:
    said = {"name": name, "host": name, "ip": "192.0.2.1", "pid": 1, "seen": seen, "every": every}
    await store.call("HSET", OWN.instances(), name, json.dumps(said | more))


async def test_an_instance_begins_its_share_before_what_others_leave(
    store: Store, folder: Path
) -> None:
    gate = folder / "gate"
    await beat(store, "idle", seen=await now(store), every=10_000)
    async with serving(store, folder):
        await eventually(lambda: _knows_both(store))
        # All are due as soon as they are read: their last fire was handled two days ago.
        said = definition(until(gate), {"hour": "0"}, missed="once")
        made = from_fields("job", said)
        assert isinstance(made, Job)
        mark = f"{await now(store) - 2 * 86_400}:{made.fingerprint}"
        for n in range(BURST):
            await store.call("HSET", OWN.fired(), f"job{n}", mark)
            await put(store, f"job{n}", said)
        await say(store, "reload", {})

        async def all_begun() -> list[bytes]:
            found: list[bytes] = await store.call("HVALS", OWN.details())
            return found if len(found) == BURST else []

        details = await eventually(all_begun, why="all runs, the absent instance's share included")
        gate.touch()
        waited = [one for one in details if b'"since":' in one]
        assert len(waited) == BURST // 2
        for n in range(BURST):
            await ended(store, f"job{n}")


async def _knows_both(store: Store) -> bool:
    return (await read_fleet(store)).working == 2


async def test_an_instance_that_died_is_not_listed_as_working(store: Store) -> None:
    time = await now(store)
    await beat(store, "alive", seen=time)
    await beat(store, "dead", seen=time - 91)
    await beat(store, "quick", seen=time - 91, every=5)
    await beat(store, "ahead", seen=time + 3_600)
    found = {one.name: one.is_silent for one in await instances(store)}
    assert found == {"ahead": True, "alive": False, "dead": True, "quick": True}
    assert (await read_fleet(store)).working == 1
    await beat(store, "alive", seen=time, is_drained=True)
    assert await is_idle(store)


async def test_what_an_instance_says_is_heard_more_often_than_its_heartbeat(
    store: Store, folder: Path
) -> None:
    async with serving(store, folder, heartbeat=3_600):
        [one] = await instances(store)
    assert one.every == 5


async def test_jobs_that_could_not_be_read_are_read_again(
    fleet: Fleet, store: Store, folder: Path
) -> None:
    await store.call("SET", KEYS.jobs(), "this is no hash")
    fleet.start()
    wait_until(lambda: failures(folder) > 0)
    assert await instances(store) == []
    await store.call("DEL", KEYS.jobs())
    await put(store, "tick", definition("true", {"second": "*"}))
    await fleet.ready(store)
    await ended(store, "tick")
    await store.call("RENAME", KEYS.jobs(), "aside")
    await store.call("SET", KEYS.jobs(), "this is no hash")
    before = failures(folder)
    await say(store, "reload", {})
    wait_until(lambda: failures(folder) > before)
    await store.call("RENAME", "aside", KEYS.jobs())
    await put(store, "new", definition("true", {"second": "*"}))
    await ended(store, "new")


def failures(folder: Path) -> int:
    log = folder / "data0.log"
    return log.read_text().count("the jobs can't be read; retrying")
