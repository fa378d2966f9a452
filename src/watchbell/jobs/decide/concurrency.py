"""Decides how many jobs of an event run at the same time, and how many wait. Pure."""

from collections.abc import Iterable

from msgspec import Struct

from watchbell.jobs.model import Category, Event, Limit

TOO_MANY = "Maximum number of concurrent jobs for event has been reached."
QUEUE_FULL = "Maximum number of concurrent jobs for event has been reached, and its queue is full."
DELETED = "Event was deleted"
DISABLED = "Event was disabled"


class Concurrency(Struct, frozen=True):
    jobs: int | None = None
    """The most at the same time; None without a limit."""
    queue: int | None = 0
    """The most that wait for that; None without a limit."""


UNLIMITED = Concurrency()


def of_limits(limits: Iterable[Limit]) -> Concurrency:
    """By the first enabled limit of each type."""
    jobs: int | None = None
    queue: int | None = 0
    for limit in reversed([limit for limit in limits if limit.enabled]):
        if limit.type == "job":
            jobs = int(limit.amount) if limit.amount and limit.amount >= 1 else None
        elif limit.type == "queue":
            queue = None if limit.amount is None else max(int(limit.amount), 0)
    return Concurrency(jobs, queue)


def of_event(event: Event | None, category: Category | None) -> Concurrency:
    """As the event is defined now: limits of jobs that were launched before may be outdated. Jobs
    of an event that was deleted need not wait, since they are ended."""
    if event is None:
        return UNLIMITED
    return of_limits([*event.limits, *(category.limits if category else ())])


def obstacle(event: Event | None, *, is_test: bool) -> str:
    """Why a job of the event is not run any more; empty where it is."""
    if event is None:
        return DELETED
    return "" if event.enabled or is_test else DISABLED
