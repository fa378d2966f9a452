"""Gateways: messages per second, memory with a long queue, and latency from event to delivery."""

import asyncio
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import msgspec
import psutil

from bench.deliveries import ENTITIES, Receipts, busy, event, system
from bench.figures import Figure
from bench.stores import fresh
from tests.gateways import smtp
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Alert
from watchbell.clock import SYSTEM
from watchbell.gateways import overview
from watchbell.store.client import Store

MAILS, WEBHOOKS, LONG = 3_000, 5_000, 100_000
TIMES = 3
RATE, SECONDS, CHANGING = 100, 30, 0.2
"""Events per second, for how many seconds, and the share that changes a state."""
WARMING = 2
"""Seconds at the start that are not counted."""
MIB = 1 << 20


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as folder:
        mails = [asyncio.run(mailed(Path(folder))) for _ in range(TIMES)]
        hooks = [asyncio.run(hooked(Path(folder), WEBHOOKS))[0] for _ in range(TIMES)]
        rate, early, late = asyncio.run(hooked(Path(folder), LONG))
    growth = late / early
    return [
        Figure(name="mails delivered", unit="mails/s", runs=mails, aim=500),
        Figure(name="webhooks delivered", unit="webhooks/s", runs=hooks, aim=1_000),
        Figure(name="webhooks delivered from a queue of 100,000", unit="webhooks/s", runs=[rate]),
        Figure(
            name="memory at the end of that queue",
            unit="x",
            runs=[growth],
            sense="at most",
            aim=1.2,
            limit=early / MIB,
            limit_name="MiB after a tenth",
        ),
        *latency("a quiet machine", is_busy=False, aim=0.3),
        *latency("a busy machine", is_busy=True, aim=1),
    ]


def latency(where: str, *, is_busy: bool, aim: float) -> list[Figure]:
    runs = [asyncio.run(latencies(is_busy=is_busy)) for _ in range(TIMES)]
    late = [sorted(run)[len(run) * 99 // 100] for run in runs]
    middle = [sorted(run)[len(run) // 2] for run in runs]
    worst = max(max(run) for run in runs)
    rows = [("p50", middle, None), ("p99", late, aim), ("the latest of all runs", [worst], 2.0)]
    return [
        Figure(
            name=f"event to delivery on {where}, {name}",
            unit="s",
            runs=values,
            sense="at most",
            aim=most,
        )
        for name, values, most in rows
    ]


async def latencies(*, is_busy: bool) -> list[float]:
    """Seconds from the push of each event that changes a state until its mail and its webhook."""
    with tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as name:
        folder = Path(name)
        async with system(folder) as (store, receipts):
            with busy(folder) if is_busy else nullcontext():
                pushed = await changes(store)
                await arrived(receipts, pushed)
    return [
        receipts.times[medium, number] - at
        for number, at in pushed.items()
        if number >= RATE * WARMING
        for medium in ("email", "webhook")
    ]


async def changes(store: Store) -> dict[int, float]:
    """Push events at a steady rate; returns when each event that changes a state was pushed."""
    chance, states = random.Random(1), dict.fromkeys(range(10 * ENTITIES), "ok")
    pushed, begun = {}, SYSTEM.monotonic()
    for number in range(RATE * SECONDS):
        await asyncio.sleep(max(0, begun + number / RATE - SYSTEM.monotonic()))
        check = chance.randrange(10 * ENTITIES)
        if chance.random() < CHANGING:
            states[check] = "critical" if states[check] == "ok" else "ok"
            pushed[number] = SYSTEM.monotonic()
        await store.call("LPUSH", "events", event(check, states[check], number))
    return pushed


async def arrived(receipts: Receipts, pushed: dict[int, float]) -> None:
    wanted = {(medium, number) for number in pushed for medium in ("email", "webhook")}
    while not wanted <= receipts.times.keys():  # noqa: ASYNC110
        await asyncio.sleep(0.05)


def alert(number: int, medium: str, address: str) -> bytes:
    return msgspec.json.encode(
        Alert(
            id=f"{number:032x}",
            media=medium,
            address=address,
            contact_id=f"contact-{number % 100}",
            contact_first_name="Alice",
            contact_last_name="Adams",
            event_id=f"web-{number % 1_000}:HTTP port 80",
            event_hash="0a1b2c3d",
            state="critical",
            summary="connection refused",
            last_state="ok",
            state_duration=120,
            time=1_700_000_000,
            notification_type="problem",
        )
    )


async def push(store: Store, medium: str, alerts: list[bytes]) -> None:
    for first in range(0, len(alerts), 1_000):
        await store.call("RPUSH", Alerting().queue(medium), *alerts[first : first + 1_000])


@contextmanager
def gateway(store: Store, settings: str, folder: Path) -> Iterator[psutil.Process]:
    """Runs `watchbell run gateways`."""
    config = folder / "watchbell.toml"
    config.write_text(settings)
    command = [sys.executable, "-m", "watchbell", "run", "gateways", "--config", str(config)]
    command += ["--store", store.url.redacted()]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


async def delivered(store: Store, medium: str, count: int) -> float:
    """When this many had been delivered, by the monotonic clock."""
    while (await overview.statuses(store, [medium]))[0].delivered < count:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return SYSTEM.monotonic()


async def mailed(folder: Path) -> float:
    async with fresh() as (store, _):
        with smtp.process(folder / "mails") as (port, _server):
            addresses = [f"person-{n}@example.com" for n in range(200)]
            alerts = [alert(n, "email", addresses[n % 200]) for n in range(MAILS)]
            await push(store, "email", alerts)
            settings = f'[gateways.email]\nhost = "127.0.0.1"\nport = {port}\n'
            with gateway(store, settings, folder):
                begun = await delivered(store, "email", MAILS // 10)
                ended = await delivered(store, "email", MAILS)
            assert len(smtp.received(folder / "mails")) >= MAILS
        (folder / "mails").unlink()
    return MAILS * 0.9 / (ended - begun)


async def hooked(folder: Path, count: int) -> tuple[float, float, float]:
    """Webhooks per second, and bytes of memory after a tenth of them and after all."""
    ids = folder / "ids"
    async with fresh() as (store, _):
        sink = [sys.executable, "-m", "tests.gateways.http_sink", "--file", str(ids)]
        with subprocess.Popen(sink, stdout=subprocess.PIPE, text=True) as server:  # noqa: ASYNC220
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            alerts = [alert(n, "webhook", f"{url}/hook/{n % 200}") for n in range(count)]
            await push(store, "webhook", alerts)
            settings = '[gateways.webhook]\nallow_networks = ["127.0.0.0/8"]\nconcurrency = 20\n'
            with gateway(store, settings, folder) as process:
                begun = await delivered(store, "webhook", count // 10)
                early = process.memory_info().rss
                ended = await delivered(store, "webhook", count)
                late = process.memory_info().rss
            server.kill()
        assert len(set(ids.read_text().split())) == count
        ids.unlink()
    return count * 0.9 / (ended - begun), early, late
