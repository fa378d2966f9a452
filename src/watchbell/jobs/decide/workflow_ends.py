"""What the record of a run shows while it goes on and when it is over. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from watchbell.fleet.messages import Result
from watchbell.jobs.decide import completion
from watchbell.jobs.decide.workflow import progress
from watchbell.jobs.decide.workflow_state import End, Values
from watchbell.jobs.decide.workflow_step import Decision
from watchbell.jobs.decide.workflow_values import merged
from watchbell.jobs.model import Job
from watchbell.jobs.workflow_model import JobWorkflow, Stub


def in_progress(run: Job, decision: Decision, now: float) -> dict[str, Any]:
    """The fields of the hash of a run that a step changes."""
    state = decision.state
    found: dict[str, Any] = {"updated": now, "progress": progress(state, run)}
    if decision.lines:
        found["activity"] = completion.with_activity(run, decision.lines, now)
    if state.suspended:
        found["status"] = state.suspended
    elif run.status:
        found["status"] = ""
    return found


def ended(
    run: Job,
    decision: Decision,
    stubs: Sequence[Stub],
    values: Mapping[str, Values],
    now: float,
) -> dict[str, Any]:
    """Likewise, at its end: what its jobs passed on, and how each node went."""
    state = decision.state
    workflow = run.workflow or JobWorkflow()
    places = {one.id: place for place, one in enumerate(workflow.nodes)}
    stubs = sorted(stubs, key=lambda one: (places.get(one.node, 0), one.index, one.completed))
    passed = merged((values[one.id] for one in stubs if one.id in values), state.data)
    tags = dict.fromkeys([*run.tags, *state.tags])
    found: dict[str, Any] = {
        **in_progress(run, decision, now),
        "status": "",
        "data": passed.data,
        "files": passed.files,
        "tags": list(tags),
        "workflowData": state.data,
        "workflow": replace(workflow, state=state.nodes, wires=state.wires, jobs=_by_node(stubs)),
    }
    for name in ("table", "html", "cpu", "mem"):
        if (value := getattr(state, name)) is not None:
            found[name] = value
    return found


def _by_node(stubs: Iterable[Stub]) -> dict[str, tuple[Stub, ...]]:
    found: dict[str, list[Stub]] = {}
    for one in stubs:
        found.setdefault(one.node, []).append(one)
    return {node: tuple(some) for node, some in found.items()}


def result(run: Job, end: End, now: float) -> bytes:
    """What the finisher reads."""
    return msgspec.json.encode(
        Result(
            at=now,
            code=end.code,
            description=end.description,
            elapsed=now - run.started if run.started else 0,
            retry_ok=end.retry_ok,
            limit=end.limit,
        )
    )
