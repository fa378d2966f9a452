"""Servers, groups, agents, monitors and alerts, with the document's fields."""

from typing import Any, Literal

from msgspec import Struct, field


class ServerInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent says about its machine."""

    arch: str = ""
    platform: str = ""
    release: str = ""
    os: dict[str, str] = {}
    """`distro`, `release`, `kernel`."""
    cpu: dict[str, Any] = {}
    """`cores`, `brand`, `avgLoad`."""
    memory: dict[str, Any] = {}
    """Bytes: `total`, `available`, `active`."""
    virt: str = ""
    booted: int = 0
    agent: str = ""
    """The version of the agent."""
    python: str = ""
    slots: int = 0
    """Jobs that its own settings let it run at the same time; 0 where they do not say."""


class Server(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    hostname: str
    ip: str = ""
    title: str = ""
    icon: str = ""
    enabled: bool = True
    groups: tuple[str, ...] = ()
    auto_group: bool = field(default=True, name="autoGroup")
    user_data: dict[str, Any] = field(default_factory=dict, name="userData")
    max_jobs: int | None = field(default=None, name="maxJobs")
    """Slots; None for four for each core."""
    notes: str = ""
    info: ServerInfo = ServerInfo()
    created: int = 0
    modified: int = 0
    revision: int = 1


class Group(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    title: str
    icon: str = ""
    notes: str = ""
    hostname_match: str = ""
    """A regular expression (RE2); servers whose hostname it matches belong to the group."""
    max_jobs_per_server: int | None = None
    alert_actions: tuple[dict[str, Any], ...] = ()
    """What is done when a server of it has an alert; `jobs` knows what actions are."""
    sort_order: int = 0
    username: str = ""
    created: int = 0
    modified: int = 0
    revision: int = 1


class Sample(Struct, frozen=True, kw_only=True):
    """What a server uses, once a minute, and every few seconds for the gauges."""

    at: float
    cpu: float
    """Percent of all cores."""
    load: tuple[float, float, float]
    memory: int
    """Bytes in use."""
    memory_total: int
    disk: int = 0
    disk_total: int = 0
    """Bytes of the file system of the agent's folder."""
    network_in: float = 0
    network_out: float = 0
    """Bytes a second."""
    jobs: int = 0


class Quick(Struct, frozen=True, array_like=True):
    """Eight values of a server, each second."""

    date: float
    cpu_load: float
    """The load of one minute."""
    cpu_usage: float
    """Percent of all cores."""
    mem_used: float
    mem_avail: float
    """Bytes."""
    disk_read_sec: float
    disk_write_sec: float
    net_in_sec: float
    net_out_sec: float
    """Bytes a second."""


OutputFormat = Literal["text", "json", "xml"]


class Command(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent runs each minute; its output becomes `commands.ID` of the sample."""

    id: str
    command: str
    """The program and its arguments, split as by a shell, but run without one."""
    script: str = ""
    """Written to a file, which is the last argument."""
    format: OutputFormat = "text"
    timeout: float = 5
    """Seconds."""
    uid: str = ""
    gid: str = ""
    cwd: str = ""
    env: dict[str, str] = {}


class CommandOutcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one run of a command ended."""

    id: str
    output: Any = None
    """As its format reads it."""
    error: str = ""
    """Why there is no output, or not all of it."""
    text: str = ""
    """What it printed; only where a person runs it."""
    elapsed: float = 0


SnapshotSource = Literal["alert", "watch", "user", "job"]
Target = Literal["server", "group"]


class SnapshotHead(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What lists of snapshots show."""

    id: str
    type: Target
    source: SnapshotSource
    date: float
    username: str = ""
    """Who took it, or began the watch."""
    cause: str = ""
    """The id of the alert, job or watch that it was taken for."""
    server: str = ""
    hostname: str = ""
    ip: str = ""
    groups: tuple[str, ...] = ()
    """Of a group's snapshot: the group alone."""
    jobs: tuple[str, ...] = ()
    """The jobs that were active."""
    alerts: tuple[str, ...] = ()
    servers: int = 1
    """How many it shows."""


class ServerState(Struct, frozen=True, kw_only=True):
    """A server in a snapshot."""

    server: Server
    data: dict[str, Any] | None = None
    """Its last full sample; None where it never sent one."""
    quickmon: tuple[Quick, ...] = ()
    """Oldest first."""


class Snapshot(Struct, frozen=True, kw_only=True):
    head: SnapshotHead
    states: tuple[ServerState, ...] = ()
    """Of the server, or of all servers of the group."""
    group: Group | None = None


class Watch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Takes a snapshot of a server or group each minute until a time."""

    type: Target
    target: str
    """The id of the server or group; each has one watch."""
    until: float
    username: str = ""
    created: float = 0


DataType = Literal["integer", "float", "bytes", "seconds", "milliseconds"]


class Monitor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is measured of servers, and kept as a series."""

    id: str
    title: str
    icon: str = ""
    notes: str = ""
    source: str = ""
    """An expression over the minute sample of a server."""
    data_match: str = ""
    """A regular expression (RE2) for a text: its first group, or all that it matches."""
    data_type: DataType = "float"
    suffix: str = ""
    groups: tuple[str, ...] = ()
    """Of these groups' servers; empty for all."""
    display: bool = True
    """Whether pages show it."""
    min_vert_scale: float = 0
    """The least value at the top of a plot."""
    delta: bool = False
    """Whether the source counts up, and the series has by how much."""
    divide_by_delta: bool = False
    """Whether that is given for each second."""
    delta_min_value: float | None = None
    """Smaller deltas count as this."""
    sort_order: int = 0
    username: str = ""
    created: int = 0
    modified: int = 0
    revision: int = 1


class AlertRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The part of an alert definition that decides; what else it does, `jobs` knows."""

    id: str
    title: str
    enabled: bool = True
    icon: str = ""
    notes: str = ""
    expression: str = ""
    """Over the minute sample of a server, with `monitors` and `deltas`."""
    message: str = ""
    """Text with `{{expressions}}`."""
    groups: tuple[str, ...] = ()
    """Of these groups' servers; empty for all."""
    samples: int = 1
    """So many samples more must be true than false before the alert becomes active, and as many
    the other way before it is cleared."""
    monitor_id: str = ""
    """The monitor on whose plots it is marked."""
    limit_jobs: bool = False
    """Whether a server with this alert gets no new jobs."""
    abort_jobs: bool = False
    """Whether the jobs on the server are aborted when it becomes active."""


class AlertRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One alert of one server, from when it became active. In the store it is a hash, with a JSON
    value for each field."""

    id: str
    alert: str
    """Its definition."""
    server: str
    hostname: str = ""
    title: str = ""
    """Of the definition, then."""
    groups: tuple[str, ...] = ()
    active: bool = False
    date: float = 0
    modified: float = 0
    """When a sample last said that it is active, or when it was cleared."""
    cleared: float = 0
    exp: str = ""
    """The expression, then."""
    message: str = ""
    count: int = 0
    """Samples, up to those of the definition, that were true."""
    value: float | None = None
    """Of the monitor that the definition names."""
    notified: bool = False
    """Whether its check was reported and its actions were queued; not while it is snoozed."""
    reason: str = ""
    """Why it became active."""
    clear_reason: str = ""
    jobs: tuple[str, ...] = ()
    """Those that ran on the server when it became active."""
    tickets: tuple[str, ...] = ()
    actions: tuple[dict[str, Any], ...] = ()
    """What was carried out, with the results."""


class Link(Struct, frozen=True, kw_only=True):
    """The connection of an agent."""

    session: str
    """Unique to the connection. What is written for a server compares it."""
    process: str
    """The web process that has the connection."""
    since: float
    address: str = ""
    boot: str = ""
    is_leaving: bool = False
    """Whether the agent is about to stop, and takes no more jobs."""


class AgentToken(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    digest: str
    server: str = ""
    """The server it is for; empty for one that a server joins with."""
    hostname: str = ""
    """The only hostname that may join with it; empty for any."""
    groups: tuple[str, ...] = ()
    """The groups of the server that joins."""
    created: int = 0
    created_by: str = ""
    expires: int = 0
    """0: never."""
    last_used: int = 0
    previous: str = ""
    """The token that this one replaces: deleted when this one is used."""
    following: str = ""
    """The token that is to replace this one, and has not been used yet."""
