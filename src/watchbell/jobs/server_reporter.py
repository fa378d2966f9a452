"""Reports to alerting which servers go down, come back or are removed: each change once, however
many conductors look."""

import asyncio
from typing import NamedTuple

import msgspec

from watchbell import logs
from watchbell.alerting.bounded_reports import REPORT
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM, Clock
from watchbell.errors import StoreUnavailable
from watchbell.fleet import presence, records
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Server
from watchbell.fleet.presence import Presence
from watchbell.jobs.decide.server_states import (
    ServerState,
    Silence,
    Transition,
    transition,
    unsettled,
)
from watchbell.jobs.keys import Jobs
from watchbell.probes import probe
from watchbell.settings import Jobs as JobsSettings
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.enduring import enduring
from watchbell.store.script import Script

_EVERY = 2.0


class Watched(NamedTuple):
    """The last sign of life of a server."""

    seen: float
    """By the store's clock."""
    since: float
    """Since when we know it, by ours."""
    has_changed: bool
    """Whether there was another one before."""


# KEYS events, unreported, states; ARGV[1] most events, ARGV[2] msgpack: {server, known state or
# empty, new state or empty, check, event}. A change that another conductor has reported is left
# out. Returns the servers whose change was reported.
_APPLY = Script(
    """
local events, unreported, states = KEYS[1], KEYS[2], KEYS[3]
local own = {most_events = tonumber(ARGV[1])}
"""
    + REPORT
    + """
local changed = {}
for _, one in ipairs(cmsgpack.unpack(ARGV[2])) do
  local server, known, new, check, event = unpack(one)
  if (redis.call('HGET', states, server) or '') == known then
    if new == '' then
      redis.call('HDEL', states, server)
    else
      redis.call('HSET', states, server, new)
    end
    report(check, event)
    changed[#changed + 1] = server
  end
end
return changed
"""
)


class ServerReporter:
    def __init__(self, store: Store, settings: JobsSettings, clock: Clock = SYSTEM) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._keys = Jobs(store.prefix)
        self._watched: dict[str, Watched] = {}
        self._available = clock.monotonic()
        """Since when the store is available."""
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            await enduring(self._attempt, "conductor", "servers that are down")

    async def _attempt(self) -> None:
        try:
            await self.look()
        except StoreUnavailable:
            self.restart()

    def restart(self) -> None:
        """The store was not available: servers could not report."""
        self._available = self._clock.monotonic()

    async def look(self) -> None:
        seen = await presence.read(self._store)
        raw = await self._store.call("HGETALL", self._keys.server_states())
        texts = {server.decode(errors="replace"): text for server, text in raw.items()}
        known = {server: _state(text) for server, text in texts.items()}
        silent = self._silences(seen)
        found = []
        for server, record in (await self._records(unsettled(known, silent))).items():
            change = transition(server, record, known.get(server), silent.get(server), seen.now)
            if change is not None:
                found.append(change)
        probe("server_reporter.decided")
        await self._apply(found, texts)

    def _silences(self, seen: Presence) -> dict[str, Silence]:
        now = self._clock.monotonic()
        before, self._watched = self._watched, {}
        for server, at in seen.seen.items():
            known = before.get(server)
            if known is None or known.seen != at:
                known = Watched(at, now, has_changed=known is not None)
            self._watched[server] = known
        return {
            server: Silence(
                seen.now - one.seen,
                now - max(one.since, self._available),
                one.has_changed and one.since >= self._available,
                self._settings.down_after,
            )
            for server, one in self._watched.items()
        }

    async def _records(self, servers: list[str]) -> dict[str, Server | None]:
        if not servers:
            return {}
        texts = await self._store.call("HMGET", Fleet(self._store.prefix).servers(), *servers)
        return {
            server: records.parsed(Server, text) if text is not None else None
            for server, text in zip(servers, texts, strict=True)
        }

    async def _apply(self, found: list[Transition], texts: dict[str, bytes]) -> None:
        if not found:
            return
        items = [
            [
                one.server,
                verbatim(texts.get(one.server, b"")),
                verbatim(msgspec.json.encode(one.state) if one.state else b""),
                one.report.check,
                verbatim(one.report.event),
            ]
            for one in found
        ]
        keys = [Alerting(self._store.prefix).events(), self._keys.unreported()]
        keys.append(self._keys.server_states())
        packed = msgspec.msgpack.encode(items)
        changed = await _APPLY(self._store, keys, [self._settings.most_events, packed])
        for one in found:
            if one.server.encode() in changed and one.state is not None:
                words = "server down" if one.state.is_down else "server up"
                self._log.info(words, server=one.server, hostname=one.state.hostname)


def _state(text: bytes) -> ServerState:
    """One that other programs spoiled counts as one of a server that is up."""
    try:
        return msgspec.json.decode(text, type=ServerState)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ServerState(hostname="unknown", is_down=False, since=0)
