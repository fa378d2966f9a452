"""The dispatcher: takes jobs that are ready, and gives each a server, or a place in a queue.

Python decides which servers come into question, and in which order; one script decides what is
free, for a whole batch, together with its acknowledgement. So no number of dispatchers exceeds a
limit. All items of the queue have the same key of order: one dispatcher works at a time, the others
stand by, and jobs are placed in the order in which they were launched.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from watchbell import logs
from watchbell.clock import Clock
from watchbell.jobs.dispatch_plan import FIELDS, QUEUE, Definitions, Plan, parsed
from watchbell.jobs.dispatch_scripts import END, GIVE_PLACES, PLACE, SHARED
from watchbell.jobs.fleet_view import FleetView
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Category, Event
from watchbell.probes import probe
from watchbell.store.client import Store
from watchbell.store.effects import Effects
from watchbell.store.queue import Batch, Queue, Taker
from watchbell.store.queue_scripts import taking
from watchbell.store.replies import pairs, text
from watchbell.store.script import RAISE_NOT_NOW, READ

R = TypeVar("R", bound=Struct)

_LEASE = 4.0
"""Seconds after which another dispatcher takes over from one that died."""
_MOST = 250
DEADLY = 3
"""Dispatchers that may die with a job in hand before it is ended."""

_NAMES = ", ".join(f"'{name}'" for name in (*FIELDS, QUEUE))

# KEYS[1] ready; ARGV[1…] ids of jobs. Returns the fields of each, and events and categories, each
# after its id.
_TAKE = taking(
    LAYOUT
    + READ
    + f"""
local rows, events, categories = {{}}, {{}}, {{}}
local function add(found, key, id)
  if id and not found[id] then found[id] = read('HGET', key, id) or '' end
end
for i, id in ipairs(ARGV) do
  rows[i] = read('HMGET', jobs.job .. id, {_NAMES}) or {{}}
  add(events, jobs.events, text_of(rows[i][1]))
  add(categories, jobs.categories, text_of(rows[i][2]) or 'general')
end
local function flat(found)
  local list = {{}}
  for id, value in pairs(found) do list[#list + 1], list[#list + 2] = id, value end
  return list
end
return {{rows, flat(events), flat(categories)}}
"""
)

_PLACE = Effects(SHARED + GIVE_PLACES + END + RAISE_NOT_NOW + PLACE)


class Dispatcher:
    def __init__(self, store: Store, view: FleetView, clock: Clock, most: int = _MOST) -> None:
        """`most`: jobs that are handled at once."""
        self._view, self._clock = view, clock
        self._ready = Jobs(store.prefix).ready()
        queue = Queue(key=self._ready, side="LEFT", order_by=("job",))
        self.taker = Taker(store, queue, lease=_LEASE, most=most, script=_TAKE)
        self._log = logs.get(role="conductor")
        self.done = 0
        """Jobs handled so far."""

    async def run(self) -> None:
        await self.taker.work(self.process, role="conductor")

    async def process(self, batch: Batch) -> None:
        """Decides and applies, and acknowledges the batch."""
        rows, events, categories = batch.facts
        definitions = Definitions(_records(events, Event), _records(categories, Category))
        probe("dispatcher.loaded")
        fleet = self._view.state
        plan = Plan(fleet, definitions, self._clock.now(), lambda: random.getrandbits(31))
        for item, row in zip(batch.items, rows, strict=True):
            if batch.attempts >= DEADLY:
                plan.refuse(item, f"{batch.attempts} dispatchers died with it in hand")
            elif row:
                plan.add(item, row)
            else:
                plan.refuse(item, "The record of the job is damaged")
        failed = await self.taker.acknowledge(batch, _PLACE, [self._ready], [plan.packed()])
        probe("dispatcher.applied")
        self.done += len(batch.items)
        for job, reason in failed or ():
            self._log.error("job failed", job=text(job), reason=text(reason))
        if self._view.state is not fleet:
            self._view.notify()  # a job may wait for a server that came meanwhile


def _records(found: Sequence[bytes], kind: type[R]) -> dict[str, R]:
    """Records that other programs spoiled are missing."""
    records = {text(key): parsed(raw, kind) for key, raw in pairs(found)}
    return {key: record for key, record in records.items() if record is not None}
