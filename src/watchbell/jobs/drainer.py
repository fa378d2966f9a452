"""The drainer: wakes waiting jobs when a server comes back, is enabled or gets more slots, and when
the limit of an event is raised. What jobs that end leave free is handed over without it."""

import asyncio
from contextlib import suppress

import msgspec

from watchbell import logs
from watchbell.jobs.decide import concurrency
from watchbell.jobs.dispatch_plan import parsed
from watchbell.jobs.dispatch_scripts import GIVE_PLACES, SHARED
from watchbell.jobs.fleet_view import FleetView
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Category, Event
from watchbell.store.client import Store, patiently
from watchbell.store.effects import verbatim
from watchbell.store.replies import text
from watchbell.store.script import RAISE_NOT_NOW, READ, Script

_EVERY = 1.0

# KEYS[1] ready. Returns the targets for whose slots jobs wait, and for each event with a queue: its
# id, its definition and its category's, each empty where there is none. Queues of nodes of
# workflows, whose names have a colon, are left out: their limits do not change.
_LOOK = Script(
    LAYOUT
    + READ
    + """
local queues = {}
local function add(event)
  local definition = read('HGET', jobs.events, event) or ''
  local category = list_of(definition).category
  if type(category) ~= 'string' then category = 'general' end
  queues[#queues + 1] = {event, definition, read('HGET', jobs.categories, category) or ''}
end
for _, event in ipairs(read('SMEMBERS', jobs.queued_events) or {}) do
  if not string.find(event, ':', 1, true) then add(event) end
end
return {read('SMEMBERS', jobs.waiting_targets) or {}, queues}
"""
)

# KEYS[1] ready; ARGV[1] msgpack: servers, each {id, slots, groups}; ARGV[2] msgpack: events, each
# {id, limit or -1}; ARGV[3] msgpack: targets that no longer exist. Gives places and slots that are
# free to jobs that wait for them. Jobs that have no other target are made ready, to be ended.
# Returns what was refused.
_DRAIN = Script(
    SHARED
    + GIVE_PLACES
    + RAISE_NOT_NOW
    + """
local function fill(server)
  local id, slots, groups = unpack(server)
  while redis.call('SCARD', jobs.server_jobs .. id) < slots and give_slot(id, groups) do end
end

local gone = {}
local function is_lost(targets)
  for _, target in ipairs(targets) do
    if not gone[target] then return false end
  end
  return true
end

local function give_up(target)
  for _, id in ipairs(redis.call('ZRANGE', jobs.waiting .. target, 0, 999)) do
    local targets = list_of(redis.call('HGET', jobs.job .. id, 'targets'))
    if is_lost(targets) then
      stop_waiting(id, {target, unpack(targets)})
      if redis.call('EXISTS', jobs.job .. id) == 1 then wake(id) end
    end
  end
end

-- A key of a wrong type concerns one server, event or target.
local refused = {}
local function try(name, attempt, ...)
  local is_done, problem = pcall(attempt, ...)
  if is_done then return end
  local answer = type(problem) == 'table' and problem or {err = tostring(problem)}
  raise_not_now(answer)
  refused[#refused + 1] = name .. ': ' .. answer.err
end

for _, server in ipairs(cmsgpack.unpack(ARGV[1])) do try(server[1], fill, server) end
for _, event in ipairs(cmsgpack.unpack(ARGV[2])) do try(event[1], give_places, unpack(event)) end
local targets = cmsgpack.unpack(ARGV[3])
for _, target in ipairs(targets) do gone[target] = true end
for _, target in ipairs(targets) do try(target, give_up, target) end
return refused
"""
)


class Drainer:
    def __init__(self, store: Store, view: FleetView) -> None:
        self._store, self._view = store, view
        self._ready = Jobs(store.prefix).ready()
        self._hurry = asyncio.Event()
        self._log = logs.get(role="conductor")
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
        targets, queues = await _LOOK(self._store, [self._ready])
        if not targets and not queues:
            return
        fleet = self._view.state
        servers = [
            [server.id, server.slots, server.groups]
            for server in fleet.servers.values()
            if targets and server.obstacle is None
        ]
        events = [
            [verbatim(event), _limit(definition, category)]
            for event, definition, category in queues
        ]
        gone = [verbatim(one) for one in targets if fleet.is_known and not fleet.knows(text(one))]
        packed = [msgspec.msgpack.encode(one) for one in (servers, events, gone)]
        for reason in await _DRAIN(self._store, [self._ready], packed):
            self._log.error("waiting jobs can't be woken", reason=text(reason))


def _limit(definition: bytes, category: bytes) -> int:
    limits = concurrency.of_event(parsed(definition, Event), parsed(category, Category))
    return -1 if limits.jobs is None else limits.jobs
