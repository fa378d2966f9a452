"""A website for benchmarks of crawls, served by a process of its own: `serving(ports)`.

`python -m bench.websites PORTS` serves 5,000 pages of 3 KB with 15 links each on so many ports, and
prints these. It notes when it got and answered each request; a line on its standard input ends it,
and has it print that.
"""

import asyncio
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil

_ROOT = Path(__file__).resolve().parent.parent
PAGES = 5_000
LINKS = 15
_TEXT = "and it goes on with some plain words of the kind that pages of a website have "
_HEAD = (
    "HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Mon, 16 Nov 2026 19:00:00 GMT\r\n"
    'Content-Type: text/html; charset=utf-8\r\nETag: "abc"\r\nContent-Length: {}\r\n\r\n'
)
_MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Times(msgspec.Struct):
    """Of one port, in seconds."""

    asked: list[float] = []
    answered: list[float] = []


class Websites:
    def __init__(self, process: subprocess.Popen[bytes], ports: list[int]) -> None:
        self._process = process
        self.urls = [f"http://127.0.0.1:{port}/" for port in ports]

    @property
    def pid(self) -> int:
        return self._process.pid

    def times(self) -> list[Times]:
        """Ends it. When requests came and were answered, by port."""
        said, _ = self._process.communicate(b"\n", timeout=60)
        return msgspec.json.decode(said, type=list[Times])


@contextmanager
def serving(ports: int = 1) -> Iterator[Websites]:
    command = [sys.executable, "-m", "bench.websites", str(ports)]
    with subprocess.Popen(
        command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout
        try:
            yield Websites(server, msgspec.json.decode(server.stdout.readline(), type=list[int]))
        finally:
            server.kill()


def apart(measured: int, others: list[int]) -> None:
    """Gives one process a core of its own, and the others the rest, where the system can."""
    if sys.platform != "linux" or psutil.cpu_count() == 1:
        return
    first, *rest = psutil.Process().cpu_affinity()
    psutil.Process(measured).cpu_affinity([first])
    for one in others:
        psutil.Process(one).cpu_affinity(rest)


def _page(number: int, chance: random.Random) -> bytes:
    children = [2 * number + 1, 2 * number + 2]
    linked = [*children, *(chance.randrange(PAGES) for _ in range(LINKS - 2))]
    rows = "".join(
        f"<div class=row><p>{(_TEXT * 3)[chance.randrange(200) :]}"
        f' <a href="{_path(one % PAGES)}">Page {one}</a></p></div>\n'
        for one in linked
    )
    head = f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>Page {number}</title></head>'
    body = f"{head}<body><h1>Page {number}</h1>{rows}</body></html>".encode()
    return _HEAD.format(len(body)).encode() + body


def _pages() -> dict[bytes, bytes]:
    chance = random.Random(13)
    return {_path(number).encode(): _page(number, chance) for number in range(PAGES)}


def _path(number: int) -> str:
    return f"/page/{number}.html" if number else "/"


class _Connection(asyncio.Protocol):
    def __init__(self, pages: dict[bytes, bytes], times: Times) -> None:
        self._pages, self._times = pages, times
        self._now = asyncio.get_running_loop().time

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._times.asked.append(self._now())
        self._transport.write(self._pages.get(data.split(b" ", 2)[1], _MISSING))
        self._times.answered.append(self._now())


async def _serve(ports: int) -> None:
    loop = asyncio.get_running_loop()
    pages, times = _pages(), [Times() for _ in range(ports)]
    servers = [
        await loop.create_server(lambda each=each: _Connection(pages, each), "127.0.0.1", 0)  # type: ignore[misc]
        for each in times
    ]
    used = [server.sockets[0].getsockname()[1] for server in servers]
    print(msgspec.json.encode(used).decode(), flush=True)
    asked = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), asked.set)
    await asked.wait()
    print(msgspec.json.encode(times).decode(), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
