"""Workflows on the command line: a run is shown as a tree, suspended, resumed and repeated."""

import asyncio
from typing import Any

import msgspec

from tests import servers
from tests.cli.test_apply_command import FILE, applied
from tests.cli.test_events_commands import address, place, ran
from watchbell.jobs.decide.workflow_state import ActiveJob, RunState
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Job
from watchbell.jobs.workflow_model import NodeState, Stub
from watchbell.store import url as store_url
from watchbell.store.client import Store

__all__ = ["place"]


async def begun(place: servers.Single, job: str) -> None:
    """As conductors leave a run whose first node runs."""
    state = RunState(
        nodes={
            "nightly": NodeState(started=1, completed=1),
            "one": NodeState(started=1, active=1, max=1),
        },
        active={"jone": ActiveJob("one")},
    )
    async with Store(store_url.parse(address(place))) as store:
        keys = Jobs(store.prefix)
        values: dict[str, Any] = {"state": "active", "started": 1, "_workflow": state}
        words = [word for name, one in values.items() for word in (name, msgspec.json.encode(one))]
        await store.call("HSET", keys.job(job), *words)
        stub = Stub(id="jold", node="one", retried=True, code=3)
        await store.call("HSET", keys.workflow_jobs(job), "jold", msgspec.json.encode(stub))


def test_a_run_is_shown_suspended_and_repeated(place: servers.Single) -> None:
    applied(place, FILE, "--yes")
    assert "started job" in ran(place, "events", "run", "release")
    job = msgspec.json.decode(ran(place, "jobs", "show", "release", "--json"), type=Job)
    assert "that has begun" in ran(place, "jobs", "suspend", job.id, code=1)
    asyncio.run(begun(place, job.id))
    shown = ran(place, "jobs", "show", job.id)
    assert "nightly [trigger]: succeeded" in shown
    assert "└ Build: running, 0 of 1 job" in shown
    assert "  └ (complete) two: idle (Build is still running)" in shown
    assert "runs Build" in ran(place, "explain", job.id)
    assert "suspended job" in ran(place, "jobs", "suspend", job.id)
    assert "not suspended" in ran(place, "jobs", "resume", job.id, "--at", "two", code=1)
    assert "that has ended" in ran(place, "jobs", "rerun", job.id, "--from", "two", code=1)
    ran(place, "jobs", "abort", job.id)
    assert "is being aborted" in ran(place, "explain", job.id)
