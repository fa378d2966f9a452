"""`cron list` with 10,000 jobs, compared with only reading and decoding all definitions."""

import asyncio
import subprocess
import sys
from typing import Any

import msgspec

from bench.figures import Figure
from bench.start import cpu, installed
from bench.stores import fresh
from watchbell.clock import SYSTEM
from watchbell.cron import overview
from watchbell.cron.keys import Cron
from watchbell.cron.reading import Reading
from watchbell.store.client import Store

JOBS, SHOWN, TIMES = 10_000, 100, 5
KEYS = Cron()


def figures() -> list[Figure]:
    return asyncio.run(measured())


async def measured() -> list[Figure]:
    async with fresh() as (store, _):
        await fill(store)
        bare = min([await bare_read(store) for _ in range(TIMES)])
        listed = [await first_page(store) for _ in range(TIMES)]
        command = [
            sys.executable,
            "-m",
            "watchbell",
            "cron",
            "list",
            "--store",
            store.url.redacted(),
        ]
        await asyncio.to_thread(wall, command)  # writes the bytecode
        spent = [await asyncio.to_thread(wall, command) for _ in range(TIMES)]
        used = [await asyncio.to_thread(cpu, *command) for _ in range(TIMES)]
    beside: dict[str, Any] = {"limit": bare, "limit_name": "ms of bare HGETALL and decoding"}
    return [
        Figure(
            name="cron list, first 100 of 10,000 jobs",
            unit="ms",
            runs=listed,
            sense="at most",
            **beside,
        ),
        Figure(
            name="cron list, command", unit="ms", runs=spent, sense="at most", aim=300, **beside
        ),
        Figure(name="cron list, command", unit="ms of CPU", runs=used, sense="at most", **beside),
    ]


async def fill(store: Store) -> None:
    """Save jobs with various schedules, each with a finished run."""
    for first in range(0, JOBS, 1_000):
        numbers = range(first, first + 1_000)
        await store.call("HSET", KEYS.jobs(), *(x for n in numbers for x in (name(n), job(n))))
        await store.call("HSET", KEYS.runs(), *(x for n in numbers for x in (run(n), record(n))))
        for n in numbers:
            await store.call("ZADD", KEYS.job_results(name(n), "success"), 1_794_732_937, run(n))


def name(n: int) -> str:
    return f"job-{n:05}"


def run(n: int) -> str:
    return f"{n:032x}"


def job(n: int) -> bytes:
    when = {"cronstring": f"{n % 60} {n % 24} * * {n % 7}", "timezone": "Europe/Rome"}
    args = {"cmd": f"/usr/local/bin/work {n}", "lock": True, "ttl": 60}
    return msgspec.json.encode({"cron_args": when, "job_args": args})


def record(n: int) -> bytes:
    return msgspec.json.encode(
        {
            "job_name": name(n),
            "start_time": 1_794_732_936.0,
            "host": "web-1",
            "status": "success",
            "retcode": 0,
            "output": "done\n" * 10,
            "duration": 1.0,
        }
    )


async def bare_read(store: Store) -> float:
    begun = SYSTEM.monotonic()
    found = await store.call("HGETALL", KEYS.jobs())
    decoded = [msgspec.json.decode(raw) for raw in found.values()]
    assert len(decoded) == JOBS
    return (SYSTEM.monotonic() - begun) * 1_000


async def first_page(store: Store) -> float:
    begun = SYSTEM.monotonic()
    found, total = await overview.first(store, Reading(), SYSTEM.now(), SHOWN)
    assert (len(found), total) == (SHOWN, JOBS)
    return (SYSTEM.monotonic() - begun) * 1_000


def wall(command: list[str]) -> float:
    begun = SYSTEM.monotonic()
    listed = subprocess.run(
        command, check=True, capture_output=True, text=True, env=installed()
    ).stdout
    assert "9,900 more" in listed
    return (SYSTEM.monotonic() - begun) * 1_000
