"""Events, jobs and what belongs to them, with the document's fields."""

from typing import Any, Literal

from msgspec import Struct, field

from watchbell.fleet.model import AlertRule, Monitor, OutputFormat
from watchbell.jobs.dashboards import Dashboard
from watchbell.jobs.workflow_model import JobWorkflow, Workflow

Algorithm = Literal[
    "random",
    "round_robin",
    "least_cpu",
    "least_mem",
    "prefer_first",
    "prefer_last",
    "fewest_jobs",
]
State = Literal["queued", "start_delay", "retry_delay", "ready", "active", "finishing", "complete"]
Source = Literal["scheduler", "key", "user", "action", "alert", "workflow", "startup"]
Code = int | float | str
"""0 for success; any other number, or a word such as `warning`, `critical` or `abort`."""

ABORTED = "abort"


class Timing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule about when an event runs. Each type uses some of the fields."""

    type: Literal[
        "schedule",
        "continuous",
        "single",
        "catchup",
        "destruct",
        "range",
        "blackout",
        "delay",
        "interval",
        "precision",
        "nth",
        "manual",
        "startup",
    ]
    enabled: bool = True
    id: str = ""
    """In a workflow: the node at which its runs begin."""
    years: tuple[int, ...] = ()
    months: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    hours: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    timezone: str = ""
    epoch: int | None = None
    """When a `single` timing runs the event."""
    start: int | None = None
    end: int | None = None
    duration: int | None = None
    """Seconds of a `delay`, or between the runs of an `interval`."""
    seconds: tuple[int, ...] = ()
    """Of `precision`: the seconds of each matching minute at which a job starts."""
    every: int | None = None
    """Of `nth`."""
    policy: Literal["all", "latest"] = "all"
    most: int | None = None
    """Of `catchup`: the most minutes that are caught up."""
    params: dict[str, Any] = {}
    """Parameters of the jobs that this timing launches, over those of the event."""
    tags: tuple[str, ...] = ()


class Limit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    type: Literal["time", "job", "log", "mem", "cpu", "retry", "queue", "file", "day", "tag"]
    enabled: bool = True
    amount: float | None = None
    duration: float | None = None
    """Seconds."""
    abort: bool = True
    """Of `time`, `log`, `mem` and `cpu`: whether the job is aborted. If not, only what follows is
    done."""
    tags: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    email: str = ""
    url: str = ""
    text: str = ""
    snapshot: bool = False
    size: int | None = None
    """Of `file`: the most bytes of all input files together."""
    accept: str = ""
    """Of `file`: the endings of accepted file names, separated by commas."""
    condition: str = ""
    """Of `day`: which jobs of the day count; one of the triggers of actions."""
    source: str = ""
    """Where a limit of a job comes from: `category` or `settings`; empty for its event."""


PUSHED = "job"
"""The source of an action that a job has pushed."""


class Action(Struct, frozen=True, kw_only=True, omit_defaults=True):
    trigger: str
    """`start`, `complete`, `success`, `error`, `warning`, `critical`, `abort` or `tag:ID`; of an
    alert `alert_new` or `alert_cleared`."""
    type: Literal[
        "email",
        "web_hook",
        "run_event",
        "channel",
        "disable",
        "snapshot",
        "delete",
        "suspend",
        "tag",
    ]
    enabled: bool = True
    email: str = ""
    """Addresses, separated by commas."""
    users: tuple[str, ...] = ()
    url: str = ""
    event_id: str = ""
    channel_id: str = ""
    tags: tuple[str, ...] = ()
    params: dict[str, Any] = {}
    text: str = ""
    """Text before the message."""
    source: str = ""
    """As in `Limit`, or `job` if the job has pushed it."""
    # What became of it, in a job's record.
    date: float | None = None
    elapsed_ms: int | None = None
    code: Code | None = None
    description: str = ""
    message: str = ""
    """The ids of the messages that were sent for it, separated by spaces."""


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    title: str
    type: Literal["", "workflow"] = ""
    enabled: bool = True
    icon: str = ""
    category: str = "general"
    plugin: str = "shellplug"
    workflow: Workflow | None = None
    params: dict[str, Any] = {}
    tags: tuple[str, ...] = ()
    targets: tuple[str, ...] = ("main",)
    algo: Algorithm = "random"
    notes: str = ""
    actions: tuple[Action, ...] = ()
    limits: tuple[Limit, ...] = ()
    timings: tuple[Timing, ...] = ()
    username: str = ""
    created: int = 0
    modified: int = 0
    revision: int = 1


class JobReference(Struct, frozen=True):
    """A job that another job launched."""

    id: str
    reason: Literal["action", "retry"]


class Parent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    data: Any = None
    files: tuple["JobFile", ...] = ()
    event: str = ""
    code: Code = 0
    description: str = ""


class JobFile(Struct, frozen=True, kw_only=True):
    """A file that a job has uploaded."""

    id: str
    filename: str
    path: str
    """Its name in `files`; also the end of its URL."""
    size: int
    job: str
    server: str
    date: float = 0


class Activity(Struct, frozen=True, kw_only=True, omit_defaults=True):
    epoch: float
    msg: str
    id: str = ""
    server: str = ""


class Usage(Struct, frozen=True, kw_only=True):
    """Of one kind of resource, over the samples of a job: one a second."""

    min: float = 0
    max: float = 0
    total: float = 0
    count: int = 0
    current: float = 0


class Total(Struct, frozen=True):
    total: float = 0
    count: int = 0


class Job(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job's record. In the store it is a hash while the job is in progress, with a JSON value for
    each field, and packed once it is complete."""

    id: str
    event: str
    state: State
    type: Literal["", "workflow", "adhoc"] = ""
    """`workflow` for a run of a workflow, `adhoc` for a job of a node that runs no event."""
    workflow: JobWorkflow | None = None
    workflowData: dict[str, Any] = {}  # noqa: N815 the name that programs know
    """What the jobs of a run share."""
    category: str = "general"
    plugin: str = "shellplug"
    params: dict[str, Any] = {}
    tags: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    algo: Algorithm = "random"
    notes: str = ""
    icon: str = ""
    actions: tuple[Action, ...] = ()
    """Those of the event, its category and the settings."""
    limits: tuple[Limit, ...] = ()
    """Likewise."""
    source: Source = "user"
    username: str = ""
    key: str = ""
    """The id of the API key, where one launched it."""
    now: float = 0
    """The time for which it was scheduled; for others, when it was launched."""
    parent: Parent | None = None
    input: dict[str, Any] = {}
    """`data` and `files` that it was launched with."""
    retry_count: int = 0
    retry_prev: str = ""
    retried: bool = False
    jobs: tuple[JobReference, ...] = ()
    test: bool = False
    priority: int = 0
    # Copied from the plugin.
    command: str = ""
    script: str = ""
    uid: str = ""
    gid: str = ""
    cwd: str = ""
    kill: Literal["none", "parent", "all"] = "parent"
    env: dict[str, str] = {}
    # How it goes.
    launched: float = 0
    """When the record was made."""
    started: float = 0
    updated: float = 0
    completed: float = 0
    elapsed: float = 0
    until: float | None = None
    server: str = ""
    groups: tuple[str, ...] = ()
    remote: bool = False
    reconnected: float | None = None
    pid: int = 0
    progress: float = 0
    status: str = ""
    label: str = ""
    log_file: str = ""
    log_file_size: int = 0
    activity: tuple[Activity, ...] = ()
    code: Code = 0
    description: str = ""
    retry_ok: bool = False
    """Whether a job that was aborted is retried."""
    data: Any = None
    files: tuple[JobFile, ...] = ()
    update_event: dict[str, Any] = {}
    perf: Any = None
    table: Any = None
    html: Any = None
    text: Any = None
    markdown: Any = None
    cpu: Usage | None = None
    mem: Usage | None = None
    disk: Total | None = None
    net: Total | None = None
    reason: str = ""
    """While it waits: why."""


class Category(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    title: str
    enabled: bool = True
    icon: str = ""
    color: str = "plain"
    notes: str = ""
    sort_order: int = 0
    limits: tuple[Limit, ...] = ()
    actions: tuple[Action, ...] = ()
    username: str = ""
    created: int = 0
    modified: int = 0
    revision: int = 1


class Parameter(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a plugin asks an event for."""

    id: str
    type: Literal["text", "textarea", "code", "json", "checkbox", "select", "hidden"]
    title: str = ""
    value: Any = None
    """The default; of `select`, the choices separated by commas, the first of which it is."""
    caption: str = ""
    required: bool = False
    locked: bool = False
    """Whether only administrators may change it."""
    regex: str = ""
    secret: bool = False
    """Whether it is masked for people without the privilege."""


class Plugin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    title: str
    enabled: bool = True
    type: Literal["event", "monitor", "action", "scheduler"] = "event"
    icon: str = ""
    notes: str = ""
    command: str = ""
    """The program and its arguments, split as by a shell, but run without one."""
    script: str = ""
    """Written to a file, which is the last argument."""
    params: tuple[Parameter, ...] = ()
    uid: str = ""
    gid: str = ""
    cwd: str = ""
    env: dict[str, str] = {}
    kill: Literal["none", "parent", "all"] = "parent"
    groups: tuple[str, ...] = ()
    """Of a monitor: the groups whose servers run it each minute; empty for all servers."""
    format: OutputFormat = "text"
    """Of a monitor: how its output is read."""
    timeout: float = 5
    """Of a monitor: seconds after which it is killed."""
    stock: bool = False
    username: str = ""
    created: int = 0
    modified: int = 0
    revision: int = 1


class Channel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    title: str
    enabled: bool = True
    icon: str = ""
    notes: str = ""
    users: tuple[str, ...] = ()
    email: str = ""
    url: str = ""
    """A web hook."""
    run_event: str = ""
    sound: str = ""
    max_per_day: int = 0
    """0: no limit."""
    username: str = ""
    created: int = 0
    modified: int = 0
    revision: int = 1


class Tag(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    title: str
    icon: str = ""
    notes: str = ""
    username: str = ""
    created: int = 0
    modified: int = 0
    revision: int = 1


class AlertDef(AlertRule, frozen=True, kw_only=True, omit_defaults=True):
    """When a server has an alert, and what is done then."""

    actions: tuple[Action, ...] = ()
    exclusive_actions: bool = False
    """Whether these actions are all, without those of the server's groups."""
    username: str = ""
    created: int = 0
    modified: int = 0
    revision: int = 1


class EventState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of the jobs of an event, without retried and test jobs."""

    last_job: str = ""
    last_code: Code = 0
    last_completed: float = 0
    last_elapsed: float = 0
    total_elapsed: float = 0
    total_count: int = 0
    failures: int = 0
    """How many of the last jobs in a row failed."""
    recent: tuple[tuple[float, float, int], ...] = field(default=())
    """Of the last 30 jobs: completed, elapsed, and 1 if it failed; for a sparkline."""


KINDS: dict[str, type[Struct]] = {
    "event": Event,
    "category": Category,
    "plugin": Plugin,
    "channel": Channel,
    "tag": Tag,
    "monitor": Monitor,
    "alert": AlertDef,
    "dashboard": Dashboard,
}
"""What people define, by the word for it."""
