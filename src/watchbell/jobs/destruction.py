"""Deletes events with the timing `destruct` after their first run."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from watchbell import logs
from watchbell.errors import Changed, NotFound, Refused
from watchbell.jobs.event_agenda import EventAgenda
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.probes import probe
from watchbell.store.client import Store, patiently
from watchbell.store.script import Script

EVERY = 2.0

# KEYS[1] ready; ARGV[1] msgpack: {event, fingerprint}. Returns the events whose first run is over:
# the job has ended, and so have its retries, which count as one run with it.
_OVER = Script(
    LAYOUT
    + """
local over = {}
for _, pair in ipairs(cmsgpack.unpack(ARGV[1])) do
  local event, fingerprint = pair[1], pair[2]
  local first = redis.call('HGET', jobs.first_runs, event) or ''
  local timings, launched, job = string.match(first, '^(%x+):([%d.]+):(.+)$')
  if timings == fingerprint and redis.call('EXISTS', jobs.job .. job) == 0 then
    local completed = list_of(redis.call('HGET', jobs.event_states, event)).last_completed
    if (tonumber(completed) or 0) >= tonumber(launched) then over[#over + 1] = event end
  end
end
return over
"""
)

Remove = Callable[[str], Awaitable[None]]
"""Removes an event; raises NotFound where there is none."""


class Destructor:
    def __init__(self, store: Store, agenda: EventAgenda, remove: Remove) -> None:
        self._store, self._agenda, self._remove = store, agenda, remove
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        entries = [one for one in self._agenda.special.values() if one.timetable.is_destruct]
        if not entries:
            return
        pairs = msgspec.msgpack.encode([(one.name, one.timetable.fingerprint) for one in entries])
        keys = Jobs(self._store.prefix)
        for event in await patiently(lambda: _OVER(self._store, [keys.ready()], [pairs])):
            await self._delete(event.decode())

    async def _delete(self, event: str) -> None:
        try:
            await patiently(lambda: self._remove(event))
        except NotFound:
            pass
        except (Refused, Changed) as error:
            self._log.warning("an event can't be deleted yet", event_id=event, reason=str(error))
            return
        else:
            self._log.info("deleted an event after its first run", event_id=event)
        probe("jobs.destructed")
        self._agenda.drop(event)
