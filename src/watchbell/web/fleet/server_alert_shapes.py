"""What the API accepts and returns for alerts of servers."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from watchbell.fleet.monitoring.alerts import State

DefinitionId = Annotated[str, Meta(max_length=64)]


class ServerAlertRow(Struct, frozen=True, kw_only=True):
    """An alert of a server in a list."""

    id: str
    state: State
    """`stale` where the server has sent no sample since, so nobody knows whether it holds."""
    definition: str
    title: str
    server: str
    hostname: str
    groups: tuple[str, ...]
    check: str
    """`HOST:ALERT`: the check by which people are notified, and by which it is acknowledged."""
    date: float
    modified: float
    cleared: float | None
    message: str
    value: float | None
    """Of the monitor that the definition names."""
    notified: bool


class ServerAlertShown(Struct, frozen=True, kw_only=True):
    row: ServerAlertRow
    expression: str
    count: int
    reason: str
    """Why it became active."""
    clear_reason: str
    jobs: tuple[str, ...]
    """Those that ran on the server then."""
    actions: list[dict[str, Any]]
    """What was carried out, with the results."""


class ServerAlertsPage(Struct, frozen=True, kw_only=True):
    items: list[ServerAlertRow]
    count: int
    """The number of alerts on all pages."""


class Snooze(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    definition: DefinitionId = ""
    """Of this definition; empty for all."""
    seconds: Annotated[float, Meta(gt=0, le=366 * 86_400)] = 3_600


class SnoozeEnd(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    definition: DefinitionId = ""


class SnoozeShown(Struct, frozen=True, kw_only=True):
    definition: str
    """Empty for all."""
    until: float
    by: str
    at: float
