"""The next attempt at a fire whose run failed."""

from typing import NamedTuple

import msgspec
from msgspec import UNSET

from watchbell.cron import retries
from watchbell.cron.job_entry import fire_of
from watchbell.cron.model import Detail, Fire, Job
from watchbell.cron.retries import Verdict


class Attempt(NamedTuple):
    fire: bytes
    """As JSON."""
    at: float
    """When it is due."""


def following(
    job: Job | None,
    failed: Fire,
    instance: str,
    ended: float,
    *,
    succeeded: bool = False,
    cancelled: bool = False,
) -> Attempt | None:
    """The attempt after a run that ended; None where none follows. `job` is as it is now; None
    where it can't run any more."""
    policy, attempt = job.options.retrying if job else None, failed.attempt or 1
    found = retries.verdict(policy, attempt, succeeded=succeeded, cancelled=cancelled)
    if found is not Verdict.RETRY or job is None:
        return None
    made = msgspec.structs.replace(
        fire_of(job, failed.fire, "retry", is_kept=failed.is_kept),
        # It waits for its lock, however long: who holds it may be another job.
        overlap="allow" if job.overlap == "allow" else "each",
        attempt=attempt + 1,
        # What every instance runs is tried again where it failed.
        only_on=UNSET if job.lock else instance,
    )
    return Attempt(msgspec.json.encode(made), ended + job.options.retrying.pause(attempt))


def fire_from(job: str, detail: Detail) -> Fire:
    """The fire of a run of which only its details are known."""
    return Fire(fire=detail.fire, why=detail.why, job=job, attempt=detail.attempt)


def described(attempt: int, attempts: int) -> str:
    """Such as `attempt 2 of 3`; empty for a job without retries."""
    return f"attempt {attempt} of {attempts}" if attempts > 1 else ""
