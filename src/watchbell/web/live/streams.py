"""Limits how many streams are open, per user and in total."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from watchbell.actors import Actor
from watchbell.web.problems import HttpProblem

MOST_OF_ONE = 20
MOST = 1_000
_RETRY = {"Retry-After": "30"}


class Streams:
    def __init__(self) -> None:
        self._open = Counter[str]()

    @property
    def open(self) -> int:
        return self._open.total()

    def check(self, who: Actor) -> None:
        """Raises HttpProblem where no more may be opened."""
        if self._open[_name(who)] >= MOST_OF_ONE:
            detail = f"{MOST_OF_ONE} streams of yours are open, which is the most; close a page"
            raise HttpProblem(429, detail, headers=_RETRY)
        if self.open >= MOST:
            detail = f"{MOST} streams are open, which is the most that this server has"
            raise HttpProblem(503, detail, headers=_RETRY)

    @contextmanager
    def counted(self, who: Actor) -> Iterator[None]:
        name = _name(who)
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1
            self._open += Counter()  # drops those that have none


def _name(who: Actor) -> str:
    """Keys made on the command line have no owner, so each counts as a user."""
    return f"user {who.name}" if who.name else f"key {who.key}"
