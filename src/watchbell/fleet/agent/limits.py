"""Decides when a job reaches one of its limits."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import Struct

from watchbell.units import in_bytes, in_words

Kind = Literal["time", "log", "mem", "cpu"]


class JobLimit(Struct, frozen=True, kw_only=True):
    """A limit that an agent enforces. The others are for its server."""

    type: Kind
    enabled: bool = True
    amount: float | None = None
    duration: float | None = None
    abort: bool = True


class Reached(NamedTuple):
    limit: int
    """Its place among the limits of the job, those of other kinds included."""
    description: str
    is_abort: bool


def enforced(limits: Sequence[Any]) -> dict[int, JobLimit]:
    """The limits that an agent enforces, by their place."""
    found = {}
    for place, limit in enumerate(limits):
        if isinstance(limit, Mapping) and limit.get("type") in get_args(Kind):
            try:
                read = msgspec.convert(limit, JobLimit)
            except msgspec.ValidationError:  # its server refuses such limits
                continue
            if read.enabled:
                found[place] = read
    return found


def problem(limit: Any) -> str:
    """Why a limit that a job has pushed can't be enforced; empty if it can, or need not be."""
    if not isinstance(limit, Mapping) or not isinstance(limit.get("type"), str):
        return "a limit is an object with a type"
    if limit["type"] not in get_args(Kind):
        return ""
    try:
        read = msgspec.convert(limit, JobLimit)
    except msgspec.ValidationError as error:
        return str(error)
    if read.type == "time":
        return "" if (read.duration or 0) > 0 else "a time limit needs a duration above 0"
    return "" if read.amount is not None and read.amount >= 0 else "it needs an amount"


class Limits:
    """Of one job. Times are seconds of its run."""

    def __init__(self, limits: Sequence[Any], reached: Iterable[int] = ()) -> None:
        self._limits = enforced(limits)
        self._count = len(limits)
        for place in reached:
            self._limits.pop(place, None)
        self._since: dict[int, float] = {}

    @property
    def needs_usage(self) -> bool:
        return any(limit.type in ("mem", "cpu") for limit in self._limits.values())

    def push(self, limits: Sequence[Any]) -> None:
        for place, limit in enforced(limits).items():
            self._limits[self._count + place] = limit
        self._count += len(limits)

    def next_time(self) -> float | None:
        """When the next time limit is reached."""
        timed = [limit for limit in self._limits.values() if _is_timed(limit)]
        return min((limit.duration or 0 for limit in timed), default=None)

    def check_time(self, elapsed: float) -> list[Reached]:
        return [
            self._reach(place, limit, f"it ran for longer than {_span(limit.duration or 0)}")
            for place, limit in list(self._limits.items())
            if _is_timed(limit) and elapsed >= (limit.duration or 0)
        ]

    def check_log(self, written: int) -> list[Reached]:
        return [
            self._reach(
                place, limit, f"its output is larger than {in_bytes(int(limit.amount or 0))}"
            )
            for place, limit in list(self._limits.items())
            if limit.type == "log" and limit.amount is not None and written > limit.amount
        ]

    def check_usage(self, elapsed: float, cpu: float, mem: float) -> list[Reached]:
        """`cpu`: percent of one core; `mem`: bytes. Both of all its processes, now."""
        reached = []
        for place, limit in list(self._limits.items()):
            if limit.type not in ("mem", "cpu") or limit.amount is None:
                continue
            if (mem if limit.type == "mem" else cpu) <= limit.amount:
                self._since.pop(place, None)
            elif elapsed - self._since.setdefault(place, elapsed) >= (limit.duration or 0):
                reached.append(self._reach(place, limit, _exceeded(limit)))
        return reached

    def _reach(self, place: int, limit: JobLimit, description: str) -> Reached:
        del self._limits[place]
        return Reached(place, description, limit.abort)


def _is_timed(limit: JobLimit) -> bool:
    return limit.type == "time" and limit.duration is not None and limit.duration > 0


def _exceeded(limit: JobLimit) -> str:
    amount = limit.amount or 0
    if limit.type == "mem":
        what = f"it used more than {in_bytes(int(amount))} of memory"
    else:
        what = f"it used more than {amount:g} % of a CPU core"
    return f"{what} for {_span(limit.duration)}" if limit.duration else what


def _span(seconds: float) -> str:
    return in_words(int(seconds)) if seconds == int(seconds) else f"{seconds:g} seconds"
