"""`watchbell up` whose disk fills up while a job runs, and has room again later."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.conftest import Up
from tests.cron.crew import definition, ended, put, running, say, until
from tests.cron.fleet import alive
from tests.waiting import eventually
from tests.whole.test_up import small_disk
from watchbell.cron.instances import instances
from watchbell.cron.keys import Cron
from watchbell.cron.model import lock_of
from watchbell.errors import StoreNotReady
from watchbell.store import health
from watchbell.store import url as store_url
from watchbell.store.client import Store


def lines(up: Up, event: str) -> list[dict[str, Any]]:
    return [one for one in up.records() if one["event"] == event]


def logging_elsewhere(folder: Path, disk: Path) -> Up:
    """Its log is on another disk, so that no line is lost or cut."""
    (disk / "data.log").symlink_to(folder / "up.log")
    return Up(disk / "data", "--port", "0")


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
    with suppress(OSError):
        while True:
            os.write(descriptor, b"x" * 4096)
    with suppress(OSError):
        while True:
            os.write(descriptor, b"x")
    os.close(descriptor)
    return filler


async def refuses(store: Store) -> bool:
    try:
        await health.check_writable(store)
    except StoreNotReady:
        return True
    return False


async def has_lapsed(store: Store) -> bool:
    return bool(await store.call("EXISTS", Cron().lock(lock_of("long"))) == 0)


async def test_a_run_outlasts_a_full_disk_and_its_result_is_written_afterwards(
    folder: Path,
) -> None:
    gate = folder / "gate"
    with small_disk(folder, 20) as disk, logging_elsewhere(folder, disk) as up:
        async with Store(store_url.parse(up.url)) as store:
            await eventually(lambda: instances(store))
            await put(store, "long", definition(f"echo before; {until(gate)}; echo after", ttl=10))
            await say(store, "reload", None)
            await say(store, "trigger", "long")
            (under_way,) = await running(store, "long")
            filler = fill(disk)
            await eventually(lambda: refuses(store), why="the store refuses writes")
            await eventually(lambda: lines(up, "waiting for the store"))
            await eventually(lambda: has_lapsed(store), why="a lock that could not be renewed")
            assert alive(under_way.id)
            gate.touch()
            beside = len(lines(up, "waiting for the store"))
            filler.unlink()
            (done,) = await ended(store, "long")
            assert (done.id, done.record.status) == (under_way.id, "success")
            assert done.record.output == "before\nafter\n"
            await eventually(lambda: len(lines(up, "the store is back")) >= beside)
        by_role = [line.get("role") for line in lines(up, "waiting for the store")]
        assert len(by_role) == len(set(by_role)), "one line for each role"
        assert not lines(up, "role failed")
    assert up.process.returncode == 0
