"""One step of a run of a workflow: its facts, and what all kinds of nodes do. Pure."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.jobs.decide.workflow_state import End, Input, Kept, RunState, Step, Token, Values
from watchbell.jobs.decide.workflow_values import NeedsValues, combined
from watchbell.jobs.model import Job
from watchbell.jobs.workflow_graph import Graph
from watchbell.jobs.workflow_model import Node, NodeState

_EMPTY: dict[str, Any] = {}


class Launch(Struct, frozen=True, kw_only=True):
    """A job that is to be launched."""

    graph: Graph
    node: Node
    index: int
    source: str
    data: Any
    files: tuple[Any, ...]
    parent: str
    """The job whose end led here; empty if it was none."""
    targets: tuple[str, ...]
    delay: float


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a decision asks about the world outside the run."""

    prepare: Callable[[Launch, dict[str, Any]], Job | str]
    """The job, or why it can't be launched. Takes the data that the jobs of the run share."""
    servers: Callable[[Node], Sequence[str]]
    """The servers that the targets of a node stand for now."""
    values: Mapping[str, Values] = {}
    """What jobs of the run passed on, as far as it is known."""
    most_jobs: int = 1_000


class Decision(Struct, kw_only=True):
    state: RunState
    launches: list[tuple[str, Job]] = []
    """Each with the node."""
    kept: list[Kept] = []
    aborts: list[str] = []
    """Jobs that are to be aborted."""
    items: list[bytes] = []
    """For the queue of actions."""
    later: list[tuple[float, Step]] = []
    lines: list[str] = []
    """For the activity log."""
    end: End | None = None


class RunStep:
    """The state is changed in place. Raises NeedsValues where values are missing."""

    def __init__(self, job: Job, state: RunState, around: Surroundings, now: float) -> None:
        assert job.workflow is not None
        self._job, self._workflow, self._around, self._now = job, job.workflow, around, now
        self._graph = Graph(self._workflow.graph)
        self._state = state
        self._decision = Decision(state=state)
        self._tokens: deque[Token] = deque()
        self._values: dict[str, Values] = dict(around.values)
        self._ran = 0
        again, nodes = self._workflow.rerun_from, self._graph.nodes.keys()
        self._kept = nodes - self._graph.after([again]) if again in nodes else set()

    def _is_kept(self, node: str) -> bool:
        """Whether the run takes what an earlier one has of this node."""
        return node in self._kept

    def _fire_all(self, node: str, passed: Input) -> None:
        for wire in self._graph.outputs.get(node, ()):
            self._fire(wire.id, node, wire.dest, passed)

    def _fire(self, wire: str, source: str, dest: str, passed: Input) -> None:
        self._state.wires[wire] = self._state.wires.get(wire, 0) + 1
        self._tokens.append(Token(node=dest, input=passed, source=source))

    def _context(self, passed: Values) -> dict[str, Any]:
        files = msgspec.to_builtins(passed.files)
        shared, params = self._state.data, self._job.params
        data = passed.data if passed.data is not None else _EMPTY
        return {"data": data, "files": files, "workflowData": shared, "params": params}

    def _resolved(self, one: Input) -> Values:
        if one.is_joined:
            return combined([self._resolved(part) for part in one.parts])
        if not one.job:
            return Values(one.data, one.files)
        if one.job not in self._values:
            raise NeedsValues
        return self._values[one.job]

    def _joined(self, node: str, parts: Sequence[Input]) -> Input:
        """Whatever the order in which they came."""
        ordered = tuple(sorted(parts, key=lambda one: one.rank))
        return Input(parts=ordered, is_joined=True, rank=(self._graph.place(node), 0))

    def _of(self, node: str) -> NodeState:
        return self._state.nodes.get(node) or NodeState()

    def _set(self, node: str, **values: Any) -> None:
        self._state.nodes[node] = replace(self._of(node), **values)

    def _rest(self, node: str, reason: str = "") -> None:
        active = max(self._of(node).active - 1, 0)
        self._set(node, active=active, completed=self._now, reason=reason)

    def _fail(self, node: str, reason: str) -> None:
        started = self._of(node).started or self._now
        self._set(node, error=True, reason=reason, started=started, completed=self._now)
        self._log(f"{self._name(node)} failed: {reason}")
        self._state.failure = self._state.failure or f"{self._name(node)}: {reason}"

    def _abort(self, reason: str, *, retry_ok: bool = False) -> None:
        state = self._state
        state.aborted, state.retry_ok, state.suspended = reason, retry_ok, ""
        for node in self._waiting():
            why = "the run was aborted"
            self._set(node, active=0, error=True, completed=self._now, reason=why)
        state.joins, state.waits, state.held, state.groups = {}, {}, (), {}
        state.deadlines = {}
        for node, job in self._decision.launches:
            known = self._of(node)
            started = known.started if known.max > 1 else 0
            self._set(node, started=started, active=known.active - 1, max=known.max - 1)
            del state.active[job.id]
            state.launched -= 1
        self._decision.launches, self._decision.later = [], []
        self._decision.aborts += state.active
        self._log(reason if reason.startswith("Aborted") else f"Aborted: {reason}")

    def _name(self, node: str) -> str:
        found = self._graph.nodes.get(node)
        return found.label if found else node

    def _log(self, line: str) -> None:
        self._decision.lines.append(line)

    def _waiting(self) -> set[str]:
        """Controllers that wait for something."""
        state = self._state
        waits = (one.node for one in state.waits.values())
        return {*state.joins, *waits, *(one.controller for one in state.groups.values())}
