"""What the API accepts and returns for events."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from watchbell.jobs.model import Algorithm, Category, Channel, Code, Plugin, Tag
from watchbell.web.problems import FieldError

EventStatus = Literal["invalid", "disabled", "running", "queued", "failing", "ok", "idle"]
Id = Annotated[str, Meta(min_length=1, max_length=100)]
Definitions = Annotated[list[dict[str, Any]], Meta(max_length=1_000)]
Ids = Annotated[list[Id], Meta(min_length=1, max_length=1_000)]


class LastJob(Struct, frozen=True, kw_only=True):
    """The job that was completed last."""

    id: str
    code: Code
    completed: float
    elapsed: float


class RecentJob(Struct, frozen=True):
    completed: float
    elapsed: float
    failed: bool


class EventRow(Struct, frozen=True, kw_only=True):
    """An event in a list."""

    id: str
    title: str
    icon: str = ""
    enabled: bool
    status: EventStatus
    category: str
    plugin: str
    targets: tuple[str, ...]
    algo: str
    tags: tuple[str, ...]
    words: str
    """The timings in words."""
    next: list[float]
    """The next runs; none for a disabled event."""
    running: int = 0
    """Jobs that run."""
    queued: int = 0
    """Jobs that wait."""
    last: LastJob | None = None
    recent: list[RecentJob] = []
    """The last jobs, oldest first."""
    problem: str = ""
    """Why the stored event can't be used; empty if it can."""
    modified: int = 0
    username: str = ""


class EventCounts(Struct, frozen=True, kw_only=True):
    all: int = 0
    enabled: int = 0
    disabled: int = 0
    failing: int = 0
    running: int = 0
    invalid: int = 0


class EventPage(Struct, frozen=True, kw_only=True):
    items: list[EventRow]
    next: str | None = None
    """Where the next page begins; null on the last one."""
    total: int
    """The number of items on all pages."""
    counts: EventCounts


class Upcoming(Struct, frozen=True):
    at: float
    local: str
    """Weekday, date and time in the zone of the timing."""
    remark: str = ""
    """How a clock change affects this run."""


class Statistics(Struct, frozen=True, kw_only=True):
    """Of the jobs since the event was created, without retried and test jobs."""

    count: int = 0
    mean: float | None = None
    """Seconds."""
    failures: int = 0
    """How many of the last jobs in a row failed."""


class EventShown(Struct, frozen=True, kw_only=True):
    event: dict[str, Any]
    """The whole event, with the document's fields."""
    is_masked: bool
    """Whether secret parameters are shown as dots, because you may not edit events."""
    row: EventRow
    next: list[Upcoming]
    statistics: Statistics
    obstacle: str
    """Why it could not run now; empty if it could."""
    left_out: "LeftOutShown | None"
    """The last scheduled runs that launched nothing."""


class LeftOutShown(Struct, frozen=True, kw_only=True):
    at: float
    """When that was decided."""
    first: float
    last: float
    words: str


class SavedEvent(Struct, frozen=True, kw_only=True):
    id: str
    revision: int
    words: str
    next: float | None


class TimingsAsked(Struct, frozen=True, forbid_unknown_fields=True):
    timings: Annotated[list[dict[str, Any]], Meta(max_length=1_000)]


class TimingsPreview(Struct, frozen=True, kw_only=True):
    words: str
    next: list[Upcoming]
    errors: list[FieldError] = []


class DraftAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workflow as it is being edited."""

    id: Annotated[str, Meta(max_length=100)] = ""
    """Of the event; empty for a new one."""
    workflow: dict[str, Any]
    timings: Annotated[list[dict[str, Any]], Meta(max_length=1_000)] = []


class DraftProblem(Struct, frozen=True, kw_only=True):
    """What is wrong with a workflow."""

    field: str
    """Such as `workflow.nodes[3].data.event`."""
    reason: str
    node: str
    """The id of the node; empty if it is not about one."""
    connection: str
    """The id of the wire, likewise."""
    is_warning: bool
    """Whether the workflow can be saved nevertheless."""


class DraftChecked(Struct, frozen=True):
    problems: list[DraftProblem]


class RunAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What differs from the event, for one job."""

    params: dict[str, Any] = {}
    tags: list[Id] | None = None
    targets: list[Id] | None = None
    algo: Algorithm | None = None
    actions: Definitions | None = None
    limits: Definitions | None = None
    """In place of the event's; those of its category and the settings apply as usual."""
    notes: str | None = None
    icon: str | None = None
    data: Any = None
    delay: Annotated[float, Meta(ge=0, le=31_536_000)] = 0
    """Seconds to wait before it starts."""
    priority: Annotated[int, Meta(ge=-9, le=9)] = 0
    """Jobs with a higher one leave a queue first."""
    test: bool = False
    """Whether it is a test: it has no actions and limits, also runs while the event is disabled,
    and is left out of the event's statistics."""
    test_actions: bool = False
    """Whether a test runs the actions."""
    test_limits: bool = False
    """Whether the limits apply to a test."""
    test_conditions: bool = False
    """Whether a test is refused where another job would be, such as while the event is disabled."""


class Launched(Struct, frozen=True):
    id: str
    """The id of the job."""


class BulkAsked(Struct, frozen=True, forbid_unknown_fields=True):
    ids: Ids
    action: Literal["enable", "disable", "delete", "run"]


class BulkItem(Struct, frozen=True, kw_only=True):
    id: str
    problem: str = ""
    """Why it was not done; empty if it was."""
    job: str = ""


class BulkDone(Struct, frozen=True):
    items: list[BulkItem]


class TargetShown(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    kind: Literal["group", "server"]
    online: bool = True
    servers: int = 1
    """How many servers it stands for."""


class AlgorithmShown(Struct, frozen=True):
    id: str
    words: str


class Options(Struct, frozen=True, kw_only=True):
    """What an event can be made of."""

    categories: list[Category]
    plugins: list[Plugin]
    channels: list[Channel]
    tags: list[Tag]
    targets: list[TargetShown]
    algorithms: list[AlgorithmShown]
    timezone: str
    """The zone of timings that name none."""


class RevisionChange(Struct, frozen=True):
    field: str
    old: Any
    new: Any


class RevisionShown(Struct, frozen=True, kw_only=True):
    revision: int
    modified: int
    username: str
    action: str
    """`create`, `update`, `delete` or `restore`."""
    changes: list[RevisionChange]
    """What it changed in the revision before."""


class ImportAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: Literal["crontab", "cronicle", "xyops"]
    """`xyops` is also that of the export."""
    text: Annotated[str, Meta(max_length=10_000_000)]
    dry_run: bool = False
    """Whether to report only."""
    replace: bool = False
    """Whether to replace what has the same id."""
    skip: bool = False
    """Whether to leave out what can't be imported, in place of importing nothing."""
    users: bool = False
    """Whether lines of a crontab have a user after the times, as in /etc/crontab."""
    targets: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=100)] = ("main",)
    """Where the commands of a crontab run."""


class ImportedItem(Struct, frozen=True, kw_only=True):
    """What became of an item; for a dry run, what would."""

    kind: str
    """`event`, `category`, `plugin`, `channel`, `tag` or `group`."""
    id: str
    title: str
    outcome: Literal["created", "replaced", "unchanged", "left_out"]
    reason: str = ""
    """Why it is left out; empty if it is not."""
    words: str = ""
    """The timings of an event in words."""


class ImportNote(Struct, frozen=True):
    item: str
    reason: str


class Imported(Struct, frozen=True):
    items: list[ImportedItem]
    notes: list[ImportNote]
    """What could not be carried over."""
