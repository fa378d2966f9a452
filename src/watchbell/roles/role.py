"""What a role is: a name, what it does in a few words, and the loop that does it."""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from watchbell.clock import Clock
from watchbell.settings import Settings
from watchbell.store.client import Store

STOP_SECONDS = 120.0


class Context(Struct, frozen=True):
    """What a role is given to work with."""

    settings: Settings
    store: Store
    clock: Clock
    say: Callable[[str], None]
    """Puts a few words on the board, in place of the role's last ones."""
    origins: Mapping[str, str] = {}
    """Where the value of each setting comes from, where that is known."""


class Role(Struct, frozen=True):
    name: str
    summary: str
    run: Callable[[Context], Awaitable[None]]
    """Ends by cancellation only: then it stops taking, finishes or hands back, and returns."""
    stop_seconds: Callable[[Settings], float] = lambda _: STOP_SECONDS
    """For which it may go on after it was cancelled; the process does not wait any longer."""


class Several(Struct, frozen=True):
    """Roles that depend on the settings. Each of them fails and comes back alone."""

    name: str
    summary: str
    roles: Callable[[Settings], list[Role]]
