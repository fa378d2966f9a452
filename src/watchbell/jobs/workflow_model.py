"""Workflows: the graph that an event runs, and what a run of it keeps."""

from typing import Any, Literal

from msgspec import Struct

NodeType = Literal["event", "job", "trigger", "limit", "action", "controller", "note"]
ControllerType = Literal["multiplex", "repeat", "split", "join", "decision", "wait"]
RUNNING: tuple[NodeType, ...] = ("event", "job")
"""Types of nodes that launch jobs."""
FANNING: tuple[ControllerType, ...] = ("multiplex", "repeat", "split")
"""Controllers that launch several jobs of the node after them."""
PLUGIN = "_workflow"
"""The plugin that events and jobs name which are workflows. There is no such record."""


class Node(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    type: NodeType
    data: dict[str, Any] = {}
    """What the node does; each type has its own properties."""
    x: float = 0
    y: float = 0

    @property
    def controller(self) -> str:
        """Of a controller: which."""
        return str(self.data.get("controller", "")) if self.type == "controller" else ""

    @property
    def label(self) -> str:
        """The name that people gave it, or its id."""
        return str(self.data.get("label") or self.data.get("title") or self.id)


class Connection(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A wire between two nodes."""

    id: str
    source: str
    dest: str
    condition: str = ""
    """Of a wire from an event or job node: when it fires. `success` where it is empty, `complete`
    where the wire leads to an action."""


class Workflow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    nodes: tuple[Node, ...] = ()
    connections: tuple[Connection, ...] = ()


class NodeState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a node of a run goes."""

    started: float = 0
    completed: float = 0
    """When it last came to rest."""
    active: int = 0
    """Jobs in progress; of a controller, 1 while it waits."""
    count: int = 0
    """Jobs that have ended, without attempts that were retried; of a join, arrivals."""
    failed: int = 0
    max: int = 0
    """Jobs that were launched; of a join, its incoming wires."""
    error: bool = False
    reason: str = ""
    """Why it failed, was skipped, or did not pass anything on."""


class Stub(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run keeps of a job that it launched."""

    id: str
    """Empty where the job could not be launched."""
    node: str
    index: int = 0
    """Which job of its node it is, counted from 0."""
    code: int | float | str = 0
    description: str = ""
    server: str = ""
    started: float = 0
    completed: float = 0
    elapsed: float = 0
    tags: tuple[str, ...] = ()
    shared: dict[str, Any] = {}
    """What it changed of what the jobs of the run share."""
    retried: bool = False
    replay: bool = False
    """Whether the result is that of an earlier run."""


class Replay(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A result of an earlier run, in place of a job."""

    stub: Stub
    data: Any = None
    files: tuple[dict[str, Any], ...] = ()


class JobWorkflow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of a job that a workflow launched: where it belongs. Of a job that is a run of a workflow:
    the graph, and at its end how each node went. A workflow within a workflow has both."""

    job: str = ""
    """The run that launched it."""
    event: str = ""
    node: str = ""
    index: int = 0
    launcher: str = ""
    """The controller that launched it, or else the node before."""
    params: dict[str, Any] = {}
    """Those of the run."""
    now: float = 0
    queue: str = ""
    """What the jobs of its node have in common that wait for each other; it is no id of an event.
    Empty where the limits of its event count."""
    depth: int = 0
    """How many workflows are around it."""
    start: str = ""
    """The node at which the run begins."""
    nodes: tuple[Node, ...] = ()
    connections: tuple[Connection, ...] = ()
    targets: tuple[str, ...] = ()
    """Where all jobs of the run are to run, in place of what its nodes say."""
    replay: dict[str, tuple[Replay, ...]] = {}
    """Results of an earlier run, by node."""
    rerun: str = ""
    """The job of that run."""
    rerun_from: str = ""
    """The node at which this one begins again; empty where it runs all nodes."""
    state: dict[str, NodeState] = {}
    wires: dict[str, int] = {}
    """How often each wire has fired."""
    jobs: dict[str, tuple[Stub, ...]] = {}

    @property
    def graph(self) -> Workflow:
        return Workflow(nodes=self.nodes, connections=self.connections)
