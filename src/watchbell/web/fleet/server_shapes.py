"""What the API accepts and returns for servers, their tokens, and groups."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, field

from watchbell.fleet.model import Sample, ServerInfo
from watchbell.jobs.server_status import State

Title = Annotated[str, Meta(max_length=100)]
Icon = Annotated[str, Meta(max_length=50)]
Notes = Annotated[str, Meta(max_length=20_000)]
Hostname = Annotated[str, Meta(max_length=253)]
Slots = Annotated[int, Meta(ge=0, le=10_000)]
GroupId = Annotated[str, Meta(min_length=1, max_length=50)]
GroupIds = Annotated[tuple[GroupId, ...], Meta(max_length=100)]


class ServerRow(Struct, frozen=True, kw_only=True):
    """A server in a list."""

    id: str
    hostname: str
    title: str
    icon: str
    state: State
    is_online: bool
    enabled: bool
    groups: tuple[str, ...]
    auto_group: bool
    """Whether its groups follow from its hostname."""
    ip: str
    jobs: int
    """Jobs that it runs, or is about to."""
    slots: int
    """Jobs that it runs at the same time."""
    alerts: int
    """Its active alerts, stale ones included."""
    seen: int | None
    """When its agent last sent a heartbeat."""
    since: int | None
    """Since when its agent is connected."""
    cpu: float | None
    """Percent of all cores."""
    load: float | None
    """The average of the last minute."""
    memory: int | None
    memory_total: int | None
    """Bytes."""
    os: str
    agent: str
    """The version of the agent."""


class ServerCounts(Struct):
    online: int = 0
    offline: int = 0
    disabled: int = 0
    jobs: int = 0
    slots: int = 0
    """Of those that are online and enabled."""
    alerting: int = 0
    """Servers with active alerts."""

    def add(self, row: ServerRow, sign: int, /) -> None:
        setattr(self, row.state, getattr(self, row.state) + sign)
        self.jobs += sign * row.jobs
        self.alerting += sign * bool(row.alerts)
        if row.state == "online":
            self.slots += sign * row.slots


class ServersPage(Struct, frozen=True, kw_only=True):
    items: list[ServerRow]
    next: str | None
    """Where the next page begins; null on the last one."""
    count: int
    """The number of servers on all pages."""
    counts: ServerCounts
    moment: str
    """From which `/servers/live` can go on."""


class ChangedServers(Struct, frozen=True, kw_only=True):
    rows: list[ServerRow]
    gone: list[str]
    refreshed: list[ServerRow]
    """Servers of which only figures have changed."""
    counts: ServerCounts


class ServerShown(Struct, frozen=True, kw_only=True):
    """A server with everything that is known of it."""

    row: ServerRow
    auto_group: bool = field(name="autoGroup")
    user_data: dict[str, Any] = field(name="userData")
    max_jobs: int | None = field(name="maxJobs")
    """Its own limit of jobs at the same time; null where its groups or its agent decide."""
    notes: str
    info: ServerInfo
    sample: Sample | None
    created: int
    modified: int
    revision: int
    """Send it as `If-Match` with a change, so that no other change is overwritten."""


class ServerChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays as it is."""

    hostname: Hostname | UnsetType = UNSET
    title: Title | UnsetType = UNSET
    icon: Icon | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    groups: GroupIds | UnsetType = UNSET
    """The groups that the server is put into by hand."""
    auto_group: bool | UnsetType = field(default=UNSET, name="autoGroup")
    """Whether the groups follow from the hostname."""
    user_data: dict[str, Any] | UnsetType = field(default=UNSET, name="userData")
    max_jobs: Slots | UnsetType | None = field(default=UNSET, name="maxJobs")
    notes: Notes | UnsetType = UNSET


class Samples(Struct, frozen=True):
    items: list[Sample]
    """The newest first."""


class NewToken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token with which one server joins."""

    hostname: Hostname = ""
    """The only hostname that may join with it; empty for any that is new."""
    groups: GroupIds = ()
    """The groups of the server; empty if they follow from its hostname."""
    hours: Annotated[int, Meta(ge=1, le=8_760)] = 24
    """Hours for which it is valid."""


class TokenShown(Struct, frozen=True, kw_only=True):
    id: str
    server: str
    """The server that has joined with it; empty until then."""
    hostname: str
    groups: tuple[str, ...]
    created: int
    created_by: str
    expires: int | None
    last_used: int | None


class Tokens(Struct, frozen=True):
    items: list[TokenShown]
    """The oldest first."""


class CreatedToken(Struct, frozen=True, kw_only=True):
    token: TokenShown
    secret: str
    """The token itself; it is not shown again."""
    command: str
    """Joins the server on which it is run."""


class GroupShown(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    icon: str
    notes: str
    hostname_match: str
    max_jobs_per_server: int | None
    alert_actions: tuple[dict[str, Any], ...]
    """What is done when a server of it has an alert, besides the definition's own actions."""
    sort_order: int
    servers: int
    online: int
    username: str
    created: int
    modified: int
    revision: int


class Groups(Struct, frozen=True):
    items: list[GroupShown]


class MatchingServers(Struct, frozen=True, kw_only=True):
    """The servers whose hostname an expression matches."""

    hostnames: list[str]
    """The first of them."""
    count: int


class NewGroup(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(min_length=1, max_length=100)]
    id: Annotated[str, Meta(max_length=50, pattern="^[a-z0-9_]*$")] = ""
    """Empty: one is made."""
    icon: Icon = ""
    notes: Notes = ""
    hostname_match: Annotated[str, Meta(max_length=500)] = ""
    """A regular expression (RE2); servers whose hostname it matches belong to the group."""
    max_jobs_per_server: Slots | None = None
    alert_actions: Annotated[list[dict[str, Any]], Meta(max_length=100)] = []
    """Actions with the trigger `alert_new` or `alert_cleared`."""
    sort_order: Annotated[int, Meta(ge=-1_000_000, le=1_000_000)] = 0


class GroupChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays as it is."""

    title: Annotated[str, Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    icon: Icon | UnsetType = UNSET
    notes: Notes | UnsetType = UNSET
    hostname_match: Annotated[str, Meta(max_length=500)] | UnsetType = UNSET
    max_jobs_per_server: Slots | UnsetType | None = UNSET
    alert_actions: Annotated[list[dict[str, Any]], Meta(max_length=100)] | UnsetType = UNSET
    sort_order: Annotated[int, Meta(ge=-1_000_000, le=1_000_000)] | UnsetType = UNSET
