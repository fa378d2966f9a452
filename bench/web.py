"""Check events per second over HTTP into one web process, in batches and one by one."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import psutil
from aiohttp import ClientConnectionError, ClientSession

from bench.figures import Figure
from bench.stores import fresh
from tests.servers import held_port
from watchbell.actors import system
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web.audit import Stamp
from watchbell.web.people.api_keys import ApiKeys

BATCHES, BATCH, SINGLES = 400, 100, 5_000
SENDERS = 8
TIMES = 3


def figures() -> list[Figure]:
    batches = [asyncio.run(posted(batched(named=False), BATCHES, BATCH)) for _ in range(TIMES)]
    named = [asyncio.run(posted(batched(named=True), BATCHES, BATCH)) for _ in range(TIMES)]
    singles = [asyncio.run(posted(single(), SINGLES, 1)) for _ in range(TIMES)]
    return [
        _rate("check events posted in batches of 100", "events/s", batches, 10_000),
        _rate("check events posted in batches of 100, with ids", "events/s", named, 10_000),
        _rate("check events posted one by one", "requests/s", singles, 1_000),
    ]


def _rate(name: str, unit: str, runs: list[tuple[float, float]], aim: float) -> Figure:
    """The rate, compared with what the server's processor time would allow."""
    return Figure(
        name=name,
        unit=unit,
        runs=[rate for rate, _ in runs],
        aim=aim,
        limit=max(1 / cost for _, cost in runs),
        limit_name=f"{unit} of one processor",
    )


def event(number: int) -> dict[str, object]:
    return {
        "type": "service",
        "state": "ok",
        "entity": f"web-{number % 1_000}",
        "check": "HTTP port 80",
        "summary": "200 OK in 0.012 s",
    }


def batched(*, named: bool) -> list[bytes]:
    return [
        msgspec.json.encode(
            [
                {**event(at), **({"id": f"{at}"} if named else {})}
                for at in range(first * BATCH, (first + 1) * BATCH)
            ]
        )
        for first in range(BATCHES)
    ]


def single() -> list[bytes]:
    return [msgspec.json.encode(event(number)) for number in range(SINGLES)]


@asynccontextmanager
async def web(store: Store, port: int) -> AsyncIterator[psutil.Process]:
    """Runs `watchbell run web`."""
    code = "import os, sys; os.environ['WATCHBELL_WEB_PORT'] = sys.argv[1]; "
    code += "os.environ['WATCHBELL_WEB_INTAKE_RATE'] = '0'; "
    code += "os.execv(sys.executable, [sys.executable, '-m', 'watchbell', *sys.argv[2:]])"
    command = [sys.executable, "-c", code, str(port), "run", "web", "--store", store.url.redacted()]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:  # noqa: ASYNC220
        try:
            await answering(f"http://127.0.0.1:{port}/healthz")
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


async def answering(url: str) -> None:
    async with ClientSession() as http:
        while True:
            try:
                async with http.get(url):
                    return
            except ClientConnectionError:
                await asyncio.sleep(0.05)


async def posted(bodies: list[bytes], requests: int, size: int) -> tuple[float, float]:
    """Items per second, and seconds of the server's processor time per item."""
    async with fresh() as (store, _):
        by = Stamp(system("bench"), int(SYSTEM.now()))
        secret, _ = await ApiKeys(store, SYSTEM).make("bench", ("intake",), by)
        with held_port() as hold:
            port = hold.getsockname()[1]
            async with web(store, port) as process:
                await send(port, secret, bodies[: requests // 20])
                await store.call("DEL", Alerting().events())
                used, begun = process.cpu_times(), SYSTEM.monotonic()
                await send(port, secret, bodies[requests // 20 :])
                taken, after = SYSTEM.monotonic() - begun, process.cpu_times()
        sent = (requests - requests // 20) * size
        assert await store.call("LLEN", Alerting().events()) == sent
    spent = after.user + after.system - used.user - used.system
    return sent / taken, spent / sent


async def send(port: int, secret: str, bodies: list[bytes]) -> None:
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    left = iter(bodies)

    async def sender(http: ClientSession) -> None:
        for body in left:
            async with http.post("/api/v1/check-events", data=body) as answer:
                assert answer.status == 202, await answer.text()

    async with (
        ClientSession(f"http://127.0.0.1:{port}", headers=headers) as http,
        asyncio.TaskGroup() as group,
    ):
        for _ in range(SENDERS):
            group.create_task(sender(http))
