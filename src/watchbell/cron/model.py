"""Jobs, fires, runs and omissions, as they are stored."""

import hashlib
from collections.abc import Mapping
from math import isfinite
from typing import Literal, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from watchbell.cron.placement import Placement
from watchbell.cron.retries import Policy
from watchbell.schedule.due import Missed
from watchbell.schedule.firing import Schedule

Overlap = Literal["skip", "queue", "allow"]
Daemons = Literal["end", "leave"]
Status = Literal["running", "success", "fail", "frozen"]
Why = Literal["schedule", "late", "trigger", "retry"]
T = TypeVar("T")

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Everything that reading JSON can raise, whatever its bytes."""


class RunOptions(Struct, frozen=True, kw_only=True):
    """The `watchbell` part of a definition: options that the document does not know."""

    alert: bool = True
    """Whether its runs are reported as check events."""
    missed: Missed = "skip"
    """What to do about runs that are late by more than `grace`."""
    grace: int | None = None
    """Seconds by which a run may start late; None for the setting's."""
    overlap: Overlap | None = None
    """What to do when a run is due while the lock is held; None for `skip`, without a lock
    `allow`."""
    time_limit: float | None = None
    kill_after: float | None = None
    """Seconds from SIGTERM to SIGKILL; None for the setting's."""
    linger: float | None = 10
    """Seconds that processes may outlive their command; None for no limit."""
    daemons: Daemons = "end"
    """Whether processes with a session of their own end with the run."""
    environment: Mapping[str, str] = {}
    folder: str = ""
    user: str = ""
    group: str = ""
    nice: int | None = None
    limits: Mapping[str, int] = {}
    output_limit: int | None = None
    """MiB up to which a run's output is complete; None for the setting's."""
    retries: int = 0
    """How often a failed run is retried."""
    retry_delay: float = 60
    """Seconds from a failure to the first retry."""
    retry_factor: float = 2
    """Factor by which the delay grows from one retry to the next."""
    hosts: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def retrying(self) -> Policy:
        return Policy(retries=self.retries, delay=self.retry_delay, factor=self.retry_factor)

    @property
    def placement(self) -> Placement:
        return Placement(self.hosts, self.tags)


class Job(Struct, frozen=True, kw_only=True):
    """A definition that can be run."""

    name: str
    cmd: str
    lock: str
    """The lock's name; empty for none, and then every instance runs the job."""
    ttl: int
    schedule: Schedule
    fingerprint: str
    """Of the schedule: definitions with the same fingerprint fire at the same times."""
    is_paused: bool = False
    options: RunOptions = RunOptions()

    @property
    def overlap(self) -> Overlap:
        return self.options.overlap or ("skip" if self.lock else "allow")


class DefinitionError(Struct, frozen=True):
    """Why a definition can't be run."""

    field: str
    """Its path in the definition, or `name`; empty if no single field is wrong."""
    reason: str
    reason_without_value: str
    """For readers who may not see the values of the definition."""

    @property
    def text(self) -> str:
        return f"{self.field}: {self.reason}" if self.field else self.reason


class Invalid(Struct, frozen=True):
    """A definition that can't be run."""

    name: str
    errors: tuple[DefinitionError, ...]

    @property
    def text(self) -> str:
        return "; ".join(error.text for error in self.errors)


class Fire(Struct, frozen=True, kw_only=True):
    """A run that is due and waits for an instance. The stored form depends on the order of the
    fields."""

    fire: int
    """The second for which it was scheduled, or in which it was triggered."""
    why: Why = "schedule"
    job: str
    lock: str = ""
    """SHA-1 of the lock's name."""
    ttl: int = 0
    """Milliseconds until the lock lapses unless it is renewed."""
    overlap: Overlap | Literal["each"] = "skip"
    """With `each`, any number of a job's fires wait for the lock."""
    is_kept: bool = True
    """Whether the job is in the store; others were only announced on the channel."""
    is_queued: bool = False
    """Whether it waited for its lock."""
    attempt: int | UnsetType = UNSET
    """For a job with retries: the number of this attempt, from 1."""
    attempts: int | UnsetType = UNSET
    """The most attempts."""
    only_on: str | UnsetType = UNSET
    """For a retry of a job without a lock: the instance that runs it."""
    pool: str | UnsetType = UNSET
    """For a job that may not run everywhere: its placement as JSON."""
    trigger: str | UnsetType = UNSET
    """The id of the trigger whose sender waits for an answer."""


class Begun(NamedTuple):
    """A run that is recorded as running and has to be started at its start time."""

    run: str
    start: float
    fire: Fire
    has_lock: bool


class Record(Struct, kw_only=True):
    """A run, as the document has it."""

    job_name: str
    start_time: float
    host: str
    status: Status
    retcode: int | None = None
    output: str | None = None
    duration: float | None = None


class Detail(Struct, kw_only=True, omit_defaults=True):
    """What we store of a run beyond its record."""

    job: str = ""
    fire: int = 0
    why: Why = "schedule"
    attempt: int = 1
    attempts: int = 1
    """How many attempts the job's retries allow."""
    retry_at: float = 0
    """When the next attempt is due; 0 if none follows."""
    lock: str = ""
    is_kept: bool = False
    """Whether its job was in the store; not known for runs of Cronken."""
    instance: str = ""
    reason: str = ""
    """Why it ended, if not by itself."""
    leftovers: tuple[str, ...] = ()
    """Processes that the command left behind and that were ended, each with its pid."""
    cpu: float = 0
    memory: int = 0
    """The most bytes at one time."""
    output_bytes: int = 0


class Omission(Struct, frozen=True, kw_only=True):
    """Fires that were not run, and why."""

    job: str
    first: int
    last: int
    count: int | None
    """How many there are from the first to the last; None for more than were counted."""
    reason: str
    at: float
    """When that was decided."""


class Beat(Struct, kw_only=True):
    """What an instance reports about itself."""

    name: str
    host: str
    ip: str
    pid: int
    since: float = 0
    seen: float = 0
    version: str = ""
    jobs: int = 0
    running: int = 0
    capacity: int = 0
    is_drained: bool = False
    tags: tuple[str, ...] = ()
    every: float = 30
    """Seconds between two of these."""
    is_silent: bool = False
    """Whether it sent no heartbeat for three times as long. Not stored, because it follows from
    `seen`."""


def parsed(raw: bytes | None, kind: type[T]) -> T | None:
    """Stored JSON as a value of this type; None if it is missing or something else."""
    try:
        return None if raw is None else msgspec.json.decode(raw, type=kind)
    except UNREADABLE:
        return None


def lock_of(name: str) -> str:
    """The part of a lock's key that stands for its name; empty for no lock."""
    return hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest() if name else ""


def encoded(record: Record, *, upstream: bool) -> bytes:
    """The record as JSON; upstream's form leaves out unknown values."""
    if not upstream:
        return msgspec.json.encode(record)
    fields = msgspec.structs.asdict(record) | {"start_time": f"{record.start_time:.6f}"}
    return msgspec.json.encode({name: value for name, value in fields.items() if value is not None})


def decoded(raw: bytes) -> Record | None:
    """Reads a record in either form; None if it can't be read."""
    try:
        record = msgspec.convert(msgspec.json.decode(raw), Record, strict=False)
    except UNREADABLE:
        return None
    return record if isfinite(record.start_time) and isfinite(record.duration or 0) else None
