"""What the API accepts and returns for jobs."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from watchbell.jobs.model import Code, State

Verdict = Literal["", "success", "error", "warning", "critical", "abort"]
Tags = Annotated[list[Annotated[str, Meta(min_length=1, max_length=100)]], Meta(max_length=100)]


class JobRow(Struct, frozen=True, kw_only=True):
    """A job in a list."""

    id: str
    event: str
    title: str
    """The title of its event."""
    state: State
    words: str
    """What it does or waits for, or how it ended."""
    verdict: Verdict
    """How it ended; empty for a job in progress."""
    category: str
    plugin: str
    server: str
    hostname: str
    source: str
    username: str
    launched: float
    started: float
    completed: float
    elapsed: float
    """Seconds; of a job in progress, until now."""
    until: float | None
    """When its delay ends."""
    progress: float
    status: str
    code: Code
    description: str
    tags: tuple[str, ...]
    cpu: float | None
    """Percent of one core, now or on average."""
    memory: float | None
    """Bytes, now or on average."""
    retry_count: int
    retried: bool
    files: int
    log_size: int


class InProgress(Struct, frozen=True, kw_only=True):
    active: int = 0
    queued: int = 0
    delayed: int = 0
    finishing: int = 0


class LiveJobs(Struct, frozen=True, kw_only=True):
    items: list[JobRow]
    total: int
    counts: InProgress


class JobPage(Struct, frozen=True, kw_only=True):
    items: list[JobRow]
    next: str | None = None
    """Where the next page begins; null on the last one."""


class FileShown(Struct, frozen=True, kw_only=True):
    filename: str
    size: int
    url: str
    """A path of this server."""


class ActionShown(Struct, frozen=True, kw_only=True):
    trigger: str
    type: str
    words: str
    """What it does, and to whom."""
    state: Literal["idle", "waiting", "done", "failed"]
    """`idle`: nothing has set it off."""
    result: str
    """What became of it."""
    date: float | None


class ReferenceShown(Struct, frozen=True, kw_only=True):
    id: str
    reason: str
    title: str = ""


class JobShown(Struct, frozen=True, kw_only=True):
    row: JobRow
    job: dict[str, Any]
    """The whole record, with the document's fields."""
    is_masked: bool
    """Whether secret values are shown as `***`."""
    explanation: list[str]
    """Why it waits, was retried, was aborted or ended as it did."""
    procs: dict[str, Any] | None
    """Its processes by their ids, while it runs."""
    conns: list[Any]
    """Their connections."""
    files: list[FileShown]
    actions: list[ActionShown]
    jobs: list[ReferenceShown]
    """Jobs that it launched."""
    event_exists: bool
    is_suspended: bool
    """Whether it waits until somebody resumes it."""
    can_abort: bool
    can_rerun: bool


class AbortAsked(Struct, frozen=True, forbid_unknown_fields=True):
    reason: Annotated[str, Meta(max_length=1_000)] = ""


class TagsAsked(Struct, frozen=True, forbid_unknown_fields=True):
    tags: Tags


class UsagePoint(Struct, frozen=True):
    at: float
    cpu: float
    """Percent of one core."""
    memory: float
    """Bytes."""


class UsageShown(Struct, frozen=True):
    seconds: list[UsagePoint]
    minutes: list[UsagePoint]
