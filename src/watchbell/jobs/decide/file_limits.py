"""Which input files a job gets: a limit of type `file` leaves out what exceeds it. Pure."""

from collections.abc import Sequence

from msgspec.structs import replace

from watchbell.jobs.decide.retrying import first_limit
from watchbell.jobs.model import Activity, Job, JobFile, Limit
from watchbell.units import counted


def pruned(job: Job, now: float) -> Job:
    """A new job with the input files that its limit accepts; its activity names the others."""
    given: Sequence[JobFile] = job.input.get("files", ())
    inherited = job.parent.files if job.parent else ()
    # A job that an action launches gets the files of its parent twice.
    distinct = {file.path: file for file in (*given, *inherited)}
    kept, reasons = accepted(job, list(distinct.values()))
    if not reasons:
        return job
    paths = {file.path for file in kept}
    files = tuple(file for file in given if file.path in paths)
    parent_files = tuple(file for file in inherited if file.path in paths)
    others = {name: value for name, value in job.input.items() if name != "files"}
    return replace(
        job,
        input={**others, "files": files} if files else others,
        parent=replace(job.parent, files=parent_files) if job.parent else None,
        activity=(*job.activity, *(Activity(epoch=now, msg=reason) for reason in reasons)),
    )


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
        return f"the limit is {counted(int(limit.amount), 'file')}"
    if limit.size is not None and sum(one.size for one in kept) + file.size > limit.size:
        return f"the limit is {counted(limit.size, 'byte')} in all"
    return ""
