"""What the API accepts and returns for cron jobs."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from watchbell.cron.imports import Form
from watchbell.cron.job_filter import JobCounts
from watchbell.cron.job_status import JobState
from watchbell.cron.model import Status
from watchbell.web.problems import FieldError

Name = Annotated[str, Meta(min_length=1, max_length=5_000)]
"""Longer than a job's may be, so that those of others can be removed."""
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


class JobRow(Struct, frozen=True, kw_only=True):
    """A job in a list."""

    name: str
    state: JobState
    command: str
    """Its beginning."""
    words: str
    """When it runs; empty where the definition is not valid."""
    zone: str
    """Whose clock the schedule goes by; empty where it counts seconds."""
    next: list[int]
    """The next fires; none for a job that is paused."""
    is_paused: bool
    is_failing: bool
    """Whether the run that ended last did not succeed."""
    problems: list[FieldError] = []
    """What is wrong with the definition."""
    running: list[str] = []
    """Runs under way."""
    last: LastShown | None = None
    spans: list[SpanShown] = []
    """The latest runs that ended, the newest first."""


class JobPage(Struct, frozen=True, kw_only=True):
    items: list[JobRow]
    next: str | None = None
    """Where the next page begins; null on the last one."""
    total: int
    """How many there are on all pages."""
    counts: JobCounts


class FireShown(Struct, frozen=True):
    at: int
    local: str
    """As the clock of the schedule's zone shows it."""
    remark: str = ""
    """What is special about it, since clocks are set around it."""


class JobShown(Struct, frozen=True, kw_only=True):
    """A job with all that it says."""

    row: JobRow
    definition: Any
    """As it is kept; null where that is no JSON."""
    is_masked: bool
    """Whether values of the environment are shown as `***`: that is, unless you may write."""
    version: str
    """To be sent as `If-Match` with a changed definition, so that nobody's change is lost."""
    obstacle: str
    """Why no instance may run it; empty where one may."""
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
    """All without."""


class Item(Struct, frozen=True):
    name: str
    done: bool
    reason: str = ""
    runs: list[str] = []
    """Of a job that was triggered: the ids of its runs, as far as they have begun."""


class Items(Struct, frozen=True):
    items: list[Item]
    """In the order of the names that were given."""


class Validated(Struct, frozen=True, kw_only=True):
    valid: int
    invalid: int
    items: list["JobProblems"]
    """The first thousand of those that are not valid."""


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
    """From this second on; from now on without."""


class Preview(Struct, frozen=True, kw_only=True):
    words: str
    """When it runs; empty where that makes no sense."""
    zone: str
    fires: list[FireShown]
    problems: list[FieldError]


class Defaults(Struct, frozen=True, kw_only=True):
    """What holds where a definition says nothing."""

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
    """The first of the jobs that fire in it."""


class Ahead(Struct, frozen=True, kw_only=True):
    since: int
    until: int
    seconds: int
    """The length of a bucket."""
    buckets: list[Bucket]
    """Those in which something fires."""
    frequent: int
    """Jobs that fire so often that they are left out of the buckets."""


class Import(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=1_000_000)]
    form: Form = "crontab"
    users: bool = False
    """Whether the lines of a crontab name a user after the times."""
    replace: bool = False
    """Whether jobs of the same names are replaced."""


class ImportedJob(Struct, frozen=True, kw_only=True):
    line: int
    """In the crontab; 0 elsewhere."""
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
    """Why it can't be done as a whole; empty where it can."""
    done: int = 0
    """Jobs that were made."""
