"""The other end of an agent's link: a real server that remembers what it got.

It can stall, cut connections, hold back acknowledgements, and forget jobs. Uploads go to the same
port, as with the real server.
"""

import asyncio
import shlex
import ssl
from contextlib import suppress
from typing import Any, Self, TypeVar
from urllib.parse import parse_qs, urlsplit

import msgspec
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from tests.waiting import eventually
from watchbell.clock import SYSTEM, Clock
from watchbell.fleet import messages
from watchbell.fleet.messages import (
    Acks,
    Body,
    Changes,
    FromAgent,
    Hello,
    Launch,
    Leaving,
    LimitReached,
    MachineSampled,
    Order,
    Output,
    RanOnce,
    Refusal,
    Renew,
    Renewed,
    Reports,
    Result,
    Sampled,
    Started,
    ToAgent,
    Usages,
    Welcome,
)

TOKEN = "a token to join with"
T = TypeVar("T")


class SeenJob:
    """What a server knows of a job."""

    def __init__(self) -> None:
        self.reports: list[Body] = []
        self.repeated = 0

    def apply(self, n: int, body: Body) -> None:
        if n <= len(self.reports):
            assert self.reports[n - 1] == body, "a report was repeated with another content"
            self.repeated += 1
            return
        assert n == len(self.reports) + 1, f"report {n} follows {len(self.reports)}"
        self.reports.append(body)

    def of(self, kind: type[T]) -> list[T]:
        return [one for one in self.reports if isinstance(one, kind)]

    @property
    def log(self) -> bytes:
        return b"".join(one.text for one in self.of(Output))

    @property
    def values(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for one in self.of(Changes):
            found |= one.values
        return found

    @property
    def activity(self) -> list[str]:
        lines = [line for one in self.of(Changes) for line in one.activity]
        return lines + [line for one in self.of(Result) for line in one.activity]

    @property
    def result(self) -> Result | None:
        return next(iter(self.of(Result)), None)

    @property
    def started(self) -> list[Started]:
        return self.of(Started)

    @property
    def limits(self) -> list[LimitReached]:
        return self.of(LimitReached)


class LinkServer:
    def __init__(self, clock: Clock = SYSTEM, **welcome: Any) -> None:
        self._clock = clock
        self.welcome = {"server": "s1", "heartbeat": 0.2, "kill_after": 2.0, **welcome}
        self.tls: ssl.SSLContext | None = None
        self.jobs: dict[str, SeenJob] = {}
        self.hellos: list[Hello] = []
        self.tokens: list[str] = []
        """The tokens of connections, in order."""
        self.usages: list[Usages] = []
        self.samples: list[Sampled] = []
        self.machines: list[MachineSampled] = []
        self.ran: list[RanOnce] = []
        self.renewals: list[Renew] = []
        self.departures = 0
        self.confirmed: list[bool] = []
        """What second greetings say about the new token."""
        self.uploads: dict[tuple[str, str], bytes] = {}
        self.downloads: dict[str, bytes] = {}
        self.refusal: Refusal | None = None
        self.refused_uploads: list[int] = []
        """Answers to the next uploads."""
        self.over: set[str] = set()
        """Jobs that are over as far as this server knows."""
        self.first: list[ToAgent] = []
        """Sent to each agent at once after the welcome."""
        self.acknowledges = True
        self.renews = True
        self.errors: list[str] = []
        self.flows = asyncio.Event()
        """Cleared: no byte passes, in either direction."""
        self.flows.set()
        self._connections: set[ServerConnection] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await serve(
            self._converse,
            "127.0.0.1",
            0,
            process_request=self._check,
            compression=None,
            max_size=None,
            ping_interval=None,
        )
        self._inner = self._server.sockets[0].getsockname()[1]
        self._front = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._front.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.flows.set()
        self._front.close()
        self.cut()
        self._server.close()
        await self._server.wait_closed()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks) if self._tasks else None
        assert not self.errors, self.errors

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://localhost:{self.port}"

    def job(self, job: str) -> SeenJob:
        return self.jobs.setdefault(job, SeenJob())

    def cut(self) -> None:
        """Cuts all connections, without a goodbye."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def send(self, message: ToAgent) -> None:
        await eventually(lambda: self._connections, why="a connection of the agent")
        for connection in list(self._connections):
            with suppress(ConnectionClosed):
                await connection.send(messages.encode(message))

    async def launch(self, *orders: Order) -> None:
        await self.send(Launch(orders=orders))

    async def ended(self, job: str) -> SeenJob:
        await eventually(lambda: self.job(job).result or self.errors, why=f"the end of {job}")
        return self.job(job)

    def _check(self, _: ServerConnection, request: Request) -> Response | None:
        self.tokens.append(request.headers.get("Authorization", "").removeprefix("Bearer "))
        return None

    async def _converse(self, connection: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            hello = messages.from_agent.decode(await connection.recv(decode=False))
            assert isinstance(hello, Hello)
            self.hellos.append(hello)
            if self.refusal:
                await connection.send(messages.encode(self.refusal))
                return
            known = [one.id for one in hello.jobs]
            welcome = Welcome(
                now=self._clock.now(),
                **self.welcome,
                acknowledged={job: len(self.job(job).reports) for job in known},
                drop=tuple(job for job in known if job in self.over),
            )
            for message in (welcome, *self.first):
                await connection.send(messages.encode(message))
            self._connections.add(connection)
            try:
                while True:
                    content = await connection.recv(decode=False)
                    await self._handle(connection, messages.from_agent.decode(content))
            finally:
                self._connections.discard(connection)

    async def _handle(self, connection: ServerConnection, message: FromAgent) -> None:
        match message:
            case Reports(reports=reports):
                await self._apply(connection, reports)
            case Renew(number=number, jobs=jobs):
                self.renewals.append(message)
                if self.renews:
                    over = tuple(job for job in jobs if job in self.over)
                    await connection.send(messages.encode(Renewed(number=number, over=over)))
            case Hello():
                self.confirmed.append(message.has_stored)
            case _:
                self._remember(message)

    def _remember(self, message: FromAgent) -> None:
        match message:
            case Usages():
                self.usages.append(message)
            case Sampled():
                self.samples.append(message)
            case MachineSampled():
                self.machines.append(message)
            case RanOnce():
                self.ran.append(message)
            case Leaving():
                self.departures += 1

    async def _apply(
        self, connection: ServerConnection, reports: tuple[messages.Report, ...]
    ) -> None:
        last = {}
        for report in reports:
            try:
                self.job(report.job).apply(report.n, report.body)
            except AssertionError as error:
                self.errors.append(f"{report.job}: {error}")
            last[report.job] = len(self.job(report.job).reports)
        if self.acknowledges:
            drop = tuple(job for job in last if job in self.over)
            await connection.send(messages.encode(Acks(acknowledged=last, drop=drop)))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                head = await reader.readuntil(b"\r\n\r\n")
                if b"upgrade: websocket" in head.lower():
                    await self._pass_on(head, reader, writer)
                else:
                    await self._transfer(head, reader, writer)
        finally:
            self._writers.discard(writer)
            self._tasks.discard(task)
            writer.close()

    async def _pass_on(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        inner, to_inner = await asyncio.open_connection("127.0.0.1", self._inner)
        to_inner.write(head)

        async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                while content := await source.read(1 << 18):
                    await self.flows.wait()
                    target.write(content)
                    await target.drain()
            target.close()

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(pump(reader, to_inner))
                group.create_task(pump(inner, writer))
        finally:
            to_inner.transport.abort()

    async def _transfer(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        request, *lines = head.decode().split("\r\n")
        method, target, _ = request.split()
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        parts = urlsplit(target)
        job = parts.path.split("/")[-2]
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        status, answer = self._answer(method, job, query, body)
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Length: {len(answer)}\r\n\r\n".encode() + answer
        )
        await writer.drain()

    def _answer(
        self, method: str, job: str, query: dict[str, str], body: bytes
    ) -> tuple[int, bytes]:
        if method == "GET":
            found = self.downloads.get(query["path"])
            return (200, found) if found is not None else (404, b'{"detail": "no such file"}')
        if self.refused_uploads:
            return self.refused_uploads.pop(0), b'{"detail": "not now"}'
        name = query["filename"]
        self.uploads[job, name] = body
        path = f"jobs/{job}/{name}"
        file = {"id": f"f{len(self.uploads)}", "filename": name, "path": path, "size": len(body)}
        return 200, msgspec.json.encode({**file, "job": job, "server": "s1", "date": 0})


def order(job: str, script: str = "", **more: Any) -> Order:
    """A job that runs a script by the shell."""
    secrets = more.pop("secrets", {})
    record = {
        "id": job,
        "event": "e1",
        "state": "active",
        "plugin": "shellplug",
        "command": "watchbell-plugin shell",
        "params": {"script": script},
        **more,
    }
    return Order(job=record, secrets=secrets, base_url="https://watchbell.example.com")


def argv(job: str, *words: str, **more: Any) -> Order:
    """A job that runs a program without a shell."""
    made = order(job, **{"params": {}, **more})
    return msgspec.structs.replace(made, job={**made.job, "command": shlex.join(words)})
