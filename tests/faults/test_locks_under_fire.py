"""Locks while holders are stopped and killed, clocks are wrong, and stores stall or fail over."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.conftest import watched
from tests.faults import faketime
from tests.faults.holder import LOCK
from tests.faults.invariants import check, held_by_one, holds
from tests.faults.ledger import Ledger, Row
from tests.faults.proxy import Mode, Proxy
from tests.waiting import eventually, wait_until
from watchbell.errors import LockLost
from watchbell.store import url as store_url
from watchbell.store.client import Store, patiently
from watchbell.store.lock import acquire, locked


class Holders:
    def __init__(self, url: str, folder: Path, lease: float) -> None:
        self._url, self._lease = url, lease
        self.ledger = Ledger(folder / "ledger")
        self.all: list[subprocess.Popen[bytes]] = []

    def start(self, rounds: int, environment: dict[str, str] | None = None) -> int:
        command = [self._url, str(self.ledger.path), str(self._lease), str(rounds)]
        holder = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.holder", *command], env=environment
        )
        self.all.append(holder)
        return holder.pid

    def await_row(self, event: str, pid: int) -> Row:
        rows = wait_until(lambda: self.ledger.read(event=event, run=pid), 30, f"{pid}: {event}")
        return rows[0]

    def end(self) -> None:
        for holder in self.all:
            holder.kill()
            holder.wait()


@pytest.fixture
def holders(server: servers.Single, folder: Path) -> Iterator[Holders]:
    crew = Holders(server.url, folder, lease=1)
    yield crew
    crew.end()


def test_holders_with_wrong_clocks_never_hold_together(
    holders: Holders, store: Store, folder: Path
) -> None:
    assert store.prefix == ""
    clock = faketime.SteppedClock(folder, "-1h")
    for offset in ("+1h", "-1h", "+2s", "-400d"):
        holders.start(5, faketime.environment(offset))
    holders.start(15, clock.environment)
    killed = holders.start(0)
    holders.await_row("start", killed)
    holders.all[-1].kill()
    holders.all[-1].wait()
    token = holders.ledger.read(event="start", run=killed)[0]["token"]
    holders.ledger.write(event="stop", lock=LOCK, token=token, run=killed)
    clock.step("+1d")
    for holder in holders.all[:-1]:
        assert holder.wait(60) == 0
    rows = [row for row in holders.ledger.read() if row["event"] in ("start", "stop")]
    assert len(rows) == 2 * (4 * 5 + 15 + 1)
    check(held_by_one(holds(rows)))


async def test_a_stopped_holder_learns_on_waking_that_it_lost(
    holders: Holders, store: Store
) -> None:
    sleeper = holders.start(0)
    await asyncio.to_thread(holders.await_row, "start", sleeper)
    holders.all[0].send_signal(signal.SIGSTOP)
    next_held = await acquire(store, LOCK, 30, wait=20)
    assert next_held is not None
    holders.all[0].send_signal(signal.SIGCONT)
    await asyncio.to_thread(holders.await_row, "lost", sleeper)
    assert await store.call("GET", LOCK) == next_held.token.encode()
    await next_held.release()


async def test_a_holder_cut_off_from_the_store_stops_before_another_can_hold(
    folder: Path,
) -> None:
    """The store's clock stands: the lock lapses when this test says so, and not before."""
    clock = faketime.SteppedClock(folder)
    with (
        servers.single(folder / "s", environment=clock.environment) as single,
        Proxy((servers.HOST, single.server.port)) as proxy,
    ):
        async for store in watched(single.url):
            async with Store(store_url.parse(proxy.url)) as far:

                async def work() -> None:
                    async with locked(far, LOCK, 1.5):
                        proxy.set(Mode.STALL)
                        await asyncio.Event().wait()

                clock.stop()
                await raises_lock_lost(work())
                assert await acquire(store, LOCK, 10) is None
                clock.step("+1m")
                held = await acquire(store, LOCK, 10, wait=60)
                assert held is not None
                await held.release()
                proxy.set(Mode.PASS)


async def raises_lock_lost(work: Awaitable[None]) -> None:
    with pytest.raises(LockLost):
        await work


@pytest.mark.parametrize("kind", [servers.sentinel, servers.cluster])
async def test_a_failover_keeps_the_lock(folder: Path, kind: Callable[[Path], Any]) -> None:
    with kind(folder) as running:
        by_key = [LOCK] if isinstance(running, servers.Cluster) else []
        async for store in watched(running.url):
            async with locked(store, LOCK, 30) as held:
                await asyncio.to_thread(running.failover, *by_key)
                assert await patiently(held.extend)
                assert await store.call("GET", LOCK) == held.token.encode()
            after = await acquire(store, LOCK, 5)
            assert after is not None
            await after.release()


async def test_a_lock_outlives_a_restart_of_the_store(folder: Path) -> None:
    with servers.single(folder) as single:
        async for store in watched(single.url):
            async with locked(store, LOCK, 20) as held:
                await asyncio.to_thread(single.failover)

                async def still_ours() -> bool:
                    return bool(await patiently(held.extend))

                assert await eventually(still_ours)
