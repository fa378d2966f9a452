"""Cron: 1,000 jobs due at once, 10,000 recorded starts, the delay of one job, 100,000 jobs."""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
import psutil

from bench.figures import Figure, repeated
from bench.stores import fresh
from watchbell.clock import SYSTEM
from watchbell.cron import history, instances
from watchbell.cron.keys import Cron, CronOwn
from watchbell.store.client import Store

AT_ONCE, HERD, LOADED, LONE = 1_000, 10_000, 100_000, 50
SPAWNED = 300
MIB = 1 << 20
CLOCK = "echo $EPOCHREALTIME"
KEYS, OWN = Cron(), CronOwn()


def figures() -> list[Figure]:
    bare = max(repeated(spawned, 3))
    herds = [asyncio.run(recorded()) for _ in range(3)]
    ready, memory, idle = asyncio.run(loaded())
    late, bare_late = asyncio.run(lone())
    return [
        Figure(
            name="1,000 jobs due at once",
            unit="runs/s",
            runs=[asyncio.run(at_once()) for _ in range(3)],
            aim=700,
            limit=bare,
            limit_name="runs/s by posix_spawn and wait",
        ),
        Figure(name="10,000 starts recorded, p99", unit="ms", runs=herds, sense="at most", aim=500),
        *(
            Figure(
                name=f"one job, scheduled time to process, p{percent}",
                unit="ms",
                runs=[percentile(late, percent)],
                sense="at most",
                aim=aim,
                limit=percentile(bare_late, percent),
                limit_name="ms by a loop that only sleeps and spawns",
            )
            for percent, aim in ((50, 5), (99, 20))
        ),
        Figure(
            name="100,000 jobs, time until ready", unit="s", runs=[ready], sense="at most", aim=10
        ),
        Figure(name="100,000 jobs, memory", unit="MiB", runs=[memory], sense="at most", aim=250),
        Figure(name="100,000 jobs, idle", unit="% CPU", runs=[idle], sense="at most", aim=2),
    ]


def spawned() -> float:
    begun = SYSTEM.monotonic()
    for _ in range(SPAWNED):
        pid = os.posix_spawn("/bin/bash", ["/bin/bash", "-c", "true"], os.environ)
        os.waitpid(pid, 0)
    return SPAWNED / (SYSTEM.monotonic() - begun)


def job(cmd: str, **when: Any) -> bytes:
    return msgspec.json.encode(
        {"cron_args": when, "job_args": {"cmd": cmd, "lock": True, "ttl": 60}}
    )


def due(moment: int) -> dict[str, str]:
    at = datetime.fromtimestamp(moment, UTC)
    fields = {"year": at.year, "month": at.month, "day": at.day}
    fields |= {"hour": at.hour, "minute": at.minute, "second": at.second}
    return {name: str(value) for name, value in fields.items()}


async def put(store: Store, count: int, definition: bytes) -> None:
    for first in range(0, count, 1_000):
        names = [f"job-{n}" for n in range(first, min(first + 1_000, count))]
        await store.call("HSET", KEYS.jobs(), *(x for name in names for x in (name, definition)))


@contextmanager
def instance(store: Store) -> Iterator[psutil.Process]:
    with tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as data:
        command = [sys.executable, "-m", "watchbell", "run", "cron", "--data", data]
        command += ["--store", store.url.redacted()]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                yield psutil.Process(process.pid)
            finally:
                process.terminate()


@asynccontextmanager
async def serving(count: int, definition: bytes) -> AsyncIterator[tuple[Store, psutil.Process]]:
    async with fresh() as (store, _):
        await put(store, count, definition)
        with instance(store) as process:
            while not await instances.instances(store):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            yield store, process


async def at_once() -> float:
    moment = int(SYSTEM.now()) + 6
    async with serving(AT_ONCE, job("true", **due(moment))) as (store, _):
        while await store.call("ZCARD", KEYS.results("success")) < AT_ONCE:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        last = (await history.ended(store, most=1))[0]
        assert last.ended is not None
        return AT_ONCE / (last.ended - moment)


async def recorded() -> float:
    """Milliseconds from the scheduled time until 99% of the runs were in the store, started or
    waiting."""
    moment = int(SYSTEM.now()) + 8
    async with serving(HERD, job("true", **due(moment))) as (store, _):
        while True:
            begun = await store.call("HLEN", KEYS.runs())
            waiting = await store.call("LLEN", OWN.pending())
            if begun + waiting >= HERD * 0.99:
                return (SYSTEM.now() - moment) * 1_000
            await asyncio.sleep(0.002)


async def lone() -> tuple[list[float], list[float]]:
    """Milliseconds between the scheduled time and the process: of jobs in even seconds, of a bare
    loop in odd ones, so that other load affects both."""
    async with serving(1, job(CLOCK, second="*/2")) as (store, _):
        bare = await asyncio.to_thread(lambda: [spawned_at_odd_second() for _ in range(LONE)])
        runs = await history.ended(store, most=LONE)
        return [(float(seen.record.output or 0) - seen.detail.fire) * 1_000 for seen in runs], bare


def spawned_at_odd_second() -> float:
    now = SYSTEM.now()
    instant = int(now) // 2 * 2 + (1 if now % 2 < 1 else 3)
    time.sleep(instant - now)
    reading, writing = os.pipe()
    onto = [(os.POSIX_SPAWN_DUP2, writing, 1)]
    pid = os.posix_spawn("/bin/bash", ["/bin/bash", "-c", CLOCK], os.environ, file_actions=onto)
    os.close(writing)
    said = float(os.read(reading, 100))
    os.close(reading)
    os.waitpid(pid, 0)
    return (said - instant) * 1_000


def percentile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


async def loaded() -> tuple[float, float, float]:
    begun = SYSTEM.monotonic()
    async with fresh() as (store, _):
        await put(store, LOADED, job("true", cronstring="30 2 1 1 *"))
        begun = SYSTEM.monotonic()
        with instance(store) as process:
            while not await instances.instances(store):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            ready = SYSTEM.monotonic() - begun
            await asyncio.sleep(2)
            before = sum(process.cpu_times()[:2])
            await asyncio.sleep(10)
            idle = (sum(process.cpu_times()[:2]) - before) * 10
            return ready, process.memory_info().rss / MIB, idle
