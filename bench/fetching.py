"""Fetching pages on kept connections, and large responses, compared with aiohttp."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp

from bench.figures import Figure, repeated
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.model import Request, networks

PAGES = 5_000
AT_ONCE = 4
PAGE = 3_000
LARGE = 256 << 20
HEADERS = (("User-Agent", "bench"), ("Accept", "*/*"), ("Accept-Encoding", "gzip"))
SERVER = f"""
import asyncio
HEAD = (b"HTTP/1.1 200 OK\\r\\nServer: bench\\r\\nDate: Mon, 16 Nov 2026 19:00:00 GMT\\r\\n"
        b"Content-Type: text/html\\r\\nETag: \\"abc\\"\\r\\nContent-Length: %d\\r\\n\\r\\n")
PAGE = HEAD % {PAGE} + b"x" * {PAGE}
LARGE = [HEAD % {LARGE}, *[b"x" * (1 << 20)] * {LARGE >> 20}]

class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
    def data_received(self, raw):
        self.transport.writelines(LARGE) if b" /large " in raw else self.transport.write(PAGE)

async def main():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


@contextmanager
def serving() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE) as server:
        assert server.stdout
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.kill()


async def _microseconds(fetch: Callable[[int], Awaitable[None]]) -> float:
    """CPU time of one page."""
    numbers = iter(range(PAGES))

    async def work() -> None:
        for number in numbers:
            await fetch(number)

    begun = time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    return (time.process_time() - begun) / PAGES * 1e6


async def _ours(site: str) -> float:
    fetcher = Fetcher(networks(allow_private=True), Path(tempfile.gettempdir()))

    async def fetch(number: int) -> None:
        one = await fetcher.fetch(Request(url=f"{site}/{number}", headers=HEADERS))
        assert one.response.size == one.head_size + PAGE, one.error
        one.response.close()

    try:
        return await _microseconds(fetch)
    finally:
        fetcher.close()


async def _by_aiohttp(site: str) -> float:
    async with aiohttp.ClientSession(auto_decompress=False) as session:

        async def fetch(number: int) -> None:
            async with session.get(f"{site}/{number}", headers=HEADERS) as response:
                assert len(await response.read()) == PAGE

        return await _microseconds(fetch)


async def _large(site: str) -> float:
    """MiB per second to a file."""
    fetcher = Fetcher(networks(allow_private=True), Path(tempfile.gettempdir()))
    begun = time.perf_counter()
    one = await fetcher.fetch(Request(url=f"{site}/large", headers=HEADERS))
    spent = time.perf_counter() - begun
    assert one.response.size == one.head_size + LARGE, one.error
    one.response.close()
    fetcher.close()
    return LARGE / (1 << 20) / spent


def figures() -> list[Figure]:
    with serving() as site:
        peer = min(repeated(lambda: asyncio.run(_by_aiohttp(site)), 3))
        return [
            Figure(
                name="fetching a page of 3 KB, with its exact bytes",
                unit="µs of CPU",
                runs=repeated(lambda: asyncio.run(_ours(site))),
                sense="at most",
                aim=350,
                limit=peer,
                limit_name="by aiohttp",
            ),
            Figure(
                name="fetching a large response into a file",
                unit="MiB/s",
                runs=repeated(lambda: asyncio.run(_large(site)), 3),
                aim=100,
            ),
        ]
