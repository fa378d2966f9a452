"""Defines a role: a name, a summary, and the loop that does its work."""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from watchbell.clock import Clock
from watchbell.settings import Settings
from watchbell.store.client import Store

STOP_SECONDS = 120.0


class Context(Struct, frozen=True):
    settings: Settings
    store: Store
    clock: Clock
    show_status: Callable[[str], None]
    """Replaces the status text that the board shows for the role."""
    origins: Mapping[str, str] = {}
    """The origin of each setting, where it is known."""
    is_alone: bool = False
    """Whether the process has no other role."""


class Role(Struct, frozen=True):
    name: str
    summary: str
    run: Callable[[Context], Awaitable[None]]
    """Ends by cancellation only: then it stops taking, finishes or hands back, and returns."""
    stop_seconds: Callable[[Settings], float] = lambda _: STOP_SECONDS
    """Seconds that the process waits for the role after cancelling it."""


class Several(Struct, frozen=True):
    """Roles that depend on the settings. Each fails and restarts alone."""

    name: str
    summary: str
    roles: Callable[[Settings], list[Role]]
