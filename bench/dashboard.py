"""Log entries per second to 200 viewers of the dashboard, by the processor time of its process."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import msgspec
from msgspec.structs import replace

from bench.figures import Figure
from bench.stores import fresh
from tests.servers import HOST
from watchbell.archive.keys import Crawls
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web.archive.dashboard import origins
from watchbell.web.archive.dashboard.frames import Deflater, Frame, messages
from watchbell.web.archive.dashboard.serving import serving

VIEWERS, BATCHES, BATCH = 200, 20, 250
TIMES = 3
IDENT = "43z7a11vo6of3a7i173441dtc"
HANDSHAKE = (
    f"GET /stream HTTP/1.1\r\nHost: {HOST}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
)


def figures() -> list[Figure]:
    bare = [asyncio.run(written()) for _ in range(TIMES)]
    shared = [asyncio.run(broadcast()) for _ in range(TIMES)]
    return [
        Figure(
            name="dashboard, log entries to 200 viewers",
            unit="entries/s",
            runs=shared,
            aim=1_000,
            limit=max(bare),
            limit_name="entries/s by writing ready frames alone",
        )
    ]


def batch(number: int) -> bytes:
    counters = ("r1xx", "r2xx", "r3xx", "r4xx", "r5xx", "items_queued", "log_score", "heartbeat")
    job = {name: str(number * 7_919 + n) for n, name in enumerate(counters)}
    job |= {name: f"{IDENT}_{name}" for name in ("log_key", "slug", "pipeline_id", "started_by")}
    job |= {"url": "https://example.com/", "started_at": "1790000000.250", "delay_min": "250"}
    entries = [
        {
            "type": "download",
            "ts": 1_790_000_000.25 + n,
            "url": f"https://example.com/page/{number}/{n * 7_919}.html",
            "response_code": 200,
            "wget_code": "OK",
            "is_error": False,
            "index": number * BATCH + n,
        }
        for n in range(BATCH)
    ]
    return msgspec.json.encode({"ident": IDENT, "job_data": job, "entries": entries})


def wire(body: bytes, deflater: Deflater) -> bytes:
    return b"".join(Frame(one, deflater).deflated() for one in messages(body))


async def broadcast() -> float:
    """Through the store and the dashboard."""
    async with fresh() as (store, settings):
        allowed = origins.allowed((), HOST, frozenset())
        web = replace(settings.web, port=0, connections_per_address=0)
        archive = replace(settings.archive, dashboard=replace(settings.archive.dashboard, port=0))
        chosen = replace(settings, web=web, archive=archive)
        async with (
            serving(chosen, store, SYSTEM, allowed) as (port, broadcaster),
            asyncio.TaskGroup() as group,
        ):
            running = group.create_task(broadcaster.run())
            async with viewers(port) as reached:
                while broadcaster.viewers < VIEWERS:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                rate = await measured(partial(publish, store), reached)
            running.cancel()
        assert broadcaster.dropped == 0
        return rate


async def publish(store: Store, body: bytes, _: bytes) -> None:
    await store.call("PUBLISH", Crawls(store.prefix).entries(), body)


async def written() -> float:
    """What can't be avoided: the same bytes to as many connections."""
    writers: list[asyncio.StreamWriter] = []

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(b"\r\n\r\n")

    async def send(_: bytes, frames: bytes) -> None:
        for writer in writers:
            writer.write(frames)

    async with await asyncio.start_server(accept, HOST, 0) as server:
        async with viewers(server.sockets[0].getsockname()[1]) as reached:
            while len(writers) < VIEWERS:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            rate = await measured(send, reached)
        for writer in writers:
            writer.close()
    return rate


async def measured(
    send: Callable[[bytes, bytes], object], reached: Callable[[int], object]
) -> float:
    deflater = Deflater()
    bodies = [batch(number) for number in range(BATCHES)]
    frames = [wire(body, deflater) for body in bodies]
    begun, total = time.process_time(), 0
    for body, packed in zip(bodies, frames, strict=True):
        total += len(packed)
        await send(body, packed)  # type: ignore[misc]
        await reached(total)  # type: ignore[misc]
    return BATCHES * BATCH / (time.process_time() - begun)


@asynccontextmanager
async def viewers(port: int) -> AsyncIterator[Callable[[int], object]]:
    """Viewers in a process of their own. What it gives waits until all have so many bytes."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.dashboard", str(port)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    told, said = process.stdin, process.stdout

    async def reached(total: int) -> None:
        told.write(b"%d\n" % total)
        assert await said.readline() == b"%d\n" % total

    await said.readline()
    yield reached
    told.close()
    await process.wait()


class Viewer(asyncio.Protocol):
    """Counts the bytes after the handshake."""

    def __init__(self) -> None:
        self.head, self.count = b"", 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(HANDSHAKE.encode())

    def data_received(self, data: bytes) -> None:
        if b"\r\n\r\n" in self.head:
            self.count += len(data)
        else:
            self.head += data
            self.count = len(self.head.partition(b"\r\n\r\n")[2])


async def view(port: int) -> None:
    loop = asyncio.get_running_loop()
    made = [(await loop.create_connection(Viewer, HOST, port))[1] for _ in range(VIEWERS)]
    print("connected", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        while any(one.count < int(line) for one in made):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert all(one.count == int(line) for one in made)
        print(line, end="", flush=True)


if __name__ == "__main__":
    asyncio.run(view(int(sys.argv[1])))
