"""Jobs that were assigned to a server, with an agent that is connected."""

from typing import Any

import msgspec

from tests.fleet.crew import NOW, join
from watchbell.fleet import presence
from watchbell.fleet.keys import Fleet
from watchbell.fleet.messages import Body, Report
from watchbell.fleet.model import AgentToken, Link, Server
from watchbell.jobs import job_packing
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Job
from watchbell.store.client import Store

BOOT = "boot-1"
JOBS, FLEET = Jobs(), Fleet()


async def connected(
    store: Store, hostname: str = "db-1", session: str = "one"
) -> tuple[Server, AgentToken]:
    server, token = await join(store, hostname)
    await presence.connect(
        store, server.id, Link(session=session, process="web-1", since=NOW, boot=BOOT)
    )
    return server, token


async def assign(store: Store, server: str, id_: str, **more: Any) -> Job:
    """As the dispatcher does it."""
    job = Job(
        **{
            "id": id_,
            "event": "e1",
            "state": "active",
            "server": server,
            "launched": NOW,
            "started": NOW,
            **more,
        }
    )
    words = [word for pair in job_packing.fields(job).items() for word in pair]
    await store.call("HSET", JOBS.job(id_), *words)
    await store.call("ZADD", JOBS.live(), NOW, id_)
    await store.call("SADD", JOBS.server_jobs(server), id_)
    await store.call("RPUSH", FLEET.orders(server), msgspec.json.encode({"launch": id_}))
    await store.call("PUBLISH", FLEET.orders_channel(), server)
    return job


async def sent(store: Store, server: str, id_: str, boot: str = BOOT, **more: Any) -> Job:
    """The same, and the agent has received it."""
    job = await assign(store, server, id_, remote=True, **more)
    await store.call("HSET", JOBS.job(id_), "_boot", msgspec.json.encode(boot))
    await store.call("LREM", FLEET.orders(server), 0, msgspec.json.encode({"launch": id_}))
    return job


async def field(store: Store, id_: str, name: str) -> Any:
    """A field of the job's hash; None where there is none."""
    text = await store.call("HGET", JOBS.job(id_), name)
    return None if text is None else msgspec.json.decode(text)


def numbered(job: str, *bodies: Body, first: int = 1) -> list[Report]:
    return [Report(job, n, body) for n, body in enumerate(bodies, first)]
