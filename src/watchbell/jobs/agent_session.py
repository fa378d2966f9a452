"""The connection of one agent: sends it orders, and writes what it reports.

Reports that come while others are written are gathered, and written by one call. They are
acknowledged after that.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct

from watchbell.fleet import command_requests, presence, tokens, validation
from watchbell.fleet.messages import (
    Abort,
    Acks,
    FromAgent,
    Hello,
    Launch,
    Leaving,
    MachineSampled,
    Order,
    RanOnce,
    Refusal,
    Renew,
    Report,
    Reports,
    Sampled,
    ToAgent,
    Usages,
    encode,
    from_agent,
)
from watchbell.fleet.model import AgentToken, Link, Quick, Server
from watchbell.jobs import order_details, orders, reports
from watchbell.jobs.log_backlog import LogBacklog
from watchbell.jobs.orders import SessionLost
from watchbell.probes import probe
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring

T = TypeVar("T")

MOST_BYTES = 4 << 20
"""Bytes of reports that wait to be written, after which no more are read."""
MOST_UNSENT = 1_000
"""Messages that wait to be sent, after which the agent counts as stuck."""
SEND_SECONDS = 30.0
REPLACED = "another connection has taken the place of this one"


class LinkClosed(Exception):
    """The agent is gone."""


class Connection(Protocol):
    def __aiter__(self) -> AsyncIterator[bytes]:
        """Messages, until the other side closes."""

    async def send(self, message: bytes) -> None:
        """Raises LinkClosed."""


class SessionOver(Exception):
    """This side ends the connection."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.is_final = reason, is_final


async def refuse(connection: Connection, over: SessionOver) -> None:
    with suppress(LinkClosed, TimeoutError):
        async with asyncio.timeout(SEND_SECONDS):
            refusal = Refusal(reason=over.reason, is_final=over.is_final)
            await connection.send(encode(refusal))


class Wishes(Struct):
    """What the agent has sent for the next round over all sessions; the latest of each counts."""

    renew: Renew | None = None
    sample: Sampled | None = None
    minute: Sampled | None = None
    usages: Usages | None = None
    machine: MachineSampled | None = None
    quick: tuple[Quick, ...] = ()

    def take(self, message: Sampled | MachineSampled | Usages) -> None:
        match message:
            case Sampled():
                self.quick = (*self.quick, *message.quick)[-validation.MOST_QUICK :]
                sample = validation.sample(message.sample)
                self.sample = msgspec.structs.replace(message, sample=sample, quick=())
                self.minute = self.sample if message.is_minute else self.minute
            case MachineSampled():
                self.machine = message
            case Usages():
                self.usages = message


class AgentSession:
    def __init__(
        self,
        store: Store,
        connection: Connection,
        server: Server,
        link: Link,
        token: AgentToken,
        base_url: str,
        monotonic: Callable[[], float],
    ) -> None:
        self.server = server
        """As it was when it was last read."""
        self.link, self.token = link, token
        self.following: AgentToken | None = None
        """The token that it was given to store."""
        self.wishes = Wishes()
        self._store, self._connection, self._base_url = store, connection, base_url
        self._monotonic, self._backlog = monotonic, LogBacklog(store)
        self.last_message = monotonic()
        """When it came, by the monotonic clock."""
        self._unsent: asyncio.Queue[ToAgent] = asyncio.Queue(MOST_UNSENT)
        self._pending: list[Report] = []
        self._size = 0
        self._has_reports, self._has_room = asyncio.Event(), asyncio.Event()
        self._has_orders = asyncio.Event()
        self._ended: asyncio.Future[SessionOver] = asyncio.get_running_loop().create_future()

    async def run(self, messages: AsyncIterator[bytes]) -> None:
        """Until either side ends it. The caller has received the first message."""
        try:
            async with asyncio.TaskGroup() as group:
                for loop in (self._write(), self._apply(), self._order(), self._end()):
                    group.create_task(loop)
                await self._read(messages)
        except* LinkClosed:
            pass
        except* SessionLost:
            await refuse(self._connection, SessionOver(REPLACED))
        except* SessionOver as raised:
            for over in raised.exceptions:
                if isinstance(over, SessionOver):
                    await refuse(self._connection, over)

    def send(self, message: ToAgent) -> None:
        try:
            self._unsent.put_nowait(message)
        except asyncio.QueueFull:
            self.end("the agent does not read what it is sent")

    def wake(self) -> None:
        """There may be orders."""
        self._has_orders.set()

    def end(self, reason: str, *, is_final: bool = False) -> None:
        if not self._ended.done():
            self._ended.set_result(SessionOver(reason, is_final=is_final))

    @property
    def is_over_for_good(self) -> bool:
        """Whether it was ended because its server or its token is gone."""
        ended = self._ended  # cancelled where nobody ended it
        return ended.done() and not ended.cancelled() and ended.result().is_final

    async def _end(self) -> None:
        raise await self._ended

    async def _write(self) -> None:
        while True:
            await self._sent(await self._unsent.get())

    async def _sent(self, message: ToAgent) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._connection.send(encode(message))
        except TimeoutError:
            raise LinkClosed from None

    async def _read(self, messages: AsyncIterator[bytes]) -> None:
        """Ends by an exception."""
        async for raw in messages:
            self.last_message = self._monotonic()
            await self._take(decoded(raw), len(raw))
        raise LinkClosed

    async def _take(self, message: FromAgent, size: int) -> None:
        match message:
            case Reports():
                await self._take_reports(message, size)
            case Renew():
                self.wishes.renew = message
            case Sampled() | MachineSampled() | Usages():
                self.wishes.take(message)
            case RanOnce():
                answer = partial(command_requests.answer, self._store, message)
                await self._calling("commands", answer)
            case Leaving():
                leave = partial(presence.leave, self._store, self.server.id, self.link)
                await self._calling("leave", leave)
            case Hello():
                await self._confirm(message)

    async def _confirm(self, hello: Hello) -> None:
        """A second greeting says that the agent has stored its new token."""
        if hello.has_stored and self.following:
            self.token, self.following = self.following, None
            await self._calling("tokens", partial(tokens.confirm, self._store, self.token.id))

    async def _take_reports(self, message: Reports, size: int) -> None:
        while self._size >= MOST_BYTES:
            self._has_room.clear()
            await self._has_room.wait()
        self._pending += message.reports
        self._size += size
        self._has_reports.set()

    async def _apply(self) -> None:
        while True:
            await self._has_reports.wait()
            self._has_reports.clear()
            batch, self._pending, self._size = self._pending, [], 0
            self._has_room.set()
            apply = partial(reports.apply, self._store, self.server.id, self.link.session, batch)
            applied = await self._calling("reports", apply)
            probe("jobs.acknowledging")
            self.send(Acks(acknowledged=applied.acknowledged, drop=applied.drop))
            await self._backlog.wait(batch)

    async def _order(self) -> None:
        sent: tuple[bytes, ...] = ()
        while True:
            taken = await self._calling("orders", partial(self._taken, sent))
            sent = taken.texts
            if not sent:
                await self._has_orders.wait()
                self._has_orders.clear()
                continue
            for message in self._messages(taken):
                await self._sent(message)
            probe("jobs.ordered")

    def _taken(self, sent: tuple[bytes, ...]) -> Awaitable[orders.Taken]:
        link = self.link
        return orders.take(self._store, self.server.id, link.session, link.boot, sent)

    def _messages(self, taken: orders.Taken) -> list[ToAgent]:
        found: list[ToAgent] = []
        jobs = [order_details.record(one) for one in taken.orders if one.kind == "launch"]
        if jobs:
            hidden = order_details.secrets(jobs, taken.plugins)
            launched = [
                Order(job=job, secrets=secrets, base_url=self._base_url)
                for job, secrets in zip(jobs, hidden, strict=True)
            ]
            found.append(Launch(orders=tuple(launched)))
        for order in taken.orders:
            if order.kind == "abort":
                reason, retry_ok = order_details.abort(order.reason)
                found.append(Abort(job=order.job, reason=reason, retry_ok=retry_ok))
        return found

    async def _calling(self, task: str, call: Callable[[], Awaitable[T]]) -> T:
        """Waits for the store, and tries again where it blames a key."""
        return await enduring(lambda: patiently(call), "web", f"agents: {task}")


def decoded(raw: bytes) -> FromAgent:
    try:
        message: FromAgent = from_agent.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SessionOver(f"a message was not understood: {error}"[:500]) from None
    return message


def decoded_hello(raw: bytes) -> Hello:
    message = decoded(raw)
    if not isinstance(message, Hello):
        raise SessionOver("expected a greeting as the first message")
    return message
