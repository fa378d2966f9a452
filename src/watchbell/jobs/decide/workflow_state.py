"""What is known of a run of a workflow between two steps, and what can happen to it."""

from typing import Any, Literal

from msgspec import Struct

from watchbell.jobs.model import Code, JobFile, Usage
from watchbell.jobs.workflow_model import NodeState, Stub

What = Literal["start", "ended", "refused", "wait", "abort", "suspend", "resume", "limit"]


class Values(Struct, frozen=True, omit_defaults=True):
    """What a job passed on."""

    data: Any = None
    files: tuple[JobFile, ...] = ()


class EndedJob(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job of a run that has ended, as its record says."""

    id: str
    code: Code = 0
    description: str = ""
    server: str = ""
    started: float = 0
    completed: float = 0
    elapsed: float = 0
    tags: tuple[str, ...] = ()
    data: Any = None
    files: tuple[JobFile, ...] = ()
    retry: str = ""
    """The job that is the next attempt."""
    workflowData: dict[str, Any] = {}  # noqa: N815 as in `Job`
    table: Any = None
    html: Any = None
    cpu: Usage | None = None
    mem: Usage | None = None


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What happened to a run: an item of the queue `workflow_steps`."""

    run: str
    what: What
    node: str = ""
    """Of `resume`: the node to go on with; empty for those that are held back."""
    wait: str = ""
    """Of `wait`: which one has ended."""
    job: EndedJob | None = None
    """Of `ended` and `refused`."""
    reason: str = ""
    by: str = ""
    retry_ok: bool = False
    limit: int = 0


class Input(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a node gets: what a job passed on, or values, or several of these together."""

    job: str = ""
    rank: tuple[int, int] = (0, 0)
    """The place of its node in the graph, and which job of that node it was: parts are joined in
    this order, whichever came first."""
    data: Any = None
    files: tuple[JobFile, ...] = ()
    parts: tuple["Input", ...] = ()
    is_joined: bool = False


class Token(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node that is to run, once."""

    node: str
    input: Input = Input()
    source: str = ""
    """The node from which it came."""
    group: str = ""
    """The jobs of a controller to which its job belongs."""
    targets: tuple[str, ...] = ()
    delay: float = 0


class ActiveJob(Struct, frozen=True, omit_defaults=True):
    node: str
    index: int = 0
    group: str = ""


class Group(Struct, omit_defaults=True):
    """The jobs that a controller launched at once."""

    controller: str
    node: str
    total: int
    done: int = 0
    succeeded: int = 0
    inputs: tuple[Input, ...] = ()


class Wait(Struct, frozen=True, omit_defaults=True):
    node: str
    until: float
    input: Input = Input()


class RunState(Struct, kw_only=True, omit_defaults=True):
    nodes: dict[str, NodeState] = {}
    wires: dict[str, int] = {}
    """How often each wire fired."""
    active: dict[str, ActiveJob] = {}
    groups: dict[str, Group] = {}
    joins: dict[str, tuple[Input, ...]] = {}
    """What has arrived at joins that still wait."""
    waits: dict[str, Wait] = {}
    deadlines: dict[int, float] = {}
    """When limits of time will be reached, by their places among the limits of the run."""
    held: tuple[Token, ...] = ()
    """What is to run once the run is resumed."""
    launched: int = 0
    numbered: int = 0
    """Groups and waits made so far."""
    succeeded: int = 0
    failed: int = 0
    size: int = 0
    """Bytes of what jobs passed on."""
    failure: str = ""
    """The first one, in words."""
    suspended: str = ""
    """Why it is suspended."""
    aborted: str = ""
    retry_ok: bool = False
    limit: int | None = None
    """The limit that aborted it."""
    data: dict[str, Any] = {}
    """What all jobs share."""
    tags: tuple[str, ...] = ()
    table: Any = None
    html: Any = None
    cpu: Usage | None = None
    mem: Usage | None = None

    def timed_steps(self, run: str) -> list[tuple[float, Step]]:
        """What will happen to the run by itself, and when."""
        waits = [
            (one.until, Step(run=run, what="wait", wait=name)) for name, one in self.waits.items()
        ]
        limits = [
            (at, Step(run=run, what="limit", limit=place)) for place, at in self.deadlines.items()
        ]
        return [*waits, *limits]


class End(Struct, frozen=True, kw_only=True):
    code: Code
    description: str
    retry_ok: bool = False
    limit: int | None = None


class Kept(Struct, frozen=True):
    """What is kept of a job that has ended."""

    stub: Stub
    values: Values
