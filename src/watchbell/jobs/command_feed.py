"""Sends agents the commands of their servers, whenever these change, and the commands that people
run on a server now."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec

from watchbell.fleet import command_requests, records
from watchbell.fleet.keys import Fleet
from watchbell.fleet.messages import RunEachMinute, RunOnce
from watchbell.jobs import definitions, monitor_commands
from watchbell.jobs.agent_session import AgentSession
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Plugin
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.live import Gap, Message, listen

if TYPE_CHECKING:
    from watchbell.fleet.model import Command

T = TypeVar("T")

_AT_ONCE = 500
"""Servers that one call asks for."""


class CommandFeed:
    def __init__(self, store: Store, sessions: Mapping[str, AgentSession]) -> None:
        """`sessions`: by server, kept current by its owner."""
        self._store, self._sessions = store, sessions
        self._plugins: list[Plugin] = []
        self._sent: dict[str, tuple[AgentSession, tuple[Command, ...]]] = {}
        self._changed: set[str] = set()
        """Servers that may run other commands now."""
        self._asked: set[str] = set()
        self._is_stale = True
        """Whether plugins may have changed."""
        self._stirred = asyncio.Event()

    def connected(self, server: str) -> None:
        self._changed.add(server)
        self._asked.add(server)
        self._stirred.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(enduring(self._follow, "web", "agents: follow commands"))
            group.create_task(self._work())

    async def _follow(self) -> None:
        jobs, fleet = Jobs(self._store.prefix), Fleet(self._store.prefix)
        plugins, servers, asked = jobs.changes(), fleet.changes(), fleet.command_channel()
        async with aclosing(listen(self._store, plugins, servers, asked)) as messages:
            async for item in messages:
                if isinstance(item, Gap):
                    self._is_stale = True
                    self._asked |= self._sessions.keys()
                elif item.channel == plugins:
                    self._is_stale = self._is_stale or _is_plugin(item)
                elif (server := item.body.decode(errors="replace")) in self._sessions:
                    (self._asked if item.channel == asked else self._changed).add(server)
                self._stirred.set()

    async def _work(self) -> None:
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            if self._is_stale:
                self._is_stale = False
                self._plugins = await self._calling(self._read_plugins)
                self._changed |= self._sessions.keys()
            changed, self._changed = self._changed, set()
            asked, self._asked = self._asked, set()
            await self._send_commands(sorted(changed & self._sessions.keys()))
            await self._pass_on(sorted(asked & self._sessions.keys()))

    async def _read_plugins(self) -> list[Plugin]:
        found = await definitions.every(self._store, "plugin")
        return [one for one in found.values() if isinstance(one, Plugin)]

    async def _send_commands(self, servers: list[str]) -> None:
        if not servers:
            return
        known = await self._calling(partial(records.some_servers, self._store, servers))
        for server in servers:
            session = self._sessions.get(server)
            if session is None or server not in known:
                continue
            session.server = known[server]
            commands = monitor_commands.of_server(self._plugins, known[server].groups)
            before, sent = self._sent.get(server, (None, ()))
            # An agent keeps its commands while it is not connected.
            if before is not session or sent != commands:
                self._sent[server] = session, commands
                session.send(RunEachMinute(commands=commands))
        for gone in self._sent.keys() - self._sessions.keys():
            del self._sent[gone]

    async def _pass_on(self, servers: list[str]) -> None:
        for first in range(0, len(servers), _AT_ONCE):
            some = servers[first : first + _AT_ONCE]
            taken = await self._calling(partial(command_requests.take, self._store, some))
            for server, requests in taken.items():
                for request in requests:
                    self._pass(server, request)

    def _pass(self, server: str, request: command_requests.Request) -> None:
        session = self._sessions.get(server)
        if session is not None:
            session.send(RunOnce(request=request.id, command=request.command))

    async def _calling(self, call: Callable[[], Awaitable[T]]) -> T:
        return await enduring(lambda: patiently(call), "web", "agents: commands")


def _is_plugin(message: Message) -> bool:
    try:
        return msgspec.json.decode(message.body, type=dict[str, str]).get("kind") == "plugin"
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
