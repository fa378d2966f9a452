"""The work queue while its takers are killed and stopped, and its store is killed or fails over."""

import asyncio
import json
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.conftest import Up, watched
from tests.families import keys
from tests.faults.invariants import check, order_kept, processed_once
from watchbell.errors import StoreUnavailable
from watchbell.store import url as store_url
from watchbell.store.client import Store, patiently

CHECKS = [f"{entity}.{check}" for entity in range(20) for check in range(10)]
PROBES = ["queue.taken", "queue.before_acknowledge", "queue.acknowledged"]
LEASE = "1"


class Crew:
    """Three takers; each that falls is replaced, now and then by one that kills itself."""

    def __init__(self, url: str, chance: random.Random, most: int) -> None:
        self._url, self._chance, self._most = url, chance, most
        self.kills = 0
        self._everyone: list[subprocess.Popen[bytes]] = []
        self._takers = [self._hired() for _ in range(3)]
        self._stopped: list[subprocess.Popen[bytes]] = []

    def _hired(self) -> "subprocess.Popen[bytes]":
        fault = f"{self._chance.choice(PROBES)}:{self._chance.randint(1, 40)}"
        faults = [fault] if self._chance.random() < 0.3 else []
        command = ["-m", "tests.faults.taker", self._url, "fire", str(self._most), LEASE, *faults]
        taker = subprocess.Popen([sys.executable, *command], stdin=subprocess.DEVNULL)
        self._everyone.append(taker)
        return taker

    def strike(self) -> None:
        """Kills one at whatever it is doing, or stops it so that it wakes up without its lease."""
        at = self._chance.randrange(3)
        if self._chance.random() < 0.25:
            self._takers[at].send_signal(signal.SIGSTOP)
            self._stopped.append(self._takers[at])
        else:
            self._takers[at].kill()
            self._takers[at].wait()
        self.kills += 1
        self._takers[at] = self._hired()

    def muster(self) -> None:
        """Replaces those that killed themselves, and wakes those that were stopped long ago."""
        for at, taker in enumerate(self._takers):
            if taker.poll() is not None:
                self.kills += 1
                self._takers[at] = self._hired()
        while len(self._stopped) > 2:
            self._stopped.pop(0).send_signal(signal.SIGCONT)

    def dismiss(self) -> None:
        for taker in self._everyone:
            taker.kill()
            taker.wait()


async def push(store: Store, count: int, numbers: dict[str, int]) -> None:
    """`count` events, numbered within each check, of which there were so many before."""
    chance = random.Random(count)
    items = []
    for _ in range(count):
        name = chance.choice(CHECKS)
        entity, check_name = name.split(".")
        items.append(json.dumps({"entity": entity, "check": check_name, "n": numbers[name]}))
        numbers[name] += 1
    for first in range(0, count, 1000):
        await store.call("LPUSH", keys.queue("fire"), *items[first : first + 1000])


async def applied(store: Store) -> int:
    return int(await patiently(lambda: store.call("HGET", keys.applied("fire"), "all")) or 0)


async def settle(store: Store, numbers: dict[str, int]) -> None:
    """Every item took effect exactly once, in the order of its check; nothing is held any more."""
    rows: list[dict[str, Any]] = []
    for name in numbers:
        values = await store.call("LRANGE", keys.order("fire", name), 0, -1)
        rows += [{"key": name, "sequence": int(value)} for value in values]
    pushed = [(name, n) for name, count in numbers.items() for n in range(count)]
    done = [(row["key"], row["sequence"]) for row in rows]
    check(processed_once(pushed, done), order_kept(rows))
    assert await store.call("LLEN", keys.queue("fire")) == 0


@asynccontextmanager
async def crew(url: str, seed: int, most: int) -> AsyncIterator[Crew]:
    hired = Crew(url, random.Random(seed), most)
    try:
        yield hired
    finally:
        hired.dismiss()


async def fight(
    url: str, store: Store, count: int, strikes: int, shake: Callable[[], object]
) -> Crew:
    """Strikes as the work goes on, and shakes the store once in the middle. Takers that were done
    before that, because they had more of a busy machine than we, get as much work again."""
    numbers, pushed = dict.fromkeys(CHECKS, 0), 0
    chance = random.Random(strikes)
    moments = sorted(chance.randint(1, count - count // 10) for _ in range(strikes))
    shaken = False
    async with crew(url, seed=strikes, most=max(20, count // 500)) as takers:
        while (done := await applied(store)) < pushed or moments or not shaken:
            if done == pushed:
                await push(store, count, numbers)
                pushed += count
            if moments and done >= moments[0]:
                moments.pop(0)
                takers.strike()
            if not shaken and done >= count // 2:
                shaken = True
                await asyncio.to_thread(shake)
            takers.muster()
            await asyncio.sleep(0)
    await settle(store, numbers)
    return takers


async def test_every_item_takes_effect_once_and_in_order_whoever_is_killed(
    folder: Path, repetitions: Callable[[int], int]
) -> None:
    strikes = repetitions(30)
    # By default what comes while a slow disk syncs can be lost with the server.
    with Up(folder / "data", "--port", "0", WATCHBELL_STORE_APPENDFSYNC="always") as up:
        async for store in watched(up.url):

            def kill_server() -> None:
                pid = json.loads((up.data / "store.json").read_text())["pid"]
                subprocess.run(["kill", "-9", str(pid)], check=True)

            takers = await fight(up.url, store, 3_000 * strikes, strikes, kill_server)
            assert takers.kills >= strikes


@pytest.mark.parametrize("kind", [servers.debian, servers.sentinel, servers.cluster])
async def test_a_failover_in_the_middle_loses_and_doubles_nothing(
    folder: Path, kind: Callable[[Path], Any]
) -> None:
    with kind(folder) as running:
        by_key = [keys.queue("fire")] if isinstance(running, servers.Cluster) else []
        async for store in watched(running.url):
            await fight(running.url, store, 10_000, 8, lambda: running.failover(*by_key))


async def test_a_store_that_is_gone_is_waited_for(folder: Path) -> None:
    with servers.single(folder) as single:
        async with Store(store_url.parse(single.url)) as store:
            single.server.stop()
            with pytest.raises(StoreUnavailable):
                await store.call("PING")
            waits: list[str] = []

            def back_after_three(error: StoreUnavailable) -> None:
                waits.append(str(error))
                if len(waits) == 3:
                    single.server.start()

            await patiently(lambda: store.call("PING"), back_after_three)
            assert len(waits) >= 3
