"""Child processes: runs per second, output per second, and the delay of a single start."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from bench.figures import Figure, repeated
from watchbell.process.command import Command
from watchbell.process.output import Volume
from watchbell.process.runner import Runner

RUNS = 1000
AT_ONCE = 50
ECHO = ["/bin/echo", "hello"]
LINE = b"2026-03-29 01:59:50 web-1.example.com nightly backup: copied one more file\n"
LINES = 4_000_000
FLOOD = ["/bin/sh", "-c", f"yes '{LINE.decode().strip()}' | head -n {LINES}"]
BALLAST = 512 << 20

_ids = count()


@asynccontextmanager
async def warm() -> AsyncIterator[Runner]:
    async with Runner("bench") as runner:
        await (await runner.start(f"bench-{next(_ids)}", Command(argv=ECHO))).ended()
        yield runner


def bare(argv: list[str]) -> float:
    """Runs per second by `os.posix_spawn` and wait, one after the other, without output."""
    to_nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    begun = time.perf_counter()
    for _ in range(RUNS):
        pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=to_nowhere)
        assert os.waitpid(pid, 0)[1] == 0
    return RUNS / (time.perf_counter() - begun)


async def captured() -> float:
    """Runs per second; the output and exit code of each are checked."""
    async with warm() as runner:
        places = asyncio.Semaphore(AT_ONCE)

        async def one() -> None:
            async with places:
                run = await runner.start(f"bench-{next(_ids)}", Command(argv=ECHO))
                written = [line.text async for batch in run.batches() for line in batch.lines()]
                assert (written, (await run.ended()).code) == ([b"hello\n"], 0)

        begun = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(RUNS):
                group.create_task(one())
        return RUNS / (time.perf_counter() - begun)


def heavy() -> float:
    """The same from a process with much memory."""
    ballast = bytearray(BALLAST)
    ballast[:: os.sysconf("SC_PAGESIZE")] = b"x" * (BALLAST // os.sysconf("SC_PAGESIZE"))
    return asyncio.run(captured())


def bare_reading() -> float:
    """MB per second read from a pipe and discarded."""
    reading, writing = os.pipe()
    onto = [(os.POSIX_SPAWN_DUP2, writing, 1)]
    begun = time.perf_counter()
    pid = os.posix_spawn(FLOOD[0], FLOOD, os.environ, file_actions=onto, setsigdef=[signal.SIGPIPE])
    os.close(writing)
    while os.read(reading, 64 << 10):
        pass
    os.close(reading)
    os.waitpid(pid, 0)
    return len(LINE) * LINES / (time.perf_counter() - begun) / 1e6


async def flood(volume: Volume) -> float:
    """MB per second into a log; every byte is kept or counted as omitted."""
    async with warm() as runner:
        begun = time.perf_counter()
        run = await runner.start(f"bench-{next(_ids)}", Command(argv=FLOOD), volume=volume)
        parts = [
            part async for batch in run.batches() for part in batch.parts if not part.is_marker
        ]
        spent = time.perf_counter() - begun
        assert (await run.ended()).code == 0
        kept = sum(len(text) for part in parts for text in part.texts)
        assert kept + run.output.left_out == run.output.size == len(LINE) * LINES
        assert parts[-1].texts[-1] == LINE
        return run.output.size / spent / 1e6


def bare_lone() -> float:
    """The same with `os.posix_spawn`."""
    spent = []
    for _ in range(200):
        begun = time.perf_counter()
        pid = os.posix_spawn("/bin/true", ["true"], os.environ)
        spent.append(time.perf_counter() - begun)
        os.waitpid(pid, 0)
    return sorted(spent)[197] * 1000


async def lone() -> float:
    """The 99th percentile, in ms, of the time that a start takes on an idle runner."""
    async with warm() as runner:
        spent = []
        for _ in range(200):
            begun = time.perf_counter()
            run = await runner.start(f"bench-{next(_ids)}", Command(argv=ECHO))
            spent.append(time.perf_counter() - begun)
            await run.ended()
        return sorted(spent)[197] * 1000


def figures() -> list[Figure]:
    spawned = max(repeated(lambda: bare(ECHO)))
    read = max(repeated(bare_reading, 3))
    return [
        Figure(
            name=f"process, runs with output, {AT_ONCE} at once",
            unit="runs/s",
            runs=repeated(lambda: asyncio.run(captured())),
            aim=max(300, spawned / 2),
            limit=spawned,
            limit_name="runs/s by posix_spawn and wait",
        ),
        Figure(
            name=f"process, the same from a process of {BALLAST >> 20} MiB",
            unit="runs/s",
            runs=repeated(heavy, 3),
            aim=max(300, spawned / 2),
            limit=spawned,
            limit_name="runs/s by posix_spawn and wait",
        ),
        Figure(
            name="process, output into a log limited to 10 MiB",
            unit="MB/s",
            runs=repeated(lambda: asyncio.run(flood(Volume())), 3),
            aim=100,
            limit=read,
            limit_name="MB/s read and discarded",
        ),
        Figure(
            name="process, output into an unlimited log",
            unit="MB/s",
            runs=repeated(lambda: asyncio.run(flood(Volume(complete=1 << 40))), 3),
            limit=read,
            limit_name="MB/s read and discarded",
        ),
        Figure(
            name="process, single start, p99",
            unit="ms",
            runs=repeated(lambda: asyncio.run(lone())),
            sense="at most",
            aim=5,
            limit=min(repeated(bare_lone)),
            limit_name="ms by posix_spawn",
        ),
    ]
