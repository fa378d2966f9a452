"""Jobs that a caller may see, as the app API shows them."""

from collections.abc import Iterable
from typing import Any

from watchbell.errors import NotFound
from watchbell.jobs import job_records
from watchbell.jobs.job_log import JobLog
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.model import Job
from watchbell.web.app_api import records
from watchbell.web.app_api.calls import Call, CallerAccess

MOST_OUTPUT = 1 << 20
"""Bytes of a log that a job is shown with."""


async def shown_jobs(
    call: Call, jobs: Iterable[Job], access: CallerAccess | None = None, *, is_short: bool = False
) -> list[dict[str, Any]]:
    """With `is_short`, without properties that may be large."""
    catalogue, access = await call.catalogue(), access or await call.access()
    found = []
    for job in jobs:
        may_edit = access.allows("edit_events", job.category, job.targets)
        shown = records.job(job, catalogue, is_masked=not may_edit)
        found.append(records.without(shown, records.HEAVY) if is_short else shown)
    return found


async def with_output(call: Call, job: Job, shown: dict[str, Any]) -> dict[str, Any]:
    """A finished job with its log, if that is not long, as clients of xyOps expect it."""
    if job.state != "complete" or not 0 < job.log_file_size <= MOST_OUTPUT:
        return shown
    log = JobLog(call.store, call.services.files(), job.id)
    text = b"".join([part async for part in log.download()])
    return {**shown, "output": text.decode(errors="replace")}


async def visible_record(call: Call, access: CallerAccess, name: str = "id") -> JobRecord:
    """The job that a call is about. Raises NotFound, and Refused where the caller may not see
    it."""
    id = call.text(name)  # noqa: A001
    record = (await job_records.find(call.store, [id]))[0]
    if record is None:
        raise NotFound(f"there is no job {id[:100]!r}")
    access.check("read", record.job.category, record.job.targets)
    return record
