"""Fetches a file or a directory listing by FTP, in passive mode."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from watchbell.archive.fetching import ftp_listing
from watchbell.archive.fetching.connection import refusal
from watchbell.archive.fetching.model import FetchFailed, Limits, Truncation, unstored
from watchbell.archive.fetching.spool import Spool
from watchbell.archive.fetching.target import Target

_LONGEST_LINE = 4_096
_MOST_LINES = 200
_MOST_TRANSCRIPT = 65_536
_MOST_LISTING = 10 << 20
_PIECE = 1 << 16
_REPLY = re.compile(rb"(\d{3})([ -]).*", re.DOTALL)
_EXTENDED_PORT = re.compile(r"\((.)\1\1(\d{1,5})\1\)")
_PASSIVE_PORT = re.compile(r"\d+,\d+,\d+,\d+,(\d{1,3}),(\d{1,3})")
_BAD = re.compile(rb"[\x00\r\n]")


class Transfer(Struct):
    """What came of one URL."""

    spool: Spool
    lines: list[str]
    """Commands and replies."""
    status: int = 0
    is_listing: bool = False
    truncated: Truncation = ""
    failure: FetchFailed | None = None

    @property
    def transcript(self) -> str:
        return "\n".join(self.lines)[:_MOST_TRANSCRIPT]

    def links(self, url: str) -> tuple[str, ...]:
        """Those of a listing of this URL's folder."""
        if not self.is_listing:
            return ()
        return tuple(ftp_listing.links(self.spool.read(0, _MOST_LISTING), url))


class Reply(Struct, frozen=True):
    code: int
    text: str


async def transfer(to: Target, address: str, limits: Limits, spool: Spool) -> Transfer:
    """Gets the file, or the listing of the folder, from a server at this address. Failures are in
    the result."""
    result = Transfer(spool, [])
    try:
        async with asyncio.timeout(limits.total):
            async with _opened(address, to.port, limits) as (reader, writer):
                session = _Session(reader, writer, address, limits, result)
                await session.run(to)
    except FetchFailed as failure:
        result.failure = failure
    except TimeoutError:
        result.failure = FetchFailed(f"not complete after {limits.total:g} s", truncated="time")
    except (OSError, EOFError) as error:
        words = getattr(error, "strerror", "") or "closed by the server"
        result.failure = FetchFailed(f"FTP: connection lost: {words}", is_retryable=True)
    if result.failure and spool.size:
        result.truncated = result.failure.truncated or "disconnect"
    return result


class _Session:
    """One control connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        address: str,
        limits: Limits,
        result: Transfer,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._address, self._limits, self._result = address, limits, result

    async def run(self, to: Target) -> None:
        path = _path(to)
        self._check(await self._reply(), 220)
        await self._log_in(to)
        self._check(await self._ask(b"TYPE I"), 200)
        if path and not path.endswith(b"/"):
            refused = await self._retrieve(b"RETR " + path)
            if refused is None:
                return
            if refused.code != 550:
                self._check(refused)
        if path:
            self._check(await self._ask(b"CWD " + (path.rstrip(b"/") or b"/")), 200, 250)
        self._result.is_listing = True
        refused = await self._retrieve(b"MLSD")
        if refused is not None:
            refused = await self._retrieve(b"LIST")
        if refused is not None:
            self._check(refused)

    async def _log_in(self, to: Target) -> None:
        user = unquote_to_bytes(to.user) or b"anonymous"
        password = unquote_to_bytes(to.password) or b"anonymous@"
        reply = await self._ask(b"USER " + user)
        if reply.code in (331, 332):
            reply = await self._ask(b"PASS " + password, b"PASS ****")
        self._check(reply, 230, 202)

    async def _retrieve(self, command: bytes) -> Reply | None:
        """Runs a command whose answer comes over a connection of its own. The reply, if it was
        refused before."""
        port = await self._passive_port()
        async with _opened(self._address, port, self._limits) as (reader, _):
            reply = await self._ask(command)
            if reply.code not in (125, 150):
                if 200 <= reply.code < 300:
                    raise FetchFailed(f"FTP: unexpected reply {reply.text}")
                return reply
            await self._receive(reader)
        if self._result.truncated:
            return None
        self._check(await self._reply(), 226, 250)
        return None

    async def _passive_port(self) -> int:
        """Only the port: an address in the reply could lead us to somebody else's server."""
        reply = await self._ask(b"EPSV")
        found = _EXTENDED_PORT.search(reply.text) if reply.code == 229 else None
        if found:
            return int(found[2])
        reply = await self._ask(b"PASV")
        found = _PASSIVE_PORT.search(reply.text) if reply.code == 227 else None
        if not found:
            self._check(reply)
            raise FetchFailed(f"FTP: no port in {reply.text}")
        return int(found[1]) * 256 + int(found[2])

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        spool, limits = self._result.spool, self._limits
        is_over = False
        while not is_over:
            before = spool.size
            try:
                async with asyncio.timeout(limits.stall):
                    await self._read_all(reader)
                    is_over = True
            except TimeoutError:
                if spool.size - before < limits.stall_size:
                    least = f"{limits.stall_size:,} bytes within {limits.stall:g} s"
                    error = f"fewer than {least}"
                    raise FetchFailed(error, is_retryable=True, truncated="time") from None

    async def _read_all(self, reader: asyncio.StreamReader) -> None:
        spool = self._result.spool
        while piece := await reader.read(_PIECE):
            room = self._limits.size - spool.size
            try:
                spool.write(piece[:room])
            except OSError as error:
                raise unstored(error) from None
            if len(piece) > room:
                self._result.truncated = "length"
                return

    async def _ask(self, command: bytes, shown: bytes = b"") -> Reply:
        if _BAD.search(command):
            raise FetchFailed("the URL has a line break")
        self._result.lines.append(f"> {(shown or command).decode('latin-1')}")
        self._writer.write(command + b"\r\n")
        return await self._reply()

    async def _reply(self) -> Reply:
        try:
            async with asyncio.timeout(self._limits.head):
                reply = await self._read_reply()
        except TimeoutError:
            error = f"no reply within {self._limits.head:g} s"
            raise FetchFailed(error, is_retryable=True) from None
        self._result.status = reply.code
        return reply

    async def _read_reply(self) -> Reply:
        """The last line of a reply tells its code; lines before it are for people."""
        for _ in range(_MOST_LINES):
            try:
                line = (await self._reader.readuntil(b"\n")).rstrip(b"\r\n")
            except asyncio.LimitOverrunError:
                raise FetchFailed("FTP: a line without an end") from None
            text = line[:_LONGEST_LINE].decode("latin-1")
            self._result.lines.append(f"< {text}")
            found = _REPLY.fullmatch(line)
            if found and found[2] == b" ":
                return Reply(int(found[1]), text)
        raise FetchFailed("FTP: a reply without an end")

    def _check(self, reply: Reply, *expected: int) -> None:
        if reply.code not in expected:
            is_retryable = 400 <= reply.code < 500
            raise FetchFailed(f"FTP: {reply.text[:200]}", is_retryable=is_retryable)


@asynccontextmanager
async def _opened(
    address: str, port: int, limits: Limits
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    try:
        async with asyncio.timeout(limits.connect):
            opened = await asyncio.open_connection(address, port, limit=_PIECE)
    except TimeoutError:
        error = f"no connection within {limits.connect:g} s"
        raise FetchFailed(error, is_retryable=True) from None
    except OSError as error:
        raise FetchFailed(refusal(error), is_retryable=True) from None
    try:
        yield opened
    finally:
        opened[1].transport.abort()


def _path(to: Target) -> bytes:
    """From the folder that a user begins in; the root of the disk is `%2F`."""
    path = to.path.partition("?")[0].removeprefix("/")
    return unquote_to_bytes(re.sub(r";type=[a-zA-Z]$", "", path))
