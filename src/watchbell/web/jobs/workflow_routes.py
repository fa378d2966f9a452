"""Endpoints for runs of workflows: how each node goes, followed live, and suspending a run."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from litestar import Router, get, post

from watchbell.clock import Clock
from watchbell.jobs import job_records, workflow_runs
from watchbell.jobs.decide.workflow_view import NodeView, RunView
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.keys import Jobs
from watchbell.jobs.workflow_model import Stub
from watchbell.store.client import Store
from watchbell.web.access import needs
from watchbell.web.jobs.job_routes import Id, record_of
from watchbell.web.jobs.request_checks import check_access
from watchbell.web.jobs.workflow_shapes import NodeJob, NodeShown, WireShown, WorkflowRun
from watchbell.web.live.sse import EVENT_STREAM, Event, EventStream, streamed
from watchbell.web.output_view import LATEST, LINGER, SOONEST
from watchbell.web.services import Asked, actor_of, audited, services_of

MOST_JOBS = 100
"""Jobs of one node that are shown."""


def shown(record: JobRecord, found: RunView) -> WorkflowRun:
    return WorkflowRun(
        job=found.job,
        start=found.start,
        is_over=found.is_over,
        suspended=found.suspended,
        progress=1 if found.is_over else record.job.progress,
        nodes=[_node(one) for one in found.nodes],
        wires=[WireShown(**msgspec.structs.asdict(one)) for one in found.wires],
    )


def _node(one: NodeView) -> NodeShown:
    jobs = [_job(stub) for stub in one.jobs[-MOST_JOBS:]]
    return NodeShown(**{**msgspec.structs.asdict(one), "jobs": jobs})


def _job(stub: Stub) -> NodeJob:
    return NodeJob(
        id=stub.id,
        index=stub.index,
        is_over=bool(stub.completed) or not stub.id,
        code=stub.code,
        description=stub.description,
        server=stub.server,
        elapsed=stub.elapsed,
        retried=stub.retried,
        replay=stub.replay,
    )


@get("/jobs/{id:str}/workflow", opt=needs("read"))
async def run(request: Asked, id: Id) -> WorkflowRun:  # noqa: A002
    """Get how each node of a run of a workflow goes: its state, counts, durations and jobs."""
    services, record = services_of(request), await record_of(request, id)
    found = await workflow_runs.view(services.store, record, services.clock.now())
    return shown(record, found)


@get("/jobs/{id:str}/workflow/live", opt=needs("read"), media_type=EVENT_STREAM)
async def live(request: Asked, id: Id) -> EventStream:  # noqa: A002
    """Follow a run of a workflow: an event `run` with its nodes when something has changed, `end`
    with the same when it ends, or `gone` if its record was deleted."""
    services, record = services_of(request), await record_of(request, id)
    await workflow_runs.view(services.store, record, 0)  # refuses other jobs
    return streamed(request, changes(services.store, id, services.clock))


async def changes(store: Store, id: str, clock: Clock) -> AsyncGenerator[Event]:  # noqa: A002
    key, seen, pause = Jobs(store.prefix).job(id), object(), SOONEST
    sent: Any = None
    while True:
        mark = await store.call("HMGET", key, "updated", "state", "status")
        pause = min(pause * 1.5, LATEST)
        if mark != seen:
            seen, pause = mark, SOONEST
            (record,) = await job_records.find(store, [id])
            if record is None:
                yield Event("", "gone", b"null")
                return
            found = shown(record, await workflow_runs.view(store, record, clock.now()))
            is_over = record.job.state == "complete"
            if is_over or _bare(found) != sent:
                sent = _bare(found)
                yield Event("", "end" if is_over else "run", msgspec.json.encode(found))
            if is_over:
                await asyncio.sleep(LINGER)
                return
        await asyncio.sleep(pause)


def _bare(found: WorkflowRun) -> WorkflowRun:
    """The time that passes is no news."""
    nodes = [msgspec.structs.replace(one, elapsed=0) for one in found.nodes]
    return msgspec.structs.replace(found, nodes=nodes)


@post("/jobs/{id:str}/suspend", status_code=204, opt=needs("run_jobs"))
async def suspend(request: Asked, id: Id) -> None:  # noqa: A002
    """Suspend a run of a workflow: jobs in progress go on, and no further node begins."""
    services, job = services_of(request), (await record_of(request, id)).job
    await check_access(request, "run_jobs", job.category, job.targets)
    await workflow_runs.suspend(services.store, id, actor_of(request))
    await audited(request, "jobs.suspend", id)


ROUTES = Router("/", tags=["Jobs"], route_handlers=[run, live, suspend])
