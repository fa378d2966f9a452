"""The tags of finished jobs, which people may change."""

from collections.abc import Sequence

from msgspec.structs import replace

from watchbell.errors import NotFound, Refused
from watchbell.jobs import amendments, job_records
from watchbell.jobs.model import Job
from watchbell.store.client import Store


async def change(store: Store, job_id: str, tags: Sequence[str]) -> Job:
    """Replaces the tags that people and jobs have given. Those that begin with `_` are ours."""
    for tag in tags:
        if tag.startswith("_"):
            raise Refused(f"{tag!r} is a tag that Watchbell adds itself", field="tags")
    record = (await job_records.find(store, [job_id]))[0]
    if record is not None and record.is_live:
        raise Refused("the job is in progress; its tags can be changed once it has ended")
    changed = await amendments.amend(store, job_id, lambda job: _tagged(job, tags))
    if changed is None:
        raise NotFound(f"there is no finished job {job_id!r}")
    return changed


def _tagged(job: Job, tags: Sequence[str]) -> Job:
    ours = [tag for tag in job.tags if tag.startswith("_")]
    return replace(job, tags=tuple(dict.fromkeys([*tags, *ours])))
