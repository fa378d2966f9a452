"""A fleet of instances of Cronken 0.1.20 and of ours, on one store and one job list."""

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.cron import upstream
from tests.cron.crew import EVERY_SECOND, READING, definition, ended, put, say
from tests.cron.fleet import Fleet, check_invariants
from tests.waiting import eventually
from watchbell.cron import history, jobs
from watchbell.cron.history import RunRecord
from watchbell.cron.keys import Cron, CronUpstream
from watchbell.store.client import Store

KEYS = Cron()
CADENCE = 4


@pytest.fixture(scope="session")
def cronken() -> Iterator[Path]:
    """A Python that has it."""
    uv = Path(sys.executable).with_name("uv")
    folder = Path(tempfile.mkdtemp(prefix="wb-", dir="/tmp"))
    python = folder / "bin" / "python"
    steps = [
        f"{uv} venv -q --clear --python {sys.executable} {folder}",
        f"{uv} pip install -q --python {python} cronken==0.1.20",
    ]
    for step in map(str.split, steps):
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=120, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"cronken 0.1.20 can't be installed: {error}")
        if done.returncode:
            pytest.skip(f"cronken 0.1.20 can't be installed: {done.stderr.strip()[-200:]}")
    yield python
    shutil.rmtree(folder)


class Upstream:
    def __init__(self, python: Path, server: servers.Server, folder: Path) -> None:
        command = [str(python), "-W", "ignore", upstream.__file__, servers.HOST, str(server.port)]
        with (folder / "upstream.log").open("wb") as log:
            self.process = subprocess.Popen(
                [*command, str(CADENCE)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def mixed(
    cronken: Path, server: servers.Single, store: Store, folder: Path
) -> Iterator[tuple[Fleet, Upstream]]:
    assert store.prefix == ""
    fleet = Fleet(server.url, folder)
    theirs = Upstream(cronken, server.server, folder)
    fleet.start(heartbeat=CADENCE, upstream_data="true", upstream_weekdays="true")
    yield fleet, theirs
    fleet.end()
    theirs.kill()


def is_ours(seen: RunRecord) -> bool:
    return bool(seen.detail.instance)


async def both_listen(fleet: Fleet, store: Store) -> None:
    await fleet.ready(store)

    async def heard() -> bool:
        return await say(store, "validate", []) == 2

    await eventually(heard, 30, "both instances to listen")


async def test_both_kinds_serve_one_list_and_read_each_other(
    mixed: tuple[Fleet, Upstream], store: Store, folder: Path
) -> None:
    fleet, _ = mixed
    await both_listen(fleet, store)
    together = folder / "together"
    long = f"exec 9>{folder}/flock; flock -n 9 || touch {together}; sleep 1.5"
    await jobs.save(store, "long", definition(long, EVERY_SECOND, ttl=60), READING)
    everywhere = definition("seq 1 5", EVERY_SECOND, lock=False, alert=False)
    await jobs.save(store, "everywhere", everywhere, READING)

    async def both_ran() -> list[RunRecord]:
        runs = await history.ended(store, "everywhere", most=100)
        return runs if len({is_ours(seen) for seen in runs}) == 2 else []

    for seen in await eventually(both_ran, 30, "runs of both kinds"):
        assert (seen.record.status, seen.record.retcode) == ("success", 0)
        assert seen.record.output == "1\n2\n3\n4\n5\n"
        assert [line.text for line in await history.output(store, seen.id).lines()][-1] == b"5\n"
        assert await store.call("TYPE", KEYS.output(seen.id)) == b"list"
    await ended(store, "long", 3)
    assert not together.exists()
    assert await store.call("ZCARD", CronUpstream().instances()) >= 1
    await jobs.remove(store, "everywhere")
    await jobs.pause(store, "all", READING)


async def test_each_kind_declares_the_other_s_dead_runs_frozen(
    mixed: tuple[Fleet, Upstream], store: Store
) -> None:
    fleet, theirs = mixed
    await both_listen(fleet, store)
    await put(store, "everywhere", definition("echo begun; sleep 120", lock=False))
    await say(store, "reload", {})
    await say(store, "trigger", "everywhere")

    async def both_run() -> list[RunRecord]:
        runs = await history.active(store)
        return runs if len(runs) == 2 else []

    runs = await eventually(both_run, 20, "a run of each kind")
    [mine], [their] = [r for r in runs if is_ours(r)], [r for r in runs if not is_ours(r)]
    theirs.process.send_signal(signal.SIGKILL)

    async def frozen(run: str) -> bool:
        return (await history.run(store, run)).record.status == "frozen"

    await eventually(lambda: frozen(their.id), 30, "their run to be frozen by ours")
    assert (await history.run(store, mine.id)).record.status == "running"
    await say(store, "kill_run", mine.id)
    await ended(store, "everywhere", 2)
    await check_invariants(store)


async def test_upstream_declares_our_dead_run_frozen(
    mixed: tuple[Fleet, Upstream], store: Store
) -> None:
    fleet, _ = mixed
    await both_listen(fleet, store)
    await put(store, "ours", definition("echo begun; sleep 120", lock=False))
    await say(store, "reload", {})
    await say(store, "trigger", "ours")

    async def of_ours() -> list[RunRecord]:
        return [seen for seen in await history.active(store) if is_ours(seen)]

    [mine] = await eventually(of_ours, 20)
    fleet.all[0].kill()
    fleet.all[0].wait()

    async def frozen() -> bool:
        return (await history.run(store, mine.id)).record.status == "frozen"

    await eventually(frozen, 30, "our run to be frozen by theirs")
    seen = await history.run(store, mine.id)
    assert seen.record.duration is not None
    assert await store.call("ZSCORE", KEYS.results("fail"), mine.id) is not None
