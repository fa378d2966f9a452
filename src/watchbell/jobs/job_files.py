"""The files of jobs: what they upload, and what they are given."""

import re
from collections.abc import AsyncIterator

from watchbell.errors import NotFound, Refused
from watchbell.files.objects import Files
from watchbell.jobs.model import Job, JobFile

_OTHER = re.compile(r"[^\w.@+=,-]+", re.ASCII)
_LONGEST_NAME = 150


async def add(
    files: Files,
    job: str,
    file_id: str,
    filename: str,
    content: AsyncIterator[bytes],
    *,
    server: str,
    now: float,
    most: int,
) -> JobFile:
    """Stores a file of a job. The same `file_id` again replaces it. Refused above `most` bytes."""
    path = f"{folder(job)}/files/{_checked(file_id)}/{safe_name(filename)}"
    size = await files.put(path, _limited(content, filename, most))
    return JobFile(
        id=file_id,
        filename=filename[:_LONGEST_NAME],
        path=path,
        size=size,
        job=job,
        server=server,
        date=now,
    )


def folder(job: str) -> str:
    """Where everything about a job is: its files, its log and its timelines."""
    return f"jobs/{_checked(job)}"


def safe_name(filename: str) -> str:
    """The name as it can be part of a path."""
    name = _OTHER.sub("_", filename.rpartition("/")[2])[-_LONGEST_NAME:]
    return name if name.strip(".") else "file"


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


async def _limited(content: AsyncIterator[bytes], filename: str, most: int) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in content:
        size += len(chunk)
        if size > most:
            raise Refused(f"the file {filename!r} has more than {most:,} bytes", code="too_large")
        yield chunk


def _checked(part: str) -> str:
    if not re.fullmatch(r"\w{1,64}", part, re.ASCII):
        raise Refused(f"{part[:80]!r} can't be the id of a job or a file")
    return part
