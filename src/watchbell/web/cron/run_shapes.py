"""What the API returns for runs, their output, and instances."""

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
    """Whether it was scheduled, late, triggered or tried again."""
    fire: int
    """The second for which it was scheduled, or in which it was triggered; 0 where not known."""
    attempt: int
    attempts: int
    """The most attempts, by the job's retries."""
    retry_at: float | None
    """When the next attempt is due; null where none follows."""
    cpu: float
    """Seconds of CPU time."""
    memory: int
    """Peak, in bytes."""
    output_bytes: int


class RunInFull(Struct, frozen=True):
    run: RunShown
    tail: str
    """The last lines of its output, which are stored longer than all of it."""


class OmissionShown(Struct, frozen=True, kw_only=True):
    """Runs that were omitted."""

    job: str
    first: int
    last: int
    count: int | None
    """Null for more than were counted."""
    reason: str
    at: float
    """When that was decided."""


class LineShown(Struct, frozen=True):
    n: int
    """Its number, from 1 on; where some are missing, they were not kept."""
    at: float
    """When it was printed; 0 where that is not known."""
    text: str
    """Without its ending, but for a carriage return, after which the next line takes its place."""


class OutputShown(Struct, frozen=True, kw_only=True):
    """Consecutive lines."""

    total: int
    """Lines that are kept."""
    complete: int
    """How many of the first are there without a gap. The others are the newest, and may be replaced
    as long as the run goes on."""
    start: int
    """The place of the first line that is given, counted from 0."""
    lines: list[LineShown]


class HitsShown(Struct, frozen=True):
    places: list[int]
    """Of lines that have the text, counted from 0, in the order in which they were found."""
    next: int | None
    """`start` of the next search; null where all was looked at."""


class News(Struct, frozen=True, kw_only=True):
    """Output of a run since the last event."""

    total: int
    complete: int
    start: int
    skipped: int
    """Lines before `start` that were left out, since there were too many; they can be asked for."""
    lines: list[LineShown]


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
    """Whether it was silent for so long that it is considered dead."""
    tags: tuple[str, ...]


class Fleet(Struct, frozen=True, kw_only=True):
    instances: list[InstanceShown]
    running: int
    capacity: int
    """Of those that are not drained."""
    pending: int
    """Runs that wait for a free place."""


class Hosts(Struct, frozen=True, forbid_unknown_fields=True):
    hosts: Annotated[list[Host], Meta(min_length=1, max_length=1_000)]
