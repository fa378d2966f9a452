"""Which input files a job gets: a limit of type `file` leaves out what exceeds it. Pure."""

from collections.abc import Sequence

from watchbell.jobs.decide.retrying import first_limit
from watchbell.jobs.model import Job, JobFile, Limit


def accepted(job: Job, files: Sequence[JobFile]) -> tuple[list[JobFile], list[str]]:
    """The files that the job gets, and for each other one why it does not."""
    limit = first_limit(job, "file")
    if limit is None:
        return list(files), []
    kept: list[JobFile] = []
    reasons: list[str] = []
    for file in files:
        reason = _reason(limit, kept, file)
        if reason:
            reasons.append(f"The file {file.filename!r} was left out: {reason}.")
        else:
            kept.append(file)
    return kept, reasons


def _reason(limit: Limit, kept: Sequence[JobFile], file: JobFile) -> str:
    endings = tuple(one.strip().lower() for one in limit.accept.split(",") if one.strip())
    if endings and not file.filename.lower().endswith(endings):
        return f"only {limit.accept} is accepted"
    if limit.amount is not None and len(kept) >= limit.amount:
        return f"the limit is {limit.amount:g} files"
    if limit.size is not None and sum(one.size for one in kept) + file.size > limit.size:
        return f"the limit is {limit.size:,} bytes in all"
    return ""
