"""How a run of a workflow goes, node by node, and why a node has not run. Pure."""

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from watchbell.jobs import outcomes
from watchbell.jobs.decide.workflow_state import RunState
from watchbell.jobs.model import Job
from watchbell.jobs.workflow_graph import Graph
from watchbell.jobs.workflow_model import RUNNING, JobWorkflow, Node, NodeState, NodeType, Stub
from watchbell.jobs.workflow_rules import CONTINUE
from watchbell.units import counted

Condition = Literal["idle", "running", "waiting", "held", "succeeded", "failed"]


class NodeView(Struct, frozen=True, kw_only=True):
    id: str
    type: NodeType
    controller: str
    label: str
    condition: Condition
    active: int
    """Jobs in progress; of a controller, what it waits for."""
    count: int
    failed: int
    max: int
    started: float
    completed: float
    elapsed: float
    """Seconds from its first start to now, or to when it came to rest."""
    reason: str
    """Why it failed or has not run."""
    jobs: tuple[Stub, ...]


class WireView(Struct, frozen=True):
    id: str
    source: str
    dest: str
    condition: str
    fired: int


class RunView(Struct, frozen=True, kw_only=True):
    job: str
    start: str
    is_over: bool
    suspended: str
    """Why it is suspended; empty if it is not."""
    nodes: list[NodeView]
    wires: list[WireView]


def view(job: Job, state: RunState | None, ended: Sequence[Stub], now: float) -> RunView:
    """`state` is None for a run that is over, or has not begun."""
    workflow = job.workflow or JobWorkflow()
    graph, found = (
        Graph(workflow.graph),
        state or RunState(nodes=workflow.state, wires=workflow.wires),
    )
    live = [Stub(id=name, node=one.node, index=one.index) for name, one in found.active.items()]
    stubs = _by_node([*ended, *live])
    held = {one.node for one in found.held}
    nodes = [
        _node(graph, one, found, stubs.get(one.id, ()), now, is_held=one.id in held)
        for one in workflow.nodes
    ]
    wires = [
        WireView(one.id, one.source, one.dest, one.condition, found.wires.get(one.id, 0))
        for one in workflow.connections
    ]
    is_over = job.state in ("finishing", "complete")
    return RunView(
        job=job.id,
        start=workflow.start,
        is_over=is_over,
        suspended=found.suspended,
        nodes=nodes,
        wires=wires,
    )


def _by_node(stubs: Iterable[Stub]) -> dict[str, tuple[Stub, ...]]:
    found: dict[str, list[Stub]] = {}
    for one in stubs:
        found.setdefault(one.node, []).append(one)
    return {
        node: tuple(sorted(some, key=lambda one: (one.index, one.completed or float("inf"))))
        for node, some in found.items()
    }


def _node(
    graph: Graph,
    node: Node,
    state: RunState,
    stubs: tuple[Stub, ...],
    now: float,
    *,
    is_held: bool,
) -> NodeView:
    one = state.nodes.get(node.id) or NodeState()
    until = one.completed if not one.active else now
    condition = "held" if is_held else _condition(node, one)
    reason = one.reason
    if condition == "idle" and not reason:
        reason = why_idle(graph, node, state)
    return NodeView(
        id=node.id,
        type=node.type,
        controller=node.controller,
        label=node.label,
        condition=condition,
        active=one.active,
        count=one.count,
        failed=one.failed,
        max=one.max,
        started=one.started,
        completed=one.completed,
        elapsed=round(max(until - one.started, 0), 3) if one.started else 0,
        reason=reason,
        jobs=stubs,
    )


def _condition(node: Node, one: NodeState) -> Condition:
    if one.active:
        return "running" if node.type in RUNNING else "waiting"
    if one.error or one.failed:
        return "failed"
    return "succeeded" if one.started else "idle"


def why_idle(graph: Graph, node: Node, state: RunState) -> str:
    """Why a node has not run; empty where that needs no words."""
    if node.type in ("note", "limit", "trigger"):
        return "" if node.type != "trigger" else "the run began elsewhere"
    inputs = graph.inputs.get(node.id, [])
    if not inputs:
        return "no wire leads to it"
    if node.type == "action" and all(
        graph.nodes[one.source].type in RUNNING and one.condition != CONTINUE for one in inputs
    ):
        return ""  # it belongs to jobs, which say what became of it
    reasons = []
    for wire in inputs:
        source = graph.nodes[wire.source]
        known = state.nodes.get(source.id) or NodeState()
        name = source.label
        if known.active:
            reasons.append(f"{name} is still running")
        elif not known.started:
            reasons.append(f"{name} has not run")
        elif source.type in RUNNING:
            condition = wire.condition or "success"
            reasons.append(f"{name} ended without {condition}: {_outcome(known)}")
        else:
            reasons.append(f"{name} did not pass anything on")
    return "; ".join(dict.fromkeys(reasons))


def _outcome(one: NodeState) -> str:
    if not one.failed:
        return f"{counted(one.count, 'job')} succeeded"
    return f"{one.failed} of {counted(one.count, 'job')} failed"


def lines(found: RunView) -> list[str]:
    """The nodes as a tree: each below the first that leads to it."""
    nodes = {one.id: one for one in found.nodes}
    outputs: dict[str, list[WireView]] = {}
    for wire in found.wires:
        outputs.setdefault(wire.source, []).append(wire)
    inner = {wire.dest for wire in found.wires}
    shown, result = set[str](), list[str]()

    def add(name: str, prefix: str, branch: str, condition: str) -> None:
        one = nodes[name]
        mark = f"({condition}) " if condition else ""
        if name in shown:
            result.append(f"{prefix}{branch}{mark}{one.label} (above)")
            return
        shown.add(name)
        result.append(f"{prefix}{branch}{mark}{words(one)}")
        below = prefix + {"": "", "├ ": "│ ", "└ ": "  "}[branch]
        following = [wire for wire in outputs.get(name, ()) if wire.dest in nodes]
        for place, wire in enumerate(following):
            last = place == len(following) - 1
            add(wire.dest, below, "└ " if last else "├ ", wire.condition)

    for one in sorted(found.nodes, key=lambda one: one.id != found.start):
        if one.id not in inner and one.type != "note":
            add(one.id, "", "", "")
    return result


def words(one: NodeView) -> str:
    """`backup: succeeded, 3 of 3 jobs, 12 s`."""
    kind = f" [{one.controller or one.type}]" if one.type not in RUNNING else ""
    if one.type == "limit":
        return one.label + kind
    parts = [f"{one.label}{kind}: {one.condition}"]
    if one.max and one.type in RUNNING:
        parts.append(f"{one.count:,} of {counted(one.max, 'job')}")
        if one.failed:
            parts.append(f"{one.failed:,} failed")
    if one.started and one.elapsed:
        parts.append(outcomes.seconds(one.elapsed))
    return ", ".join(parts) + (f" ({one.reason})" if one.reason else "")
