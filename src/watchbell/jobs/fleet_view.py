"""The fleet as the dispatcher sees it: read once, and then kept current."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

from redis.exceptions import ResponseError

from watchbell.clock import SYSTEM, Clock
from watchbell.errors import StoreUnavailable
from watchbell.fleet import grouping, presence, records, samples
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Group, Sample, Server
from watchbell.fleet.monitoring import alerts
from watchbell.fleet.presence import Presence
from watchbell.jobs.decide.placement import FleetState, ServerState
from watchbell.store import outage
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.live import listen

_EVERY = 1.0
_SAMPLES_EVERY = 5.0
_GATHER = 0.02
"""Seconds for which changes are gathered before the servers are read again."""


class FleetView:
    def __init__(self, store: Store, down_after: float, clock: Clock = SYSTEM) -> None:
        self._store, self._down_after, self._clock = store, down_after, clock
        self.state = FleetState(is_known=False)
        """Replaced by another one when something has changed."""
        self.servers: dict[str, Server] = {}
        self.presence = Presence(0.0, {}, {})
        self._groups: dict[str, Group] = {}
        self._is_known = False
        self._samples: dict[str, Sample] = {}
        self._alerts: dict[str, tuple[str, ...]] = {}
        self._observed: dict[str, tuple[float, float]] = {}
        self._unsettled = clock.monotonic()
        self._next_samples = 0.0
        self._changed = asyncio.Event()
        self._callbacks: list[Callable[[], None]] = []

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Called after each change."""
        self._callbacks.append(callback)

    def notify(self) -> None:
        for callback in self._callbacks:
            callback()

    async def load(self) -> None:
        """Reads everything; also while `run` is at work."""
        known = await records.load(self._store)
        self.servers, self._groups = known.servers, known.groups
        self._is_known = True
        self._next_samples = 0.0
        await self.look()

    async def run(self) -> None:
        parts = {
            "listen for changes of servers": self._listen,
            "read servers again": self._reload,
            "watch servers": self._watch,
        }
        async with asyncio.TaskGroup() as group:
            for name, part in parts.items():
                group.create_task(enduring(part, "conductor", name))

    async def _listen(self) -> None:
        async with aclosing(listen(self._store, Fleet(self._store.prefix).changes())) as messages:
            async for _ in messages:
                self._changed.set()

    async def _reload(self) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(_GATHER)
            self._changed.clear()
            try:
                await patiently(self.load)
            except ResponseError:
                self._changed.set()  # it is tried again
                raise

    async def _watch(self) -> None:
        was_away = False
        while True:
            try:
                await self.look()
            except StoreUnavailable as error:
                self._unsettled, was_away = self._clock.monotonic(), True
                outage.begin(error)
            else:
                if was_away:  # a read says nothing about an outage of writes
                    outage.end()
                was_away = False
            await asyncio.sleep(_EVERY)

    async def look(self) -> None:
        """Reads which servers are connected, and every few seconds what they use."""
        found = await presence.read(self._store)
        now = self._clock.monotonic()
        for server, seen in found.seen.items():
            if server not in self._observed or self._observed[server][0] != seen:
                self._observed[server] = (seen, now)
        for server in self._observed.keys() - found.seen.keys():
            del self._observed[server]
        self.presence = found
        self._alerts = await self._limiting()
        self._replace_state()
        if now >= self._next_samples:
            self._next_samples = now + _SAMPLES_EVERY
            self._samples = await samples.latest(self._store)
            self._replace_state()

    async def _limiting(self) -> dict[str, tuple[str, ...]]:
        """By server: the titles of its alerts that keep new jobs away."""
        titles: dict[str, tuple[str, ...]] = {}
        for one in await alerts.active(self._store):
            if one.limits:
                titles[one.server] = (*titles.get(one.server, ()), one.title)
        return titles

    def _replace_state(self) -> None:
        state = self._made()
        if state != self.state:
            self.state = state
            self.notify()

    def watched(self, server: str) -> float:
        """Seconds for which we have seen no sign of life of the server although the store was
        available, by our own clock: no step of the store's clock makes them more."""
        since = max(self._observed.get(server, (0.0, 0.0))[1], self._unsettled)
        return self._clock.monotonic() - since

    def _made(self) -> FleetState:
        servers = {server.id: self._server(server) for server in self.servers.values()}
        titles = {group.id: group.title for group in self._groups.values()}
        return FleetState(servers, titles, self._is_known)

    def _server(self, server: Server) -> ServerState:
        sample = self._samples.get(server.id)
        return ServerState(
            id=server.id,
            name=server.title or server.hostname,
            groups=server.groups,
            slots=grouping.slots(server, self._groups),
            is_enabled=server.enabled,
            is_online=self.presence.is_online(server.id, self._down_after),
            cpu=sample.cpu if sample else None,
            memory=sample.memory if sample else None,
            alerts=self._alerts.get(server.id, ()),
        )
