"""All agents that are connected to this process: admits them, wakes them for orders, and writes
their heartbeats, samples and usage together, once a second."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from watchbell import ids, logs
from watchbell.clock import Clock
from watchbell.errors import NotFound, Refused, StoreUnavailable
from watchbell.fleet import joining, presence, samples, servers, tokens
from watchbell.fleet.joining import REVOKED, Arrival
from watchbell.fleet.keys import Fleet
from watchbell.fleet.messages import Hello, Renewed, Welcome, encode
from watchbell.fleet.model import AgentToken, Link, Server
from watchbell.fleet.presence import Beat, Loss
from watchbell.jobs import server_jobs, usages
from watchbell.jobs.agent_session import (
    REPLACED,
    AgentSession,
    Connection,
    LinkClosed,
    SessionOver,
    Wishes,
    decoded_hello,
    refuse,
)
from watchbell.jobs.command_feed import CommandFeed
from watchbell.jobs.gathered_samples import Gathered
from watchbell.jobs.orders import SessionLost
from watchbell.jobs.reconcile import reconcile
from watchbell.jobs.sample_evaluator import SampleEvaluator
from watchbell.jobs.usages import Used
from watchbell.settings import Jobs as Settings
from watchbell.store.client import CLIENT_ERRORS, Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.live import Gap, listen

T = TypeVar("T")

ROUND = 1.0
"""Seconds between two rounds over all sessions."""
HELLO_SECONDS = 15.0
SAMPLE_SECONDS = 5.0
_SILENT_BEATS = 4
"""Heartbeats without a message after which a connection is closed."""
_REASONS: dict[Loss, str] = {
    "replaced": REPLACED,
    "revoked": "the token was revoked",
}


class Visitor(Struct, frozen=True):
    """Who connects."""

    token: AgentToken
    address: str


class AgentHub:
    def __init__(
        self,
        store: Store,
        settings: Settings,
        clock: Clock,
        base_url: str,
        evaluator: SampleEvaluator,
    ) -> None:
        self._evaluator = evaluator
        self._store, self._settings, self._clock = store, settings, clock
        self._base_url = base_url
        self._process = ids.process_name()
        self.sessions: dict[str, AgentSession] = {}
        """By server."""
        self._is_running = False
        self._last_wishes: dict[str, tuple[Server, Wishes]] = {}
        """By server: what the agent of a session that has ended sent since the round before."""
        self._commands = CommandFeed(store, self.sessions)
        self._arriving = asyncio.Lock()
        self._unchecked: set[str] = set()
        self._stirred = asyncio.Event()

    # One connection.

    async def serve(self, connection: Connection, visitor: Visitor) -> None:
        """A connection of an agent, until it ends."""
        messages, session = aiter(connection), None
        try:
            hello = await _greeting(messages)
            session = await self._admitted(connection, visitor, hello)
            await connection.send(encode(await self._welcome(session, hello)))
            self._commands.connected(session.server.id)
            await session.run(messages)
        except LinkClosed:
            pass
        except Refused as error:
            is_final = error.code == REVOKED
            await refuse(connection, SessionOver(error.reason, is_final=is_final))
        except SessionOver as over:
            await refuse(connection, over)
        except (SessionLost, StoreUnavailable) as error:
            await refuse(connection, SessionOver(str(error)))
        finally:
            if session is not None:
                await self._dismiss(session)

    async def _admitted(
        self, connection: Connection, visitor: Visitor, hello: Hello
    ) -> AgentSession:
        now = self._clock.now()
        arrival = Arrival(
            hostname=hello.hostname, info=hello.info, address=visitor.address, now=int(now)
        )
        async with self._arriving:  # many at once would each find that another was quicker
            server, token = await joining.arrive(self._store, visitor.token.id, arrival)
        link = Link(
            session=ids.token(),
            process=self._process,
            since=round(now, 3),
            address=visitor.address,
            boot=hello.boot[:100],
        )
        session = AgentSession(
            *(self._store, connection, server, link, token, self._base_url),
            self._clock.monotonic,
        )
        if not await presence.connect(self._store, server.id, link, self._settings.down_after):
            logs.get(role="web").warning(
                "a second agent wants to connect as this server",
                hostname=server.hostname,
                address=visitor.address,
            )
            raise Refused(f"another agent is connected as {server.hostname}")
        self._register(session)
        return session

    async def _welcome(self, session: AgentSession, hello: Hello) -> Welcome:
        server, link, now = session.server, session.link, self._clock.now()
        stored = await server_jobs.read(self._store, server.id)
        found = reconcile(hello.jobs, stored, link.boot)
        label = servers.label(server)
        await server_jobs.settle(self._store, server.id, link.session, found, stored, label, now)
        settings = self._settings
        return Welcome(
            server=server.id,
            token=await self._new_token(session, int(now)),
            heartbeat=settings.heartbeat,
            lost_after=settings.lost_after,
            kill_after=settings.kill_after,
            sample_every=SAMPLE_SECONDS,
            log_limit=settings.log_limit << 20,
            file_limit=settings.file_limit << 20,
            acknowledged=found.acknowledged,
            drop=found.drop,
            now=now,
        )

    async def _new_token(self, session: AgentSession, now: int) -> str:
        """Empty if the agent keeps the one it has."""
        if not tokens.is_replaced(session.token, now):
            return ""
        try:
            text, session.following = await tokens.rotate(self._store, session.token.id, now)
        except NotFound as error:
            raise Refused(str(error), code=REVOKED) from None
        return text

    def _register(self, session: AgentSession) -> None:
        before = self.sessions.get(session.server.id)
        self.sessions[session.server.id] = session
        if before is not None:
            before.end(REPLACED)
        logs.get(role="web").info("agent connected", hostname=session.server.hostname)

    async def _dismiss(self, session: AgentSession) -> None:
        server = session.server.id
        if self.sessions.get(server) is session:
            del self.sessions[server]
        if not session.is_over_for_good:
            self._last_wishes[server] = session.server, session.wishes
        logs.get(role="web").info("agent disconnected", hostname=session.server.hostname)
        with suppress(StoreUnavailable, *CLIENT_ERRORS):  # it counts as down a little later then
            await presence.disconnect(self._store, server, session.link.session)

    # All connections.

    def start(self, begin: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        """Begins the loops by `begin`, unless they run."""
        if not self._is_running:
            self._is_running = True
            begin(self.run())

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            loops = (self._listen(), self._beats(), self._records())
            for loop in (*loops, self._commands.run(), self._evaluator.run()):
                group.create_task(loop)

    async def _listen(self) -> None:
        keys = Fleet(self._store.prefix)
        changes = keys.changes()
        async with aclosing(listen(self._store, keys.orders_channel(), changes)) as messages:
            async for item in messages:
                if isinstance(item, Gap):
                    self._unchecked |= self.sessions.keys()
                    self._stirred.set()
                    for session in self.sessions.values():
                        session.wake()
                    continue
                server = item.body.decode(errors="replace")
                found = self.sessions.get(server)
                if found is None:
                    continue
                if item.channel == changes:
                    self._unchecked.add(server)
                    self._stirred.set()
                else:
                    found.wake()

    async def _beats(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(ROUND):
                    await self._stirred.wait()
            self._stirred.clear()
            self._end_silent()
            await self._beat()

    async def _records(self) -> None:
        while True:
            await asyncio.sleep(ROUND)
            await self._record()

    def _end_silent(self) -> None:
        limit = self._clock.monotonic() - self._settings.heartbeat * _SILENT_BEATS
        for session in list(self.sessions.values()):
            if session.last_message < limit:
                session.end("the agent sent nothing for too long")

    async def _beat(self) -> None:
        """Marks the servers as seen that have sent a heartbeat, and answers them."""
        unchecked, self._unchecked = self._unchecked, set()
        due = [
            one
            for server, one in self.sessions.items()
            if one.wishes.renew is not None or server in unchecked
        ]
        if not due:
            return
        renewals = [(one, one.wishes.renew) for one in due]
        for one in due:
            one.wishes.renew = None
        beats = [Beat(one.server.id, one.link.session, one.token.id) for one in due]
        losses = await self._calling("heartbeats", partial(presence.beat, self._store, beats))
        asked = {one.server.id: renew.jobs for one, renew in renewals if renew and renew.jobs}
        over = (
            await self._calling("renewals", partial(server_jobs.over, self._store, asked))
            if asked
            else {}
        )
        for (one, renew), beat, loss in zip(renewals, beats, losses, strict=True):
            if loss == "revoked" and beat.token != one.token.id:
                # The agent has confirmed its next token meanwhile, which ended this one.
                one.wishes.renew = one.wishes.renew or renew
                self._unchecked.add(one.server.id)
                self._stirred.set()
            elif loss is not None:
                one.end(_REASONS[loss], is_final=loss == "revoked")
            elif renew is not None:
                one.send(Renewed(number=renew.number, over=over.get(one.server.id, ())))

    async def _record(self) -> None:
        now = self._clock.now()
        gathered, used = Gathered(), list[Used]()
        for server, wishes in self._taken_wishes():
            gathered.add(server, wishes, now)
            if wishes.usages is not None:
                used += [Used(server.id, one, now) for one in wishes.usages.usages]
        if gathered:
            await self._calling("samples", partial(gathered.record, self._store))
        for one, full in gathered.full:
            values = samples.expression_values(samples.as_data(full))
            self._evaluator.add(one.id, now, values)
        if used:
            await self._calling("usage", partial(usages.record, self._store, used))

    def _taken_wishes(self) -> list[tuple[Server, Wishes]]:
        """Of each session what its agent has sent since the round before, those that have ended
        since then first."""
        taken = list(self._last_wishes.values())
        self._last_wishes.clear()
        for session in self.sessions.values():
            taken.append((session.server, session.wishes))
            session.wishes = Wishes(renew=session.wishes.renew)
        return taken

    async def _calling(self, task: str, call: Callable[[], Awaitable[T]]) -> T:
        return await enduring(lambda: patiently(call), "web", f"agents: {task}")


async def _greeting(messages: AsyncIterator[bytes]) -> Hello:
    try:
        async with asyncio.timeout(HELLO_SECONDS):
            raw = await anext(messages, None)
    except TimeoutError:
        raise SessionOver("no greeting came") from None
    if raw is None:
        raise LinkClosed
    return decoded_hello(raw)
