"""What the API returns for runs and instances."""

from typing import Annotated

from msgspec import Meta, Struct

from watchbell.cron.model import Status, Why

Host = Annotated[str, Meta(min_length=1, max_length=300)]


class RunShown(Struct, frozen=True, kw_only=True):
    id: str
    job: str
    status: Status
    start: float
    ended: float | None
    """Null for a run in progress."""
    duration: float | None
    retcode: int | None
    """The exit code, or a signal as a negative number."""
    words: str
    """How it ended; empty for a run in progress."""
    host: str
    instance: str
    why: Why
    """Whether it was scheduled, late, triggered or a retry."""
    fire: int
    """The second for which it was scheduled, or in which it was triggered; 0 if not known."""
    attempt: int
    attempts: int
    """The most attempts that the job's retries allow."""
    retry_at: float | None
    """When the next attempt is due; null if none follows."""
    cpu: float
    """Seconds of CPU time."""
    memory: int
    """Peak memory in bytes."""
    output_bytes: int


class RunInFull(Struct, frozen=True):
    run: RunShown
    tail: str
    """The last lines of its output, which are stored longer than the whole output."""


class OmissionShown(Struct, frozen=True, kw_only=True):
    """Consecutive runs that were missed or skipped for the same reason."""

    job: str
    first: int
    last: int
    count: int | None
    """Null if there were too many to count."""
    reason: str
    at: float
    """When that was decided."""


class InstanceShown(Struct, frozen=True, kw_only=True):
    name: str
    host: str
    ip: str
    pid: int
    version: str
    since: float
    seen: float
    jobs: int
    running: int
    capacity: int
    is_drained: bool
    is_silent: bool
    """Whether it sent no heartbeat for so long that it is considered dead."""
    tags: tuple[str, ...]


class Fleet(Struct, frozen=True, kw_only=True):
    instances: list[InstanceShown]
    running: int
    capacity: int
    """Places on instances that are not drained."""
    pending: int
    """Runs that wait for a free place."""


class Hosts(Struct, frozen=True, forbid_unknown_fields=True):
    hosts: Annotated[list[Host], Meta(min_length=1, max_length=1_000)]
