"""What the API returns for runs of workflows."""

from typing import Literal

from msgspec import Struct

from watchbell.jobs.model import Code


class NodeJob(Struct, frozen=True, kw_only=True):
    """A job of a node."""

    id: str
    """Empty where it could not be launched."""
    index: int
    """Which job of its node it is, counted from 0."""
    is_over: bool
    code: Code
    description: str
    server: str
    elapsed: float
    retried: bool
    """Whether it was tried again."""
    replay: bool
    """Whether it belongs to an earlier run, whose result was taken over."""


class NodeShown(Struct, frozen=True, kw_only=True):
    id: str
    type: Literal["event", "job", "trigger", "limit", "action", "controller", "note"]
    controller: str
    """Of a controller, which; else empty."""
    label: str
    condition: Literal["idle", "running", "waiting", "held", "succeeded", "failed"]
    """`held`: it runs once the run is resumed."""
    active: int
    """Jobs in progress."""
    count: int
    """Jobs that have ended; of a join, what has arrived."""
    failed: int
    max: int
    """Jobs that were launched; of a join, its incoming wires."""
    started: float
    completed: float
    elapsed: float
    """Seconds from its first start to now, or to when it came to rest."""
    reason: str
    """Why it failed or has not run; empty if neither."""
    jobs: list[NodeJob]
    """Its newest jobs, at most 100."""


class WireShown(Struct, frozen=True, kw_only=True):
    id: str
    source: str
    dest: str
    condition: str
    fired: int
    """How often it fired."""


class WorkflowRun(Struct, frozen=True, kw_only=True):
    """How a run of a workflow goes."""

    job: str
    start: str
    """The node at which it began."""
    is_over: bool
    suspended: str
    """Why it is suspended; empty if it is not."""
    progress: float
    nodes: list[NodeShown]
    wires: list[WireShown]
