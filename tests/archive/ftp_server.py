"""A small FTP server on loopback, as good or bad as a test wants it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from tests.listening import listening
from tests.servers import HOST

Send = Callable[[asyncio.StreamWriter], Awaitable[None]]


class FtpServer:
    def __init__(self) -> None:
        self.port = 0
        self.open = 0
        self.commands: list[str] = []
        self.files: dict[str, bytes] = {}
        self.listings: dict[str, dict[str, bytes]] = {}
        """By folder, by command."""
        self.replies: dict[str, str] = {}
        """What is answered in place of carrying out a command."""
        self.send: Send | None = None
        """Takes over the data connection."""
        self.end = "226 Done"
        self._folder = ""
        self._writers: list[asyncio.StreamWriter] = []
        self._servers: list[asyncio.Server] = []
        self._data: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()

    def url(self, path: str) -> str:
        return f"ftp://{HOST}:{self.port}/{path}"

    def close(self) -> None:
        for server in self._servers:
            server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self._folder = ""
        try:
            with suppress(ConnectionError):
                writer.write(b"220-Welcome\r\n220-to the tests\r\n220 Ready\r\n")
                while line := await reader.readline():
                    self.commands.append(line.decode("latin-1").rstrip("\r\n"))
                    await self._carry_out(self.commands[-1], writer)
        finally:
            self.open -= 1
            writer.transport.abort()

    async def _carry_out(self, command: str, writer: asyncio.StreamWriter) -> None:
        name, _, argument = command.partition(" ")
        if name in self.replies:
            writer.write(f"{self.replies[name]}\r\n".encode())
        elif name in ("EPSV", "PASV"):
            writer.write(await self._listen(name))
        elif name == "RETR":
            await self._transfer(writer, self.files.get(argument))
        elif name in ("MLSD", "LIST"):
            await self._transfer(writer, self.listings[self._folder].get(name))
        elif name == "CWD":
            is_there = argument in self.listings
            self._folder = argument if is_there else ""
            writer.write(b"250 Moved\r\n" if is_there else b"550 No such folder\r\n")
        else:
            code = {"USER": 331, "PASS": 230, "TYPE": 200}.get(name, 502)
            writer.write(f"{code} {name}\r\n".encode())

    async def _listen(self, name: str) -> bytes:
        def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._writers.append(writer)
            self._data.put_nowait(writer)

        server = await asyncio.start_server(accept, HOST, 0)
        self._servers.append(server)
        port = server.sockets[0].getsockname()[1]
        if name == "EPSV":
            return f"229 Extended (|||{port}|)\r\n".encode()
        # The address is somebody else's.
        return f"227 Passive (192,0,2,1,{port // 256},{port % 256})\r\n".encode()

    async def _transfer(self, writer: asyncio.StreamWriter, content: bytes | None) -> None:
        data = await self._data.get()
        if content is None:
            writer.write(b"550 No such file\r\n")
        else:
            writer.write(b"150 Here it comes\r\n")
            if self.send:
                await self.send(data)
            data.write(content)
            with suppress(ConnectionError):
                await data.drain()
            data.close()
            writer.write(f"{self.end}\r\n".encode())
        data.close()


@asynccontextmanager
async def serving_ftp() -> AsyncIterator[FtpServer]:
    site = FtpServer()
    async with listening(site.serve, HOST) as site.port:
        try:
            yield site
        finally:
            site.close()
