"""Decides which jobs are overdue, and why they do not run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from watchbell.cron.model import Fire, Job
from watchbell.units import in_words


class Holder(NamedTuple):
    """The holder of a lock: a run, or the next fire of a job; all empty for another program."""

    job: str = ""
    run: str = ""
    host: str = ""
    since: float = 0.0


class Skips(NamedTuple):
    """Fires of a job that were skipped since its last run began."""

    number: int
    first: int
    lock: str


class Survey(NamedTuple):
    """Fires that were not begun, as the store has them."""

    now: float
    skipped: Mapping[str, Skips]
    waiting: Sequence[Fire]
    """Fires that wait for their lock."""
    pending: Sequence[Fire]
    """Fires that wait for a free place."""
    unclaimed: Mapping[str, int]
    """Jobs with a fire that no instance has claimed, because all of them are drained."""
    holders: Mapping[str, Holder]
    """Holders by lock; a free lock has none."""


class Limits(NamedTuple):
    skipped: int
    overdue: int
    grace: int


def grace(job: Job, usual: int) -> int:
    """Seconds by which a fire of the job may be late and still be run."""
    return usual if job.options.grace is None else job.options.grace


def overdue(job: Job, last: int, now: float, allowed: int) -> int | None:
    """The first fire that was not handled, if it is late by more seconds than allowed."""
    fire = job.schedule.next_after(last)
    is_late = fire is not None and fire + job.schedule.jitter + allowed < now
    return fire if is_late else None


def allowed(job: Job, limits: Limits) -> int:
    """Seconds by which a fire of the job may be late before that is reported."""
    return max(limits.overdue, grace(job, limits.grace)) + job.schedule.jitter


def late(survey: Survey, limits: Limits, find: Callable[[str], Job | None]) -> dict[str, str]:
    """The jobs to report, each with the reason."""
    found: dict[str, str] = {}
    for name, due, reason in (*_skipped(survey, limits), *_waiting(survey)):
        job = find(name)
        if job and (due is None or due + allowed(job, limits) < survey.now):
            found.setdefault(name, reason)
    return found


_Candidate = tuple[str, int | None, str]
"""A job, since when it is due (None: late in any case), and the reason."""


def _skipped(survey: Survey, limits: Limits) -> Iterator[_Candidate]:
    for name, skips in survey.skipped.items():
        holder = survey.holders.get(skips.lock)
        why = held(name, holder, survey.now)
        if skips.number >= limits.skipped:
            yield name, None, f"skipped {skips.number} times in a row: {why}"
        elif holder:
            ago = _ago(skips.first, survey.now)
            yield name, skips.first, f"not run since it was due {ago} ago: {why}"


def _waiting(survey: Survey) -> Iterator[_Candidate]:
    now = survey.now
    for one in survey.waiting:
        why = held(one.job, survey.holders.get(one.lock), now)
        yield one.job, one.fire, f"waits for its lock for {_ago(one.fire, now)}: {why}"
    for one in survey.pending:
        waits = f"waits for a free place for {_ago(one.fire, now)}"
        yield one.job, one.fire, f"{waits}: every instance has as many runs as it may"
    for name, fire in survey.unclaimed.items():
        yield (
            name,
            fire,
            f"not run since it was due {_ago(fire, now)} ago: every instance is drained",
        )


def held(job: str, holder: Holder | None, now: float) -> str:
    """Says what holds the lock of a job."""
    if holder is None:
        return "a run was in progress"
    if not holder.job:
        return "another program holds its lock"
    if not holder.run:
        return f"its lock is kept for the next run of {holder.job}"
    lasts = in_words(max(int(now - holder.since), 1))
    if holder.job == job:
        return f"its run {holder.run[:8]} on {holder.host} has been in progress for {lasts}"
    return f"the run {holder.run[:8]} of {holder.job} on {holder.host} holds its lock for {lasts}"


def _ago(moment: float, now: float) -> str:
    return in_words(max(int(now - moment), 1))
