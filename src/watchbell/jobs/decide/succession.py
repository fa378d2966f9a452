"""Decides whether an event that runs continuously runs again after a job of it has ended."""

from enum import Enum

from watchbell.jobs.model import ABORTED, Event, Job


class Next(Enum):
    RUN = "run again"
    STOP = "stopped: somebody aborted it"
    FOLLOW = "the job is retried"


def after(event: Event, job: Job | None) -> Next:
    """What follows the latest job of the event; None for one that is no longer recorded.

    Aborts that nobody asked for, as of a server that was lost, may be retried. After an abort that
    somebody asked for, the event stands still until it is changed, or run by hand.
    """
    if job is None:
        return Next.RUN
    if retry_of(job):
        return Next.FOLLOW
    was_stopped = job.code == ABORTED and not job.retry_ok and job.completed >= event.modified
    return Next.STOP if was_stopped else Next.RUN


def retry_of(job: Job) -> str:
    """The next attempt at the job; empty if there is none."""
    return next((one.id for one in job.jobs if one.reason == "retry"), "")
