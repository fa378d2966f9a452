"""Filters, sorts and counts jobs, and cuts them into pages."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from watchbell.cron.job_status import JobStatus

Sort = Literal["name", "-name", "next", "-next", "last", "-last"]
Place = tuple[str | float, str]
"""A job's place in an order: the value it is sorted by, and its name."""

Placed = tuple[Place, JobStatus]

NEVER = 1 << 40
"""Sorts after every real time."""


class JobFilter(Struct, frozen=True, kw_only=True):
    """None accepts both."""

    text: str = ""
    """Words that must all be in the name or the command."""
    paused: bool | None = None
    invalid: bool | None = None
    failing: bool | None = None
    running: bool | None = None


EVERYTHING = JobFilter()


class JobCounts(Struct, frozen=True, kw_only=True):
    """Counts of all jobs, whatever the filter."""

    all: int
    paused: int
    invalid: int
    failing: int
    running: int


def filtered(jobs: Sequence[Placed], wanted: JobFilter) -> Sequence[Placed]:
    """Keeps the order of the jobs."""
    if wanted == EVERYTHING:
        return jobs
    words = wanted.text.casefold().split()
    return [
        (place, one)
        for place, one in jobs
        if _fits(one, wanted) and all(word in one.searched for word in words)
    ]


def _fits(one: JobStatus, wanted: JobFilter) -> bool:
    return (
        wanted.paused in (None, one.is_paused)
        and wanted.invalid in (None, bool(one.errors))
        and wanted.failing in (None, one.is_failing)
        and wanted.running in (None, bool(one.running))
    )


def _counts(jobs: Sequence[JobStatus]) -> JobCounts:
    return JobCounts(
        all=len(jobs),
        paused=sum(one.is_paused for one in jobs),
        invalid=sum(bool(one.errors) for one in jobs),
        failing=sum(one.is_failing for one in jobs),
        running=sum(bool(one.running) for one in jobs),
    )


class Orders:
    """Jobs in every order that was requested; each order is made once."""

    def __init__(self, jobs: Sequence[JobStatus], now: float) -> None:
        self._jobs, self._now = jobs, now
        self._made: dict[Sort, list[Placed]] = {}
        self.counts = _counts(jobs)

    def by_name(self) -> list[JobStatus]:
        return [one for _, one in self.of("name")]

    def of(self, sort: Sort) -> Sequence[Placed]:
        """With `last`, the job whose run ended latest comes first. Ties are broken by name."""
        if sort not in self._made:
            place = _places(sort, self._now)
            made = [(place(one), one) for one in self._jobs]
            made.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
            self._made[sort] = made
        return self._made[sort]


def page(
    found: Sequence[Placed], sort: Sort, after: Place | None, most: int
) -> tuple[list[JobStatus], Place | None]:
    """Jobs after a place, and the place of the last one if more follow."""
    first = 0
    if after is not None:
        is_past = after.__gt__ if sort.startswith("-") else after.__lt__
        first = bisect_left(found, 1, key=lambda pair: is_past(pair[0]))
    items = found[first : first + most]
    last = items[-1][0] if len(found) > first + most else None
    return [one for _, one in items], last


def _places(sort: Sort, now: float) -> Callable[[JobStatus], Place]:
    by = sort.removeprefix("-")
    if by == "next":
        return lambda one: (float(one.next_fire(now) or NEVER), one.name)
    if by == "last":
        return lambda one: (-one.ended, one.name)
    return lambda one: (one.name.casefold(), one.name)
