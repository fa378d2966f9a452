"""A benchmark's figures, each with the limit measured in the same run and the goal."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Literal

from msgspec import Struct

Sense = Literal["at least", "at most"]


class Figure(Struct, frozen=True, kw_only=True):
    name: str
    unit: str
    runs: Sequence[float]
    sense: Sense = "at least"
    aim: float | None = None
    limit: float | None = None
    limit_name: str = ""

    @property
    def best(self) -> float:
        return max(self.runs) if self.sense == "at least" else min(self.runs)

    @property
    def median(self) -> float:
        return median(self.runs)

    @property
    def ratio(self) -> float | None:
        return None if not self.limit else self.best / self.limit

    @property
    def reached(self) -> bool:
        if self.aim is None:
            return True
        return self.best >= self.aim if self.sense == "at least" else self.best <= self.aim


def repeated(run: Callable[[], float], times: int = 5) -> list[float]:
    return [run() for _ in range(times)]
