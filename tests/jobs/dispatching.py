"""Jobs and servers in a store, as launches and agents leave them, for tests of the dispatcher."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from watchbell.clock import SYSTEM
from watchbell.fleet import presence
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Link, Server
from watchbell.jobs import launches
from watchbell.jobs.dispatch_scripts import SHARED
from watchbell.jobs.dispatcher import Dispatcher
from watchbell.jobs.drainer import Drainer
from watchbell.jobs.fleet_view import FleetView
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Event, Job, Limit
from watchbell.store.client import Store
from watchbell.store.script import Script

KEYS, FLEET = Jobs(), Fleet()

# ARGV jobs: as the finisher ends them.
_FINISH = Script(
    SHARED
    + """
for _, id in ipairs(ARGV) do
  release(id)
  redis.call('DEL', jobs.job .. id)
  redis.call('ZREM', jobs.live, id)
end
"""
)


async def finish(store: Store, job: str) -> None:
    await finish_all(store, [job])


async def finish_all(store: Store, jobs: Sequence[str]) -> None:
    await _FINISH(store, [KEYS.ready()], jobs)


async def put_job(store: Store, job: Job, turn: float = 0, **own: str) -> None:
    """The job's hash, in no list."""
    fields = {
        name: msgspec.json.encode(value) for name, value in msgspec.to_builtins(job).items()
    } | {"_turn": str(turn), **own}
    await store.call("HSET", KEYS.job(job.id), *[x for pair in fields.items() for x in pair])
    await store.call("ZADD", KEYS.live(), job.launched, job.id)


async def put_server(store: Store, server: Server) -> None:
    await store.call("HSET", FLEET.servers(), server.id, msgspec.json.encode(server))


async def field(store: Store, job: str, name: str) -> Any:
    """A field of a job's hash; None where there is none."""
    text = await store.call("HGET", KEYS.job(job), name)
    return None if text is None else json.loads(text)


async def texts(store: Store, *command: str | int) -> list[str]:
    """The answer to a command as texts; a set is sorted."""
    answer = await store.call(*command) or []
    found = [one.decode() for one in answer]
    return sorted(found) if isinstance(answer, set) else found


async def join(store: Store, server: Server) -> None:
    """The server's agent connects."""
    await put_server(store, server)
    link = Link(session=f"session of {server.id}", process="web", since=0)
    await presence.connect(store, server.id, link)


async def put_event(store: Store, event: Event) -> None:
    await store.call("HSET", KEYS.events(), event.id, msgspec.json.encode(event))


def limited(event: str, jobs: int, queue: int | None = None) -> Event:
    """An event with a limit of concurrent jobs, and of jobs that wait."""
    limits = [Limit(type="job", amount=jobs)]
    if queue is not None:
        limits.append(Limit(type="queue", amount=queue))
    return Event(id=event, title=event, limits=tuple(limits))


async def launch(store: Store, *jobs: Job) -> None:
    await launches.launch(store, jobs, "UTC")


def a_job(job: str, event: str = "e1", *targets: str, priority: int = 0) -> Job:
    return Job(id=job, event=event, state="ready", targets=targets or ("main",), priority=priority)


class Dispatching:
    """A dispatcher and what belongs to it, driven step by step."""

    def __init__(self, store: Store) -> None:
        self.view = FleetView(store, down_after=15)
        self.dispatcher = Dispatcher(store, self.view, SYSTEM)
        self.drainer = Drainer(store, self.view)

    async def dispatch(self) -> None:
        """Looks at the fleet, and handles everything that is ready."""
        await self.view.load()
        while batch := await self.dispatcher.taker.take():
            await self.dispatcher.process(batch)

    async def drain(self) -> None:
        await self.view.load()
        await self.drainer.drain()
        await self.dispatch()
