"""What sampling costs an agent on a machine with 500 processes, and a table of 100,000 sockets."""

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.agents import connected, cpu_seconds, started, web
from bench.figures import Figure, repeated
from bench.stores import fresh
from tests.waiting import eventually
from watchbell.clock import SYSTEM
from watchbell.fleet import samples, tokens
from watchbell.fleet.agent import sampler
from watchbell.fleet.agent.machine.quick_meter import QuickMeter
from watchbell.fleet.agent.machine.reader import MachineReader, Surroundings
from watchbell.fleet.agent.machine.sockets import SocketTable
from watchbell.jobs import stock
from watchbell.store.client import Store

PROCESSES = 500
SOCKETS = 100_000
SECONDS = 60
"""A whole minute: one full sample, and one run of the stock command."""
_LINE = (
    "   1: 0100007F:1F90 0200007F:C350 01 00000000:00000000 00:00000000 00000000"
    "     0        0 {} 1 0000000000000000 100 0 0 10 0\n"
)


def figures() -> list[Figure]:
    with sleeping(PROCESSES):
        share = asyncio.run(agent())
        full, quick = repeated(full_sample), repeated(quick_values)
    sockets = repeated(socket_table, 3)
    return [
        Figure(
            name=f"agent with {PROCESSES} more processes, CPU over {SECONDS} s",
            unit="% of a core",
            runs=[share],
            sense="at most",
            aim=1,
            limit=100,
            limit_name="% is one core",
        ),
        _milliseconds("one full sample, CPU", full, 100, 60_000, "ms between two"),
        _milliseconds("eight values, CPU", quick, 2, 1_000, "ms between two"),
        _milliseconds(f"{SOCKETS:,} sockets, CPU", sockets, 300, 60_000, "ms between two"),
    ]


def _milliseconds(name: str, runs: list[float], aim: float, limit: float, of: str) -> Figure:
    return Figure(
        name=name,
        unit="ms",
        runs=[run * 1_000 for run in runs],
        sense="at most",
        aim=aim,
        limit=limit,
        limit_name=of,
    )


@contextmanager
def sleeping(count: int) -> Iterator[None]:
    processes = [subprocess.Popen(["sleep", "3600"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


async def agent() -> float:
    """Percent of a core that a real agent uses, its commands not counted."""
    async with fresh() as (store, _), web(store) as (_, url):
        await stock.ensure(store, SYSTEM.now())
        token, _ = await tokens.create_join(store, "bench", int(SYSTEM.now()))
        async with started("agent", "--join", url, "--token", token) as process:
            await connected(store, 1, process)
            await sampled(store)
            before = cpu_seconds(process)
            await asyncio.sleep(SECONDS)
            return (cpu_seconds(process) - before) / SECONDS * 100


async def sampled(store: Store) -> None:
    """Its first full sample has come, which is the most expensive one."""
    await eventually(lambda: samples.latest(store))
    (server,) = await samples.latest(store)
    await eventually(lambda: samples.machine(store, server))


def full_sample() -> float:
    reader, info = MachineReader(SYSTEM.now(), SYSTEM.monotonic()), sampler.server_info(0)
    around = Surroundings("bench", info, 0, str)
    spent = 0.0
    for _ in range(2):  # the second one knows the processes
        begun = time.process_time()
        for _ in reader.steps(SYSTEM.now(), SYSTEM.monotonic(), around):
            pass
        spent = time.process_time() - begun
    return spent


def quick_values() -> float:
    meter, times = QuickMeter(SYSTEM.monotonic()), 100
    begun = time.process_time()
    for _ in range(times):
        meter.read(SYSTEM.now(), SYSTEM.monotonic())
    return (time.process_time() - begun) / times


def socket_table() -> float:
    with tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as folder:
        path = Path(folder) / "net" / "tcp"
        path.parent.mkdir()
        path.write_text("  sl  local_address\n" + "".join(map(_LINE.format, range(SOCKETS))))
        table = SocketTable(folder)
        begun = time.process_time()
        for _ in table.pieces():
            pass
        found = table.summary([])
        spent = time.process_time() - begun
    assert found.all == SOCKETS
    return spent
