"""Agents while nothing happens: CPU and memory of one, and of a server that 200 of them join."""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psutil
from websockets.asyncio.client import ClientConnection, connect

from bench.cron import MIB
from bench.figures import Figure
from bench.jobs import program
from bench.stores import fresh
from tests.servers import held_port
from watchbell.clock import SYSTEM
from watchbell.fleet import presence, tokens
from watchbell.fleet.agent import sampler
from watchbell.fleet.agent.link import websocket_url
from watchbell.fleet.messages import Hello, Renew, Sampled, Welcome, encode, to_agent
from watchbell.fleet.model import Sample
from watchbell.store.client import Store

CONNECTED = 200
SECONDS = 30
SETTLED = 10


def figures() -> list[Figure]:
    cpu, memory = asyncio.run(one())
    joining, many_cpu = asyncio.run(many())
    return [
        Figure(
            name=f"idle agent, CPU over {SECONDS} s",
            unit="% of a core",
            runs=[cpu],
            sense="at most",
            aim=0.5,
        ),
        Figure(name="idle agent, memory", unit="MiB", runs=[memory], sense="at most", aim=45),
        Figure(
            name=f"{CONNECTED} idle agents, CPU of the web process over {SECONDS} s",
            unit="% of a core",
            runs=[many_cpu],
            sense="at most",
            aim=15,
        ),
        Figure(
            name=f"{CONNECTED} agents join at once, CPU of the web process",
            unit="s",
            runs=[joining],
            sense="at most",
            aim=5,
        ),
    ]


@asynccontextmanager
async def started(*words: str, **settings: str) -> AsyncIterator[psutil.Process]:
    with tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as data:
        command = [sys.executable, "-m", "watchbell", *words, "--data", data]
        with program(command, settings) as process:
            try:
                yield psutil.Process(process.pid)
            finally:
                process.terminate()


@asynccontextmanager
async def web(store: Store, **settings: str) -> AsyncIterator[tuple[psutil.Process, str]]:
    with held_port() as hold:
        port = hold.getsockname()[1]
        options = ("run", "web", "--store", store.url.redacted())
        async with started(*options, WATCHBELL_WEB_PORT=str(port), **settings) as process:
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.1)
                else:
                    writer.close()
                    break
            yield process, f"http://127.0.0.1:{port}"


async def one() -> tuple[float, float]:
    async with fresh() as (store, _), web(store) as (_, url):
        token, _ = await tokens.create_join(store, "bench", int(SYSTEM.now()))
        async with started("agent", "--join", url, "--token", token) as process:
            await connected(store, 1, process)
            cpu = await idle(process)
            return cpu, process.memory_info().rss / MIB


async def many() -> tuple[float, float]:
    """Seconds of CPU to let them join, and percent of a core after that."""
    async with fresh() as (store, _), web(store) as (process, url):
        before = cpu_seconds(process)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(simulated(store, url, n)) for n in range(CONNECTED)]
            await connected(store, CONNECTED, process)
            joining = cpu_seconds(process) - before
            cpu = await idle(process)
            for task in tasks:
                task.cancel()
        return joining, cpu


def cpu_seconds(process: psutil.Process) -> float:
    return sum(process.cpu_times()[:2])


async def connected(store: Store, count: int, process: psutil.Process) -> None:
    while len((await presence.read(store)).links) < count:
        assert process.status() != psutil.STATUS_ZOMBIE, "a process has ended"
        await asyncio.sleep(0.1)


async def idle(process: psutil.Process) -> float:
    """Percent of a core that it uses, once it has settled."""
    await asyncio.sleep(SETTLED)
    before = cpu_seconds(process)
    await asyncio.sleep(SECONDS)
    return (cpu_seconds(process) - before) / SECONDS * 100


async def simulated(store: Store, url: str, number: int) -> None:
    """An agent that sends what an idle one does: heartbeats and samples."""
    token, _ = await tokens.create_join(store, "bench", int(SYSTEM.now()))
    headers = {"Authorization": f"Bearer {token}"}
    async with connect(websocket_url(url), additional_headers=headers, max_size=None) as link:
        info = sampler.server_info(0)
        await link.send(encode(Hello(hostname=f"host-{number}", info=info, boot="bench")))
        welcome = to_agent.decode(await link.recv(decode=False))
        assert isinstance(welcome, Welcome)
        async with asyncio.TaskGroup() as group:
            group.create_task(read(link))
            beat = 0
            while True:
                beat += 1
                await link.send(encode(Renew(number=beat)))
                await link.send(encode(sampled(is_minute=beat % 12 == 1)))
                await asyncio.sleep(welcome.heartbeat)


async def read(link: ClientConnection) -> None:
    async for _ in link:
        pass


def sampled(*, is_minute: bool) -> Sampled:
    usage = {"cpu": 10.0, "load": (1.0, 0.5, 0.25), "memory": 1 << 30, "memory_total": 4 << 30}
    return Sampled(sample=Sample(at=SYSTEM.now(), **usage), is_minute=is_minute)  # type: ignore[arg-type]
