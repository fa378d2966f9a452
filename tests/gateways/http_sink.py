"""A web server that holds requests against what services document, keeps them, and fails in every
way that it is asked for.

`python -m tests.gateways.http_sink --port 8025 --file ids` is the same in a process of its own: it
prints where it listens, and appends the id of each message that it takes to the file.
"""

import argparse
import asyncio
import functools
import os
import ssl
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from aiohttp import web

from tests.gateways.http_services import Received, of
from tests.servers import HOST, Certificates

BIG = 10 << 20
BOMB = 100 << 20
"""Bytes that the bomb would have, were it inflated."""


class Reply(NamedTuple):
    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = MappingProxyType({})


class Sink:
    def __init__(self, file: Path | None = None) -> None:
        self.url = ""
        self.received: list[Received] = []
        """What was asked, the oldest first; in a process of its own nothing is kept."""
        self.problems: list[str] = []
        self.connections: set[object] = set()
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        """What happens while the next answers are on their way."""
        self.otherwise: Reply | None = None
        """How requests are answered that no service of ours knows."""
        self._replies: dict[str, list[Reply]] = {}
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._file = None if file is None else os.open(file, flags, 0o644)

    def reply(self, path: str, *replies: Reply) -> None:
        """How the next requests for a path are answered; all further ones as the last of them."""
        self._replies[path] = list(replies)

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.received]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        got = Received(
            method=request.method,
            path=request.path,
            query=dict(request.query),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.read(),
        )
        if self._file is None:
            self.received.append(got)
            self.connections.add(request.transport)
        if self.meanwhile is not None:
            await self.meanwhile()
        fault, _, rest = request.path.removeprefix("/fault/").partition("/")
        if request.path.startswith("/fault/"):
            return await FAULTS[fault](request, rest)
        replies = self._replies.get(request.path, [])
        reply = replies.pop(0) if len(replies) > 1 else replies[0] if replies else self.otherwise
        if reply is not None:
            return web.Response(status=reply.status, text=reply.body, headers=reply.headers)
        return self._taken(got)

    def _taken(self, got: Received) -> web.Response:
        service = of(got.path)
        if service is None:
            return web.Response(status=404, text="no such page")
        problem = service.complaint(got)
        if problem:
            self.problems.append(f"{got.path}: {problem}")
            return web.Response(status=400, text=problem)
        if self._file is not None:
            os.write(self._file, f"{got.id}\n".encode())
        status, kind, content = service.answer
        return web.Response(status=status, content_type=kind, text=content)


async def _status(request: web.Request, rest: str) -> web.StreamResponse:
    after = request.query.get("after")
    headers = {"Retry-After": after} if after else {}
    return web.Response(status=int(rest), headers=headers, text=f"this is {rest}")


async def _hang(_request: web.Request, _rest: str) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response()


async def _trickle(request: web.Request, _rest: str) -> web.StreamResponse:
    """A header at once, and then a byte now and then, for ever."""
    response = web.StreamResponse(status=int(request.query.get("status", "200")))
    await response.prepare(request)
    while True:
        await response.write(b".")
        await asyncio.sleep(0.02)


async def _big(request: web.Request, _rest: str) -> web.StreamResponse:
    response = web.StreamResponse(status=int(request.query.get("status", "200")))
    await response.prepare(request)
    for _ in range(BIG >> 16):
        await response.write(b"x" * (1 << 16))
    return response


async def _bomb(request: web.Request, _rest: str) -> web.StreamResponse:
    status = int(request.query.get("status", "200"))
    return web.Response(status=status, body=bomb(), headers={"Content-Encoding": "gzip"})


@functools.cache
def bomb() -> bytes:
    """A little that becomes much; made of pieces, so that it takes no room here either."""
    packer = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    piece = bytes(1 << 20)
    return b"".join([*(packer.compress(piece) for _ in range(BOMB >> 20)), packer.flush()])


async def _loop(request: web.Request, _rest: str) -> web.StreamResponse:
    raise web.HTTPTemporaryRedirect(request.path_qs)


async def _hops(_request: web.Request, rest: str) -> web.StreamResponse:
    """So many redirects, and then the hook."""
    left = int(rest)
    raise web.HTTPTemporaryRedirect(f"/fault/hops/{left - 1}" if left > 1 else "/hook")


async def _to(request: web.Request, rest: str) -> web.StreamResponse:
    """A redirect with a status to a URL."""
    return web.Response(status=int(rest), headers={"Location": request.query["url"]})


async def _half(request: web.Request, rest: str) -> web.StreamResponse:
    """The connection ends within the answer."""
    head = f"HTTP/1.1 {rest or 200} Well\r\nContent-Length: 100\r\n\r\nonly this"
    return _said(request, head.encode())


async def _garbage(request: web.Request, _rest: str) -> web.StreamResponse:
    return _said(request, b"220 mail.example.com ESMTP\r\n\r\n")


async def _close(request: web.Request, _rest: str) -> web.StreamResponse:
    """The connection ends before the answer."""
    return _said(request, b"")


def _said(request: web.Request, raw: bytes) -> web.StreamResponse:
    assert isinstance(request.transport, asyncio.Transport)
    if raw:
        request.transport.write(raw)
    request.transport.close()
    return web.Response()


FAULTS: dict[str, Callable[[web.Request, str], Awaitable[web.StreamResponse]]] = {
    "status": _status,
    "hang": _hang,
    "trickle": _trickle,
    "big": _big,
    "bomb": _bomb,
    "loop": _loop,
    "hops": _hops,
    "to": _to,
    "half": _half,
    "garbage": _garbage,
    "close": _close,
}


@asynccontextmanager
async def running(
    port: int = 0,
    *,
    host: str = HOST,
    certificates: Certificates | None = None,
    file: Path | None = None,
) -> AsyncIterator[Sink]:
    sink = Sink(file)
    context = None
    if certificates is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificates.server, certificates.server_key)
    app = web.Application(client_max_size=64 << 20)
    app.router.add_route("*", "/{rest:.*}", sink.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, ssl_context=context, backlog=1_024).start()
        place = runner.addresses[0]
        shown = f"[{place[0]}]" if ":" in place[0] else place[0]
        sink.url = f"{'https' if context else 'http'}://{shown}:{place[1]}"
        yield sink
    finally:
        await runner.cleanup()


async def _serve(port: int, file: Path) -> None:
    async with running(port, file=file) as sink:
        sys.stdout.write(f"{sink.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--file", type=Path, required=True)
    given = parser.parse_args()
    asyncio.run(_serve(given.port, given.file))


if __name__ == "__main__":
    main()
