"""Alerting while its store is killed, cut off, slow, full or emptied."""

import asyncio
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import servers
from tests.alerting.scenes import Stage
from tests.conftest import Up, bare_environment, watchbell, watched
from tests.faults.alerting_scene import (
    AT_ONCE,
    Row,
    alice,
    drained,
    encoded,
    every,
    processed,
    reach,
    wrong_histories,
)
from tests.faults.invariants import check, in_one_list, processed_once
from tests.faults.proxy import Mode, Proxy
from tests.waiting import PATIENCE, eventually
from watchbell.alerting.intake import submit_raw
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Alert
from watchbell.clock import SYSTEM, Clock
from watchbell.errors import StoreUnavailable
from watchbell.roles.alerting import NOTIFIER, PROCESSOR, SILENCE
from watchbell.roles.supervisor import Supervisor
from watchbell.settings import Alerting as AlertingSettings
from watchbell.settings import Settings
from watchbell.store import url as store_url
from watchbell.store.client import Store, patiently

ENVIRONMENT = {f"WATCHBELL_ALERTING_{name.upper()}": str(n) for name, n in AT_ONCE.items()}
CHECKS = [(f"host-{n // 10}", f"disk {n % 10}") for n in range(100)]


def step(number: int) -> list[Row]:
    """One report of each check; they fail and recover in turn."""
    states = ("critical", "critical", "ok", "ok", "warning")
    return [
        row
        for at, one in enumerate(CHECKS)
        for row in every(states[(number + at) % 5], [one], summary=f"step {number}")
    ]


class Producer:
    """Pushes step after step, and each of them again until it is told that it was taken."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.pushed: list[Row] = []
        self.retries = 0

    async def push(self, steps: int) -> None:
        for _ in range(steps):
            events = step(len(self.pushed) // len(CHECKS))
            self.pushed += events
            await patiently(lambda events=events: self._push(encoded(events)), self._wait)  # type: ignore[misc]

    async def _push(self, items: list[bytes]) -> None:
        await submit_raw(self._store, items)

    def _wait(self, _: StoreUnavailable) -> None:
        self.retries += 1


def told_of(states: list[str]) -> list[str]:
    """What is told of a check that goes through these: every change, except a first `ok`."""
    changes = [state for state, _ in groupby(states)]
    worth = changes[1:] if changes[:1] == ["ok"] else changes
    return ["recovery ok" if state == "ok" else f"problem {state}" for state in worth]


async def settle(store: Store, pushed: list[Row], retries: int = 0) -> None:
    """I1, I2, I5, I6 and I7: all took effect, and every change was told once."""
    keys = Alerting(store.prefix)
    found = await store.call("LRANGE", keys.queue("email"), 0, -1)
    alerts = [msgspec.json.decode(one, type=Alert) for one in found]
    wrong = []
    for at in CHECKS:
        rows = [row for row in pushed if (row["entity"], row["check"]) == at]
        told = [f"{a.notification_type} {a.state}" for a in alerts if a.event_id == ":".join(at)]
        expected = told_of([row["state"] for row in rows])
        wrong += [f"I5, I6: {at} was told {told}, not {expected}"] if told != expected else []
    archives = await store.call("SMEMBERS", keys.archives())
    done = [one for key in archives for one in await store.call("LRANGE", key, 0, -1)]
    known = [one.decode() for one in await store.call("ZRANGE", keys.alerts(), 0, -1)]
    check(
        wrong,
        await wrong_histories(store, pushed),
        processed_once(encoded(pushed), set(done)),
        in_one_list(known, {"email": [alert.id for alert in alerts]}),
    )
    assert len(done) <= len(pushed) + retries * len(CHECKS)
    assert not await store.call("EXISTS", keys.events(), keys.notifications())


class SteppedClock(Clock):
    shift = 0

    def now(self) -> float:
        return SYSTEM.now() + self.shift


@asynccontextmanager
async def running(
    url: str, clock: Clock = SYSTEM, **settings: Any
) -> AsyncIterator[tuple[Store, Supervisor]]:
    """The real roles under their supervisor, none of which may fail whatever the store does."""
    async with Store(store_url.parse(url)) as store:
        chosen = Settings(data=Path(), alerting=AlertingSettings(**settings))
        supervisor = Supervisor([PROCESSOR, NOTIFIER, SILENCE], chosen, store, clock=clock)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(supervisor.run())
            yield store, supervisor
            task.cancel()
        assert {status.failures for status in supervisor.statuses} == {0}


# --- rows 1, 2 and 7: the store is killed, or cut off


async def test_up_goes_on_by_itself_when_its_store_is_killed(folder: Path) -> None:
    # By default what comes while a slow disk syncs can be lost with the server.
    durable = {**ENVIRONMENT, "WATCHBELL_STORE_APPENDFSYNC": "always"}
    with Up(folder / "data", "--port", "0", **durable) as up:
        async for store in watched(up.url):
            await alice(store)
            producer = Producer(store)
            await producer.push(10)
            await reach(store, 300)
            pid = json.loads((up.data / "store.json").read_text())["pid"]
            os.kill(pid, signal.SIGKILL)
            await producer.push(20)
            await drained(store)
            await settle(store, producer.pushed, producer.retries)
            assert up.process.poll() is None


async def test_roles_that_are_cut_off_come_back_and_nothing_is_lost_or_doubled(
    folder: Path,
) -> None:
    with (
        servers.single(folder) as single,
        Proxy((servers.HOST, single.server.port)) as proxy,
    ):
        async for store in watched(single.url):
            await alice(store)
            with roles(proxy.url, folder, "processor", "notifier", "processor") as all_three:
                async with Store(store_url.parse(proxy.url)) as far:
                    producer = Producer(far)
                    for number, fault in enumerate((stalled, refused, killed)):
                        await producer.push(10)
                        await reach(store, 1000 * number + 200)
                        await fault(proxy, single, far)
                    await producer.push(5)
                    await drained(store)
                assert [one.poll() for one in all_three] == [None] * 3
            await settle(store, producer.pushed, producer.retries)


@contextmanager
def roles(url: str, folder: Path, *names: str) -> "Iterator[list[subprocess.Popen[bytes]]]":
    """`watchbell run ROLE` for each of them."""
    with (folder / "roles.log").open("ab") as log:
        started = [
            subprocess.Popen(
                watchbell("run", name, "--store", url),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=bare_environment(**ENVIRONMENT),
            )
            for name in names
        ]
    try:
        yield started
    finally:
        for one in started:
            one.terminate()
        for one in started:
            one.wait(PATIENCE)


async def stalled(proxy: Proxy, _: servers.Single, far: Store) -> None:
    proxy.set(Mode.STALL)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2):
            await far.call("PING")
    proxy.set(Mode.PASS)


async def refused(proxy: Proxy, _: servers.Single, far: Store) -> None:
    proxy.set(Mode.RESET)
    waits = 0

    def back_after_six(_: StoreUnavailable) -> None:
        nonlocal waits
        waits += 1
        if waits == 6:
            proxy.set(Mode.PASS)

    await patiently(lambda: far.call("PING"), back_after_six)


async def killed(_: Proxy, single: servers.Single, __: Store) -> None:
    await asyncio.to_thread(single.failover)


# --- row 10: the store is emptied by mistake


async def test_an_emptied_store_brings_neither_false_recoveries_nor_pages(
    server: servers.Single, store: Store
) -> None:
    clock = SteppedClock()

    async def report(*events: Row) -> None:
        await submit_raw(store, encoded(events))
        await drained(store)

    async with running(server.url, clock) as (_, supervisor):
        await alice(store)
        await report(*every("critical", CHECKS))
        clock.shift += 30
        await report(*every("critical", CHECKS))
        assert await store.call("LLEN", Alerting().queue("email")) == len(CHECKS)
        await submit_raw(store, encoded(every("critical", CHECKS * 50)))
        await reach(store, 400)
        await store.call("FLUSHALL")
        await alice(store)
        await report(*every("ok", CHECKS[:50]), *every("critical", CHECKS[50:]))
        clock.shift += 10
        await report(*every("ok", CHECKS))
        assert await store.call("EXISTS", Alerting().queue("email")) == 0
        await report(*every("critical", CHECKS[:1]))
        clock.shift += 30
        await report(*every("critical", CHECKS[:1]))
        (alert,) = await store.call("LRANGE", Alerting().queue("email"), 0, -1)
        assert msgspec.json.decode(alert, type=Alert).event_id == ":".join(CHECKS[0])
        assert {status.state for status in supervisor.statuses} == {"running"}
    assert await histories(store) == {
        ("ok", "critical"): 1,
        ("ok",): 49,
        ("critical", "ok"): 50,
    }


async def histories(store: Store) -> Counter[tuple[str, ...]]:
    keys = Alerting(store.prefix)
    found: Counter[tuple[str, ...]] = Counter()
    for at in CHECKS:
        times = await store.call("LRANGE", keys.states(*at), 0, -1)
        states = [(await store.call("GET", keys.state(*at, int(t)))).decode() for t in times]
        found[tuple(states)] += 1
    return found


# --- row 11: the store is slow, or full


async def asleep(store: Store) -> None:
    await store.call("DEBUG", "SLEEP", 2)


async def paused(store: Store) -> None:
    await store.call("CLIENT", "PAUSE", 2000, "WRITE")


async def full(store: Store) -> None:
    """Producers are told at once; what was taken is not let go half done."""
    await store.call("CONFIG", "SET", "maxmemory", "1mb")
    before = await processed(store)
    with pytest.raises(StoreUnavailable, match="maxmemory"):
        await submit_raw(store, encoded(step(0)))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2):
            await patiently(lambda: submit_raw(store, encoded(step(0))))
    assert await processed(store) == before
    await store.call("CONFIG", "SET", "maxmemory", 0)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (servers.single, asleep),
        (servers.single, paused),
        (servers.single, full),
        (servers.debian, full),
    ],
)
async def test_a_slow_or_full_store_delays_and_loses_nothing(
    folder: Path, kind: Callable[[Path], Any], fault: Callable[[Store], Any]
) -> None:
    with kind(folder) as single:
        async for store in watched(single.url):
            await alice(store)
            producer = Producer(store)
            await producer.push(30)
            async with running(single.url, **AT_ONCE) as (_, supervisor):
                await reach(store, 500)
                await fault(store)
                await producer.push(5)
                await drained(store)
                assert {status.state for status in supervisor.statuses} == {"running"}
            await settle(store, producer.pushed, producer.retries)


async def test_a_full_store_lets_go_of_no_batch_that_it_did_not_write(
    server: servers.Single, store: Store
) -> None:
    stage = Stage(store)
    await submit_raw(store, encoded(every("critical", CHECKS)))
    await store.call("CONFIG", "SET", "maxmemory", "1mb")
    try:
        async with asyncio.TaskGroup() as group:
            done = group.create_task(stage.drain())

            async def is_taken() -> bool:
                return not await store.call("EXISTS", stage.keys.events())

            await eventually(is_taken)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await asyncio.shield(done)
            assert await store.call("EXISTS", stage.keys.failed_checks()) == 0
            server.server.call("CONFIG", "SET", "maxmemory", 0)
    finally:
        await store.call("CONFIG", "SET", "maxmemory", 0)
    assert done.result().events == len(CHECKS)
    assert await store.call("ZCARD", stage.keys.failed_checks()) == len(CHECKS)
