"""Whole fleets on a cluster and with a key prefix: jobs are launched, queued, dispatched, retried,
aborted, searched and deleted there as on one server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from tests import servers
from tests.faults.job_fleet import JobFleet, Topology, job_fleet
from tests.waiting import eventually
from watchbell import actors
from watchbell.clock import SYSTEM
from watchbell.jobs import cursors, stock
from watchbell.web.audit import Stamp
from watchbell.web.people.api_keys import ApiKeys

LINES = "".join(f"{n}\n" for n in range(1, 20_001))
SHELL = {"targets": ["main"], "plugin": "shellplug", "triggers": [{"type": "manual"}]}


class Api:
    def __init__(self, http: ClientSession) -> None:
        self._http = http

    async def __call__(self, name: str, **parameters: Any) -> Any:
        async with self._http.post(f"/api/app/{name}/v1", json=parameters) as answer:
            assert answer.ok, await answer.text()
            return await answer.json()

    async def text(self, name: str, id_: str) -> str:
        async with self._http.get(f"/api/app/{name}/v1", params={"id": id_}) as answer:
            return await answer.text()

    async def found(self, query: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = (await self("search_jobs", query=query, limit=100))["rows"]
        return rows


@asynccontextmanager
async def calling(fleet: JobFleet) -> AsyncIterator[Api]:
    now = int(SYSTEM.now())
    by = Stamp(actors.system("tests"), now)
    secret, _ = await ApiKeys(fleet.store, SYSTEM).make("deploy", ("admin",), by)
    await stock.ensure(fleet.store, now)
    async with ClientSession(fleet.url, headers={"X-API-Key": secret}) as session:
        yield Api(session)


@pytest.mark.parametrize(
    ("on", "prefix"), [(servers.cluster, "{watchbell}:"), (servers.single, "acme:")]
)
async def test_jobs_from_launch_to_deletion(folder: Path, on: Topology, prefix: str) -> None:
    async with job_fleet(folder, on, prefix) as fleet, calling(fleet) as api:
        await fleet.serve()
        conductor = fleet.conductor().start()
        (await fleet.agent("a1")).start()
        await define(fleet, api)
        jobs = [(await api("run_event", id="backup"))["id"] for _ in range(2)]
        delayed = (await api("run_event", id="backup", delay=3600))["id"]
        await api("abort_job", id=delayed)

        async def are_over() -> bool:
            return len(await api.found("event:after")) == 2 and len(await api.found("*")) >= 8

        await eventually(are_over, why="two backups, a retry, an abort, what follows, two minutes")
        await api("update_event", id="minutes", enabled=False)
        await fleet.check_empty()
        outcomes = {job["id"]: job["code"] for job in await api.found("event:backup")}
        assert sorted(map(str, outcomes.values())) == ["0", "0", "1", "abort"]
        assert (outcomes[delayed], outcomes[jobs[1]]) == ("abort", 0)
        good = [job["id"] for job in await api.found("tags:nightly tags:_success")]
        assert len(good) == 2
        assert {await api.text("get_job_log", one) for one in good} == {LINES}
        await api("delete_job", id=good[0])
        assert "there is no job" in await api.text("get_job", good[0])
        await api("bulk_search_delete_jobs", query="*")
        assert await api.found("*") == []
        for process in (fleet.web, conductor):
            assert '"level": "error"' not in process.log.read_text()
        for primary in await fleet.store.primaries():
            names = await primary.call("KEYS", "*")
            assert [name for name in names if not name.startswith(prefix.encode())] == []


async def define(fleet: JobFleet, api: Api) -> None:
    """Backups, one at a time. The first attempt fails and is retried; another event follows a
    success. One event runs every minute, and two minutes were missed."""
    await api("create_tag", id="nightly", title="Nightly")
    await api("create_event", id="after", title="After", params={"script": "true"}, **SHELL)
    limits = [
        {"type": "job", "amount": 1},
        {"type": "queue", "amount": 10},
        {"type": "retry", "amount": 1, "duration": 1},
    ]
    script = f"mkdir {fleet.folder}/tried 2>&- && exit 1; seq 20000"
    follow = [{"condition": "success", "type": "run_event", "event_id": "after"}]
    backup = {"params": {"script": script}, "limits": limits, "actions": follow}
    await api("create_event", id="backup", title="Backup", tags=["nightly"], **backup, **SHELL)
    minutes = SHELL | {"triggers": [{"type": "schedule"}, {"type": "catchup"}], "enabled": False}
    await api("create_event", id="minutes", title="Minutes", params={"script": "true"}, **minutes)
    seconds = int(SYSTEM.now())
    await api("update_event", id="minutes", enabled=True)
    await cursors.move(fleet.store, "minutes", seconds - seconds % 60 - 120)
