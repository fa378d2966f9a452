"""Places for runs on this instance, reserved while the store is asked to fill them."""

from collections.abc import Callable, Sequence
from typing import Self

from watchbell.cron.executor import Executor
from watchbell.cron.model import Begun

Start = Callable[[Begun, float], None]
"""Starts a run that was begun in the store by a call sent at this monotonic time."""


class ReservedPlaces:
    """Reserves free places, up to a limit, and frees those that stay empty."""

    def __init__(
        self, executor: Executor, start: Start, limit: int, asking: "set[ReservedPlaces]"
    ) -> None:
        self._executor, self._start, self._asking = executor, start, asking
        self.reserved = max(min(executor.free, limit), 0)

    def __enter__(self) -> Self:
        self._executor.free -= self.reserved
        self._asking.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.free += self.reserved
        self._asking.discard(self)

    def start(self, begun: Sequence[Begun], asked: float) -> None:
        for one in begun:
            self.reserved -= 1
            self._start(one, asked)
