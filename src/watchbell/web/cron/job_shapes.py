"""What the API accepts and returns for cron jobs."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from watchbell.cron.imports import Form
from watchbell.cron.job_filter import JobCounts
from watchbell.cron.job_status import JobState
from watchbell.cron.model import Status
from watchbell.web.problems import FieldError

Name = Annotated[str, Meta(min_length=1, max_length=5_000)]
"""Longer than we allow, so that jobs of other programs can be deleted."""
Names = Annotated[list[Name], Meta(min_length=1, max_length=1_000)]
Definition = dict[str, Any]


class SpanShown(Struct, frozen=True):
    """A run that ended, in short."""

    id: str
    status: Status
    ended: float
    duration: float | None = None


class LastShown(Struct, frozen=True, kw_only=True):
    """The run that ended last."""

    id: str
    status: Status
    ended: float
    duration: float | None = None
    words: str
    """How it ended."""


class CronJobRow(Struct, frozen=True, kw_only=True):
    """A job in a list."""

    name: str
    state: JobState
    command: str
    """The beginning of the command."""
    words: str
    """The schedule in words; empty if the definition is not valid."""
    zone: str
    """The time zone of the schedule; empty if it counts seconds."""
    next: list[int]
    """The next runs; none for a paused job."""
    is_paused: bool
    is_failing: bool
    """Whether the last run failed."""
    problems: list[FieldError] = []
    """Errors of the definition."""
    running: list[str] = []
    """Runs in progress."""
    last: LastShown | None = None
    spans: list[SpanShown] = []
    """The latest runs that ended, the newest first."""


class CronJobPage(Struct, frozen=True, kw_only=True):
    items: list[CronJobRow]
    next: str | None = None
    """Where the next page begins; null on the last one."""
    total: int
    """The number of items on all pages."""
    counts: JobCounts


class FireShown(Struct, frozen=True):
    at: int
    local: str
    """Date and time in the schedule's time zone."""
    remark: str = ""
    """How a clock change affects this run."""


class CronJobShown(Struct, frozen=True, kw_only=True):
    """A job with its whole definition."""

    row: CronJobRow
    definition: Any
    """As it is stored; null if that is not JSON."""
    is_masked: bool
    """Whether values of the environment are shown as `***`, because you may not write."""
    version: str
    """Send it as `If-Match` with a changed definition, so that no other change is overwritten."""
    obstacle: str
    """Why no instance may run it; empty if one may."""
    fires: list[FireShown]


class NewJob(Struct, frozen=True, forbid_unknown_fields=True):
    name: Name
    definition: Definition


class ChangedJob(Struct, frozen=True, forbid_unknown_fields=True):
    definition: Definition


class Saved(Struct, frozen=True, kw_only=True):
    name: str
    words: str
    next: int | None
    is_paused: bool


class Chosen(Struct, frozen=True, forbid_unknown_fields=True):
    names: Names


class MaybeChosen(Struct, frozen=True, forbid_unknown_fields=True):
    names: Annotated[list[Name], Meta(max_length=1_000)] = []
    """Without names, all jobs."""


class Item(Struct, frozen=True):
    name: str
    done: bool
    reason: str = ""
    runs: list[str] = []
    """For a triggered job: the ids of the runs that have started."""


class Items(Struct, frozen=True):
    items: list[Item]
    """In the order of the requested names."""


class Validated(Struct, frozen=True, kw_only=True):
    valid: int
    invalid: int
    items: list["JobProblems"]
    """The first thousand invalid jobs."""


class JobProblems(Struct, frozen=True):
    name: str
    problems: list[FieldError]


class PreviewAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Either a whole definition, or `cron_args` alone."""

    cron_args: Definition | None = None
    definition: Definition | None = None
    name: Annotated[str, Meta(max_length=5_000)] = "preview"
    count: Annotated[int, Meta(ge=0, le=100)] = 10
    since: Annotated[int, Meta(ge=0, le=200_000_000_000)] | None = None
    """Show runs from this second on; without it, from now on."""


class Preview(Struct, frozen=True, kw_only=True):
    words: str
    """The schedule in words; empty if it is not valid."""
    zone: str
    fires: list[FireShown]
    problems: list[FieldError]


class Defaults(Struct, frozen=True, kw_only=True):
    """Values that are used for fields which a definition does not set."""

    timezone: str
    missed_grace: int
    kill_after: int
    output_limit: int
    """MiB."""
    shell: str
    limits: list[str]
    """Resources that can be limited."""


class Bucket(Struct, frozen=True):
    at: int
    count: int
    names: list[str]
    """The first of the jobs that run in it."""


class Ahead(Struct, frozen=True, kw_only=True):
    since: int
    until: int
    seconds: int
    """The length of a bucket in seconds."""
    buckets: list[Bucket]
    """Only buckets with runs."""
    frequent: int
    """Jobs that run so often that they are left out of the buckets."""


class Import(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=1_000_000)]
    form: Form = "crontab"
    users: bool = False
    """Whether the lines of a crontab name a user after the times."""
    replace: bool = False
    """Whether jobs of the same names are replaced."""


class ImportedJob(Struct, frozen=True, kw_only=True):
    line: int
    """The line of the crontab; 0 for JSON."""
    name: str
    words: str
    command: str
    is_known: bool
    problems: list[FieldError] = []


class LeftOut(Struct, frozen=True):
    line: int
    text: str
    reason: str


class ImportPlan(Struct, frozen=True, kw_only=True):
    jobs: list[ImportedJob]
    left_out: list[LeftOut]
    obstacles: list[str]
    """Why the import as a whole is refused; empty if it is not."""
    done: int = 0
    """Names of the jobs that were created."""
