"""An outage of the store as one role sees it: logged once when it begins, once when it is over."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from watchbell import logs
from watchbell.clock import SYSTEM
from watchbell.errors import StoreUnavailable


class Outage:
    """Shared by all tasks of a role, so that a role with ten loops logs one line and not ten."""

    def __init__(self, role: str) -> None:
        self._log = logs.get(role=role)
        self._since: float | None = None

    def begin(self, error: StoreUnavailable) -> None:
        if self._since is None:
            self._since = SYSTEM.monotonic()
            self._log.warning("waiting for the store", reason=str(error))

    def end(self) -> None:
        """Call it when a failed call succeeds at last, or a write does: reads may work while
        every write is refused."""
        if self._since is not None:
            seconds = round(SYSTEM.monotonic() - self._since, 1)
            self._since = None
            self._log.info("the store is back", seconds=seconds)


_current: ContextVar[Outage | None] = ContextVar("outage", default=None)


@contextmanager
def attached(outage: Outage) -> Iterator[None]:
    """The body, and every task that it starts, logs outages here; elsewhere they are not logged."""
    before = _current.set(outage)
    try:
        yield
    finally:
        _current.reset(before)


def begin(error: StoreUnavailable) -> None:
    if outage := _current.get():
        outage.begin(error)


def end() -> None:
    if outage := _current.get():
        outage.end()
