"""A server that sends exactly the bytes it was given, on loopback."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress

from tests.listening import listening
from tests.servers import HOST

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class WireServer:
    """Its pages are raw responses by path; a connection ends after those in `closing`, or where
    a path has no page. `talks` take over the connection after the request."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.closing: set[str] = set()
        self.talks: dict[str, Talk] = {}
        self.requests: list[bytes] = []
        self.connections = 0
        self.open = 0
        self.port = 0
        self.scheme = "http"
        self.names: list[str | None] = []
        """The names that clients of TLS asked for."""

    def url(self, path: str, host: str = HOST) -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._answered(reader, writer):
                    pass
        finally:
            self.open -= 1
            writer.transport.abort()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        raw = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(raw)
        path = raw.split(b" ", 2)[1].decode()
        if path in self.talks:
            await self.talks[path](reader, writer)
            return False
        if path not in self.pages:
            return False
        writer.write(self.pages[path])
        await writer.drain()
        if path in self.closing:
            writer.close()
            await writer.wait_closed()
            return False
        return True


@asynccontextmanager
async def serving(
    pages: Mapping[str, bytes] | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[WireServer]:
    site = WireServer()
    site.pages.update(pages or {})
    if tls:
        site.scheme = "https"

        def note(_socket: object, name: str | None, _context: object) -> None:
            site.names.append(name)

        tls.sni_callback = note
    async with listening(site.serve, HOST, tls) as site.port:
        yield site


def page(body: bytes, *headers: str, status: str = "200 OK", version: str = "1.1") -> bytes:
    """An ordinary response with a Content-Length."""
    lines = [f"HTTP/{version} {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def chunked(*pieces: bytes, trailers: bytes = b"") -> bytes:
    framed = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%b0\r\n%b\r\n" % (
        framed,
        trailers,
    )
