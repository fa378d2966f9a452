"""What the API accepts and returns for snapshots, watches and the full samples of servers."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from watchbell.fleet.model import Quick, SnapshotHead, Target
from watchbell.fleet.watches import LONGEST

Seconds = Annotated[int, Meta(ge=1, le=LONGEST)]


class QuickShown(Struct, frozen=True, kw_only=True):
    """Eight values of a server at one second."""

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


class MachineShown(Struct, frozen=True, kw_only=True):
    """Everything a server has reported about its last minute."""

    data: dict[str, Any] | None
    """Its full sample; null if it never sent one."""
    quick: list[QuickShown]
    """Oldest first."""


class StateShown(Struct, frozen=True, kw_only=True):
    """A server in a snapshot."""

    server: str
    hostname: str
    title: str
    ip: str
    groups: tuple[str, ...]
    data: dict[str, Any] | None
    quick: list[QuickShown]


class SnapshotShown(Struct, frozen=True, kw_only=True):
    snapshot: SnapshotHead
    states: list[StateShown]
    """Of the server, or of all servers of the group."""
    group_title: str = ""


class WatchPeriod(Struct, frozen=True):
    """How long to watch."""

    seconds: Seconds


class WatchShown(Struct, frozen=True, kw_only=True):
    """A snapshot is taken each minute until then."""

    type: Target
    target: str
    """The id of the server or group."""
    name: str
    until: float
    username: str
    created: float


class Ran(Struct, frozen=True, kw_only=True):
    """What a command gave."""

    output: Any
    """As its format reads it."""
    text: str
    """What it printed."""
    error: str
    """Why there is no output, or not all of it."""
    elapsed: float
    """Seconds."""


def quick_shown(values: tuple[Quick, ...]) -> list[QuickShown]:
    return [
        QuickShown(
            date=one.date,
            cpu_load=one.cpu_load,
            cpu_usage=one.cpu_usage,
            mem_used=one.mem_used,
            mem_avail=one.mem_avail,
            disk_read_sec=one.disk_read_sec,
            disk_write_sec=one.disk_write_sec,
            net_in_sec=one.net_in_sec,
            net_out_sec=one.net_out_sec,
        )
        for one in values
    ]
