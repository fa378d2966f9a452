"""Runs of workflows for people: how each goes, suspending and resuming, repeating a part of one."""

import msgspec

from watchbell.actors import Actor
from watchbell.errors import NotFound, Refused
from watchbell.jobs import job_records, workflow_graph, workflow_scripts
from watchbell.jobs.decide import workflow_view
from watchbell.jobs.decide.workflow_state import Step
from watchbell.jobs.decide.workflow_view import RunView
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Job
from watchbell.jobs.workflow_graph import Graph
from watchbell.jobs.workflow_model import JobWorkflow, Replay, Stub, Workflow
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

# KEYS[1] ready; ARGV[1] run, ARGV[2] step. Returns whether the run is in progress.
_ADD_STEP = Script(
    LAYOUT
    + """
if redis.call('HGET', jobs.job .. ARGV[1], 'state') ~= '"active"' then return 0 end
redis.call('RPUSH', jobs.workflow_steps, ARGV[2])
return 1
"""
)


async def view(store: Store, record: JobRecord, now: float) -> RunView:
    """How a run goes. Raises Refused for a job that is none."""
    job = record.job
    if not is_run(job):
        raise Refused(f"job {job.id} is no run of a workflow")
    assert job.workflow is not None
    if not record.is_live or job.workflow.state:  # its end is written, if not recorded yet
        ended = [one for some in job.workflow.jobs.values() for one in some]
        return workflow_view.view(job, None, ended, now)
    stubs, _ = await workflow_scripts.kept(store, job.id)
    if not await store.call("EXISTS", Jobs(store.prefix).job(job.id)):
        (recorded,) = await job_records.find(store, [job.id])
        if recorded is not None and is_run(recorded.job) and not recorded.is_live:
            return await view(store, recorded, now)
    return workflow_view.view(job, workflow_scripts.state_of(record), stubs, now)


def is_run(job: Job) -> bool:
    return job.type == "workflow" and job.workflow is not None


async def suspend(store: Store, job: str, who: Actor) -> None:
    """No node of the run is begun until it is resumed; jobs in progress go on. Raises NotFound and
    Refused."""
    record = await _run(store, job)
    if suspension(record):
        raise Refused(f"job {job} is suspended already")
    await _add(store, Step(run=job, what="suspend", reason=f"suspended by {who.display_name}"))


async def resume(store: Store, job: str, who: Actor, node: str = "") -> None:
    """Goes on with what was held back, or with a node in place of that. Raises NotFound and
    Refused."""
    (record,) = await job_records.find(store, [job])
    if record is None or not record.is_live:
        raise NotFound(f"there is no job {job[:100]!r} in progress")
    if not is_run(record.job) or not suspension(record):
        raise Refused(f"job {job} is not suspended", code="not_suspended")
    if node and record.job.workflow is not None:
        _check_node(record.job.workflow.graph, node)
    await _add(store, Step(run=job, what="resume", node=node, by=who.display_name))


async def add_step(store: Store, step: Step) -> bool:
    """Whether the run is in progress."""
    args: list[Argument] = [step.run, msgspec.json.encode(step)]
    return bool(await _ADD_STEP(store, [Jobs(store.prefix).ready()], args))


async def _add(store: Store, step: Step) -> None:
    if not await add_step(store, step):
        raise NotFound(f"there is no run {step.run[:100]!r} in progress")


async def _run(store: Store, job: str) -> JobRecord:
    (record,) = await job_records.find(store, [job])
    if record is None or not record.is_live:
        raise NotFound(f"there is no job {job[:100]!r} in progress")
    if not is_run(record.job) or record.job.state != "active":
        raise Refused(f"job {job} is no run of a workflow that has begun")
    return record


def suspension(record: JobRecord) -> str:
    """Why a run is suspended; empty if it is not."""
    state = workflow_scripts.state_of(record)
    return state.suspended if state else ""


def _check_node(graph: Workflow, node: str) -> None:
    own = workflow_graph.own_actions(graph)
    known = [
        one.id for one in graph.nodes if one.type in ("event", "job", "controller") or one.id in own
    ]
    if node not in known:
        raise Refused(f"there is no node {node!r}; expected one of {', '.join(known)}")


async def repetition(store: Store, job: Job, graph: Workflow, node: str) -> JobWorkflow:
    """What a new run of this graph takes from an earlier one: the results of all nodes except this
    one and those after it. Raises Refused."""
    if not is_run(job) or job.workflow is None or job.state != "complete":
        raise Refused(f"job {job.id} is no run of a workflow that has ended")
    _check_node(graph, node)
    again = Graph(graph).after([node])
    stubs = [
        one
        for name, some in job.workflow.jobs.items()
        if name not in again
        for one in some
        if not one.retried
    ]
    replay: dict[str, tuple[Replay, ...]] = {}
    records = await job_records.find(store, [one.id for one in stubs])
    for stub, record in zip(stubs, records, strict=True):
        replay[stub.node] = (*replay.get(stub.node, ()), _replay(stub, record))
    return JobWorkflow(replay=replay, rerun=job.id, rerun_from=node)


def _replay(stub: Stub, record: JobRecord | None) -> Replay:
    """A job whose record was deleted passes nothing on."""
    if record is None:
        return Replay(stub=stub)
    files = tuple(msgspec.to_builtins(one) for one in record.job.files)
    return Replay(stub=stub, data=record.job.data, files=files)
