"""Two instances whose store can be read and refuses every write, for longer than a lock lasts."""

import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests import servers
from tests.cron.crew import definition, ended, put, running, say, until
from tests.cron.fleet import Fleet, alive
from tests.servers.process import Server
from tests.servers.refusal import SNAPSHOTS, calls, misconf
from tests.waiting import eventually
from watchbell.cron.history import RunRecord
from watchbell.cron.keys import Cron
from watchbell.cron.model import lock_of
from watchbell.process.run import Cause
from watchbell.runs.leases import NOT_RENEWED
from watchbell.store import url as store_url
from watchbell.store.client import Store

LOCK = Cron().lock(lock_of("shared"))
PROBES = 20
"""Each instance looks whether it can write at most once a second, and each of its loops that waits
for that as often: longer than any lease without a renewal."""


class Scene:
    def __init__(self, server: Server, store: Store, folder: Path) -> None:
        self.server, self.store, self.folder = server, store, folder
        self.fleet = Fleet(server.url, folder)
        self.gate = folder / "gate"

    async def begin(self, ttl: int) -> RunRecord:
        """A run of `long` on the first of two instances; `other` has the same lock."""
        lock = self.folder / "flock"
        how = f"exec 9>{lock}; flock -n 9 && echo alone || echo together"
        long = definition(f"{how}; {until(self.gate)}; echo done", lock="shared", ttl=ttl)
        await put(self.store, "long", long)
        await put(self.store, "other", definition(how, lock="shared", ttl=ttl, overlap="queue"))
        await self.fleet.ready(self.store, self.fleet.start())
        await say(self.store, "trigger", "long")
        [seen] = await running(self.store, "long")
        await eventually(lambda: alive(seen.id))
        await self.fleet.ready(self.store, self.fleet.start())
        return seen

    async def is_free(self) -> bool:
        return bool(await self.store.call("EXISTS", LOCK) == 0)

    async def other_ran_alone(self) -> None:
        [other] = await ended(self.store, "other")
        assert (other.record.status, other.record.output) == ("success", "alone\n")


@asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    with servers.single(folder, [SNAPSHOTS]) as single:
        async with Store(store_url.parse(single.url)) as store:
            one = Scene(single.server, store, folder)
            try:
                yield one
            finally:
                one.fleet.end()


async def test_a_run_outlasts_its_lock_and_no_other_begins_meanwhile(folder: Path) -> None:
    async with scene(folder) as one:
        seen = await one.begin(ttl=10)
        with misconf(one.server):
            before = calls(one.server)["setrange"]
            await say(one.store, "trigger", "other")
            await eventually(one.is_free, why="a lock that lapsed")
            await eventually(lambda: calls(one.server)["setrange"] > before + PROBES)
            assert alive(seen.id)

        async def is_renewed() -> bool:
            return bool(await one.store.call("GET", LOCK) == seen.id.encode())

        await eventually(is_renewed)
        one.gate.touch()
        [done] = await ended(one.store, "long")
        assert done.id == seen.id
        assert (done.record.status, done.record.output) == ("success", "alone\ndone\n")
        await one.other_ran_alone()


async def test_a_run_that_was_triggered_meanwhile_begins_with_a_fresh_lock(folder: Path) -> None:
    async with scene(folder) as one:
        await put(one.store, "late", definition("echo done", ttl=1))
        await one.fleet.ready(one.store, one.fleet.start())
        with misconf(one.server):
            before = calls(one.server)["setrange"]
            await say(one.store, "trigger", "late")
            longer = "longer than its lock of a second would last"
            await eventually(lambda: calls(one.server)["setrange"] > before + 5, why=longer)
        [done] = await ended(one.store, "late")
    assert (done.record.status, done.record.output) == ("success", "done\n"), done.detail.reason


async def test_an_instance_that_is_killed_meanwhile_does_not_keep_its_lock(folder: Path) -> None:
    async with scene(folder) as one:
        seen = await one.begin(ttl=3)
        with misconf(one.server):
            await eventually(one.is_free, why="a lock that lapsed")
            one.fleet.all[0].kill()
            await eventually(lambda: not alive(seen.id))
            await say(one.store, "trigger", "other")
        await one.other_ran_alone()


async def test_the_run_of_an_instance_that_is_stopped_has_ended_before_another_begins(
    folder: Path,
) -> None:
    async with scene(folder) as one:
        seen = await one.begin(ttl=10)
        with misconf(one.server):
            await eventually(one.is_free, why="a lock that lapsed")
            one.fleet.all[0].send_signal(signal.SIGSTOP)
            await say(one.store, "trigger", "other")
        await one.other_ran_alone()
        assert not alive(seen.id)


@contextmanager
def without_replicas(server: Server) -> Iterator[None]:
    server.call("CONFIG", "SET", "min-replicas-to-write", 1)
    yield
    server.call("CONFIG", "SET", "min-replicas-to-write", 0)


@contextmanager
def demoted_and_full(server: Server) -> Iterator[None]:
    server.call("REPLICAOF", servers.HOST, 1)
    with misconf(server):
        yield
    server.call("REPLICAOF", "NO", "ONE")


@pytest.mark.parametrize("state", [without_replicas, demoted_and_full])
async def test_a_server_that_may_have_a_successor_extends_no_lease(
    folder: Path, state: Callable[[Server], AbstractContextManager[None]]
) -> None:
    async with scene(folder) as one:
        seen = await one.begin(ttl=3)
        with state(one.server):
            await eventually(lambda: not alive(seen.id))
        [done] = await ended(one.store, "long")
    assert done.detail.reason in (NOT_RENEWED, Cause.LAPSED.value)
