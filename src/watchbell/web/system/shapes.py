"""What the API returns for the system, its settings and its audit log."""

from typing import Literal

from msgspec import Struct

from watchbell.store.processes import Process


class AuditEntry(Struct, frozen=True, kw_only=True):
    id: str
    time: int
    who: str
    action: str
    subject: str
    details: str
    address: str


class Finding(Struct, frozen=True):
    """A finding about the store."""

    level: Literal["ok", "warning", "error"]
    subject: str
    text: str
    advice: str


class QueueView(Struct, frozen=True):
    name: str
    length: int
    takers: list[str]


class Instance(Struct, frozen=True, kw_only=True):
    """A process that reported lately."""

    name: str
    role: str
    seen: float
    words: str = ""


class StoreServer(Struct, frozen=True, kw_only=True):
    """A server of the store; sizes are bytes."""

    name: str
    memory: int
    memory_peak: int
    memory_limit: int
    """0 for none."""
    clients: int
    commands: int
    """Per second, just now."""
    uptime: int


class System(Struct, frozen=True, kw_only=True):
    version: str
    store: list[Finding]
    servers: list[StoreServer]
    queues: list[QueueView]
    instances: list[Instance]
    processes: list[Process]
    """All that reported within a day."""


class SettingView(Struct, frozen=True, kw_only=True):
    name: str
    value: str | int | bool
    default: str | int | bool | None
    """The default; null for a field of a medium."""
    is_default: bool
    origin: str
    """Where the value comes from, as `environment, WATCHBELL_WEB_PORT`; empty where that is not
    known."""
    words: str
    """What it is for."""


class Health(Struct, frozen=True):
    status: str
