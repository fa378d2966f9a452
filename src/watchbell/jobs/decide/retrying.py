"""Whether a job that has ended is tried again, and why. Pure."""

from typing import NamedTuple

from watchbell.jobs.model import ABORTED, Job, Limit
from watchbell.jobs.outcomes import has_failed


class Retry(NamedTuple):
    limit: Limit | None
    """The limit by which it is tried again; None if it is not."""
    reason: str


def first_limit(job: Job, kind: str) -> Limit | None:
    """Limits of the event come before those of the category and of the settings."""
    return next((one for one in job.limits if one.enabled and one.type == kind), None)


def verdict(job: Job) -> Retry:
    """For a job with its final code."""
    limit = first_limit(job, "retry")
    if not has_failed(job.code):
        return Retry(None, "it succeeded")
    if limit is None or not limit.amount:
        return Retry(None, "its event has no retry limit")
    if job.code == ABORTED and not job.retry_ok:
        return Retry(None, "jobs that are aborted on purpose are not retried")
    most = int(limit.amount)
    if job.retry_count >= most:
        return Retry(None, f"it was attempt {job.retry_count + 1} of {most + 1}")
    return Retry(limit, f"attempt {job.retry_count + 2} of {most + 1}")
