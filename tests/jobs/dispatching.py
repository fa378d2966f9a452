"""Jobs and servers in a store, as launches and agents leave them, for tests of the dispatcher."""

import json
from typing import Any

import msgspec

from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Server
from watchbell.jobs.dispatch_scripts import SHARED
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Job
from watchbell.store.client import Store
from watchbell.store.script import Script

KEYS, FLEET = Jobs(), Fleet()

# ARGV job: as the finisher ends it.
_FINISH = Script(
    SHARED
    + """
release(ARGV[1])
redis.call('DEL', jobs.job .. ARGV[1])
redis.call('ZREM', jobs.live, ARGV[1])
"""
)


async def finish(store: Store, job: str) -> None:
    await _FINISH(store, [KEYS.ready()], [job])


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
    answer = await store.call(*command)
    found = [one.decode() for one in answer]
    return sorted(found) if isinstance(answer, set) else found
