"""A web server that is killed while it launches a job: the job exists once or not at all."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientConnectionError, ClientSession

from tests.faults.job_fleet import JobFleet, job_fleet
from watchbell import actors
from watchbell.clock import SYSTEM
from watchbell.jobs import definitions, job_records, stock
from watchbell.web.audit import Stamp
from watchbell.web.people.api_keys import ApiKeys

ALICE = actors.on_command_line("alice")
CALLS = [
    ("/api/app/run_event/v1?id=backup", "jobs.launched", 1),
    ("/api/v1/events/backup/run", "jobs.launching", 0),
    ("/api/v1/jobs/{job}/rerun", "jobs.launched", 1),
]
"""Where a server dies at its second launch, and how many jobs that has launched."""


@pytest.fixture
async def fleet(folder: Path) -> AsyncIterator[JobFleet]:
    async with job_fleet(folder) as made:
        now = int(SYSTEM.now())
        await stock.ensure(made.store, now)
        script = f"echo $JOB_ID start x >>{made.ledger}; echo $JOB_ID end x >>{made.ledger}"
        event = {"id": "backup", "title": "Backup", "targets": ["main"], "plugin": "shellplug"}
        more = {"timings": [{"type": "manual"}], "params": {"script": script}}
        await definitions.create(made.store, "event", event | more, ALICE, now)
        yield made


@pytest.fixture
async def http(fleet: JobFleet) -> AsyncIterator[ClientSession]:
    by = Stamp(actors.system("tests"), int(SYSTEM.now()))
    secret, _ = await ApiKeys(fleet.store, SYSTEM).make("deploy", ("operate",), by)
    async with ClientSession(fleet.url, headers={"Authorization": f"Bearer {secret}"}) as session:
        yield session


async def ask(http: ClientSession, path: str) -> str:
    """Launches a job; returns its id."""
    async with http.post(path, json={}) as answer:
        assert answer.ok, await answer.text()
        found: str = (await answer.json())["id"]
        return found


async def live(fleet: JobFleet) -> set[str]:
    return {job.id for job in await job_records.live(fleet.store)}


async def test_a_web_server_that_is_killed_at_a_launch_launches_one_job_or_none(
    fleet: JobFleet, http: ClientSession
) -> None:
    """Whoever repeats a call that got no answer launches another job, as the docs say."""
    launched: set[str] = set()
    path = first = ""
    for killed, point, count in CALLS:
        fleet.web.start(f"{point}:2")
        await fleet.served()
        made = await ask(http, (path or killed).format(job=first))
        assert made not in launched
        first, path = first or made, killed
        launched.add(made)
        with pytest.raises(ClientConnectionError):
            await ask(http, path.format(job=first))
        await fleet.web.died()
        found = await live(fleet)
        assert (launched <= found, len(found - launched)) == (True, count)
        launched = found
    await fleet.serve()
    launched.add(await ask(http, path.format(job=first)))
    fleet.conductor().start()
    (await fleet.agent("a1")).start()
    jobs = await fleet.finished(launched)
    assert {(job.code, job.source) for job in jobs} == {(0, "key")}
    assert len(launched) == 2 * len(CALLS)
    fleet.check_run_once(launched)
    assert set(fleet.count("start")) == launched
    await fleet.check_empty()
