"""Servers, groups and agents, with the document's fields."""

from typing import Any

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
