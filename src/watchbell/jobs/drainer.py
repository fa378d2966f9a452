"""The drainer: wakes waiting jobs when a server comes back, is enabled or gets more slots, and when
the limit of an event is raised. What jobs that end leave free is handed over without it."""

import asyncio
from contextlib import suppress

import msgspec

from watchbell.jobs.decide import concurrency
from watchbell.jobs.dispatch_plan import parsed
from watchbell.jobs.dispatch_scripts import GIVE_PLACES, SHARED
from watchbell.jobs.fleet_view import FleetView
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Category, Event
from watchbell.store.client import Store, patiently
from watchbell.store.effects import verbatim
from watchbell.store.script import READ, Script

_EVERY = 1.0

# KEYS[1] ready. Returns whether jobs wait for slots, and for each event with a queue: its id, its
# definition and its category's, each empty where there is none.
_LOOK = Script(
    LAYOUT
    + READ
    + """
local queues = {}
for i, event in ipairs(read('SMEMBERS', jobs.queued_events) or {}) do
  local definition = read('HGET', jobs.events, event) or ''
  local category = list_of(definition).category
  if type(category) ~= 'string' then category = 'general' end
  queues[i] = {event, definition, read('HGET', jobs.categories, category) or ''}
end
return {redis.call('EXISTS', jobs.waiting_targets), queues}
"""
)

# KEYS[1] ready; ARGV[1] msgpack: servers, each {id, slots, groups}; ARGV[2] msgpack: events, each
# {id, limit or -1}. Gives places and slots that are free to jobs that wait for them.
_DRAIN = Script(
    SHARED
    + GIVE_PLACES
    + """
for _, server in ipairs(cmsgpack.unpack(ARGV[1])) do
  local id, slots, groups = unpack(server)
  while redis.call('SCARD', jobs.server_jobs .. id) < slots and give_slot(id, groups) do end
end
for _, event in ipairs(cmsgpack.unpack(ARGV[2])) do give_places(event[1], event[2]) end
"""
)


class Drainer:
    def __init__(self, store: Store, view: FleetView) -> None:
        self._store, self._view = store, view
        self._ready = Jobs(store.prefix).ready()
        self._hurry = asyncio.Event()
        view.subscribe(self.hurry)

    def hurry(self) -> None:
        """Look at once: servers or events have changed."""
        self._hurry.set()

    async def run(self) -> None:
        """Any number may run side by side."""
        while True:
            self._hurry.clear()
            await patiently(self.drain)
            with suppress(TimeoutError):
                async with asyncio.timeout(_EVERY):
                    await self._hurry.wait()

    async def drain(self) -> None:
        has_waiting, queues = await _LOOK(self._store, [self._ready])
        if not has_waiting and not queues:
            return
        servers = [
            [server.id, server.slots, server.groups]
            for server in self._view.state.servers.values()
            if has_waiting and server.obstacle is None
        ]
        events = [
            [verbatim(event), _limit(definition, category)]
            for event, definition, category in queues
        ]
        packed = [msgspec.msgpack.encode(servers), msgspec.msgpack.encode(events)]
        await _DRAIN(self._store, [self._ready], packed)


def _limit(definition: bytes, category: bytes) -> int:
    limits = concurrency.of_event(parsed(definition, Event), parsed(category, Category))
    return -1 if limits.jobs is None else limits.jobs
