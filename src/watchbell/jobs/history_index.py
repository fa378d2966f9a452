"""The indexes by which finished jobs are found."""

from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Job
from watchbell.jobs.outcomes import has_failed


def indexes(job: Job) -> set[tuple[str, str]]:
    """Fields and values. Success and failure are tags, so only other codes have an index."""
    found = {
        ("event", job.event),
        ("category", job.category),
        ("plugin", job.plugin),
        ("server", job.server),
        ("source", job.source),
        ("username", job.username),
        ("workflow", workflow_of(job)),
        *(("tag", tag) for tag in job.tags),
    }
    if has_failed(job.code):
        found.add(("code", str(job.code)))
    return {(field, value) for field, value in found if value}


def workflow_of(job: Job) -> str:
    """The event of the workflow that launched it; empty if none did."""
    return job.workflow.event if job.workflow else ""


def index_keys(keys: Jobs, job: Job) -> list[str]:
    return sorted(keys.done_by(field, value) for field, value in indexes(job))
