"""500 servers reporting once a minute to one web process: CPU of both it and the store."""

import asyncio
import zlib

import msgspec
import psutil
from websockets.asyncio.client import connect

from bench.agents import connected, cpu_seconds, read, web
from bench.figures import Figure
from bench.stores import fresh
from watchbell.clock import SYSTEM
from watchbell.fleet import tokens
from watchbell.fleet.agent import sampler
from watchbell.fleet.agent.link import websocket_url
from watchbell.fleet.keys import Fleet
from watchbell.fleet.machine_sample import (
    Cpu,
    CpuShares,
    DiskStats,
    MachineSample,
    Mount,
    Process,
    Processes,
    Stats,
)
from watchbell.fleet.messages import Hello, MachineSampled, Renew, Welcome, encode, to_agent
from watchbell.jobs import stock
from watchbell.store.client import Store

SERVERS, PROCESSES = 500, 100
SECONDS = 60


def figures() -> list[Figure]:
    beats, whole = asyncio.run(measured())
    return [
        Figure(
            name=f"{SERVERS} servers, a full sample a minute: web and store",
            unit="% of a core",
            runs=[whole],
            sense="at most",
            limit=beats,
            limit_name="% with heartbeats alone",
        ),
        Figure(
            name="of that, samples, monitors and alerts",
            unit="% of a core",
            runs=[whole - beats],
            sense="at most",
            aim=20,
            limit=100,
            limit_name="% is one core",
        ),
    ]


async def measured() -> tuple[float, float]:
    """Percent of a core: with heartbeats alone, and with samples, too."""
    unlimited = {"WATCHBELL_WEB_CONNECTIONS_PER_ADDRESS": "0"}
    async with fresh() as (store, _), web(store, **unlimited) as (process, url):
        await stock.ensure(store, SYSTEM.now())
        server = psutil.Process(int((await store.call("INFO", "server"))["process_id"]))
        is_sampled = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(reporting(store, url, number, is_sampled))
                for number in range(SERVERS)
            ]
            await connected(store, SERVERS, process)
            beats = await spent(process, server)
            is_sampled.set()
            await asyncio.sleep(SECONDS)  # each has sent its first sample
            whole = await spent(process, server)
            assert await store.call("HLEN", Fleet(store.prefix).monitoring()) == SERVERS
            for task in tasks:
                task.cancel()
        return beats, whole


async def spent(*processes: psutil.Process) -> float:
    before = sum(map(cpu_seconds, processes))
    await asyncio.sleep(SECONDS)
    return (sum(map(cpu_seconds, processes)) - before) / SECONDS * 100


async def reporting(store: Store, url: str, number: int, is_sampled: asyncio.Event) -> None:
    token, _ = await tokens.create_join(store, "bench", int(SYSTEM.now()))
    headers = {"Authorization": f"Bearer {token}"}
    async with connect(websocket_url(url), additional_headers=headers, max_size=None) as link:
        info = sampler.server_info(0)
        await link.send(encode(Hello(hostname=f"host-{number}", info=info, boot="bench")))
        welcome = to_agent.decode(await link.recv(decode=False))
        assert isinstance(welcome, Welcome)
        async with asyncio.TaskGroup() as group:
            group.create_task(read(link))
            beat = number % 12
            while True:
                beat += 1
                await link.send(encode(Renew(number=beat)))
                if is_sampled.is_set() and beat % 12 == 0:
                    await link.send(encode(MachineSampled(packed=packed(number, beat))))
                await asyncio.sleep(welcome.heartbeat)


def packed(number: int, beat: int) -> bytes:
    sample = MachineSample(
        hostname=f"host-{number}",
        date=SYSTEM.now(),
        uptime_sec=1_000 + beat * 5,
        load=(1.5, 1, 1),
        cpu=Cpu(cores=4, totals=CpuShares(idle=80, iowait=1)),
        memory={"total": 1 << 34, "used": 1 << 33, "available": 1 << 33},
        mounts={"root": Mount(mount="/", use=40)},
        stats=Stats(fs=DiskStats(rx=beat * 10_000, wx=beat * 5_000)),
        processes=Processes(
            all=PROCESSES,
            list=tuple(
                Process(pid=pid, user="root", command=f"/usr/bin/program --number {pid}")
                for pid in range(PROCESSES)
            ),
        ),
        commands={"open_files": "1234\t0\t999999\n"},
    )
    return zlib.compress(msgspec.msgpack.encode(sample))
