"""What `files` holds of a job: its uploads, its log and its timelines."""

import re
from collections.abc import AsyncIterator

from watchbell.errors import NotFound, Refused
from watchbell.files.objects import Files
from watchbell.jobs.model import Job, JobFile

_OTHER = re.compile(r"[^\w.@+=,-]+", re.ASCII)
_LONGEST_NAME = 100


def folder(job: str) -> str:
    """Where everything about a job is."""
    if not re.fullmatch(r"\w{1,64}", job, re.ASCII):
        raise Refused(f"{job[:80]!r} can't be the id of a job")
    return f"jobs/{job}"


def safe_name(filename: str) -> str:
    """The name as it can be part of a path."""
    name = _OTHER.sub("_", filename.rpartition("/")[2]).lstrip(".")
    return name[-_LONGEST_NAME:] or "file"


def find(job: Job, file_id: str) -> JobFile:
    """A file that a job has uploaded."""
    found = next((one for one in job.files if one.id == file_id), None)
    if found is None:
        raise NotFound(f"job {job.id!r} has no file {file_id!r}")
    return found


def read(files: Files, file: JobFile) -> AsyncIterator[bytes]:
    return files.stream(file.path)


async def delete_all(files: Files, job: str) -> None:
    """Deletes everything that is in files about a job."""
    names = [one.name async for one in files.list(folder(job))]
    await files.delete(names)
