"""Handlers for files: uploads of people, and files of jobs."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import msgspec
from litestar.response import Stream
from msgspec.structs import replace

from watchbell.actors import may
from watchbell.errors import NotFound, Refused
from watchbell.jobs import agent_files, job_edits, job_files, job_records, uploads
from watchbell.jobs.model import Job, JobFile
from watchbell.web.app_api import form_files
from watchbell.web.app_api.calls import MOST_ROWS, Answer, Call, CallerAccess, Group
from watchbell.web.app_api.job_reading import visible_record
from watchbell.web.server_url import server_url

FILES = Group("file")
_OF_JOBS = "jobs/"


class _Given(msgspec.Struct):
    path: str


async def input_files(call: Call, given: Any) -> list[JobFile]:
    """Files that a call names as input: the caller's uploads, and files of jobs that they see."""
    try:
        paths = [one.path for one in msgspec.convert(given, list[_Given])]
    except msgspec.ValidationError:
        raise Refused("expected an array of files", field="input.files") from None
    if len(paths) > MOST_ROWS:
        raise Refused(f"expected at most {MOST_ROWS:,}", field="input.files")
    access = await call.access()
    return [await _readable(call, access, _path(one)) for one in paths]


async def _readable(call: Call, access: CallerAccess, path: str) -> JobFile:
    """A file that the caller may read."""
    if uploads.is_of(path, call.actor) or (
        path.startswith(f"{uploads.FOLDER}/") and may(call.actor, "admin")
    ):
        found = await call.services.files().find(path)
        if found is not None:
            *_, id_, name = path.split("/")
            date = found.modified
            return JobFile(
                id=id_, filename=name, path=path, size=found.size, job="", server="", date=date
            )
    if path.startswith(_OF_JOBS):
        job = await job_records.read(call.store, path.split("/")[1])
        if job is not None and access.allows("read", job.category, job.targets):
            for one in _files_of(job):
                if one.path == path:
                    return one
    raise NotFound(f"there is no file {path[:200]!r}")


def _files_of(job: Job) -> list[JobFile]:
    given = job.input.get("files") or ()
    try:
        own = msgspec.convert(given, list[JobFile], from_attributes=True)
    except msgspec.ValidationError:
        own = []
    return [*job.files, *own, *(job.parent.files if job.parent else ())]


def _path(text: str) -> str:
    return text.lstrip("/").removeprefix("files/")


@FILES.changes("run_jobs", gives="urls")
async def upload_files(call: Call) -> Answer:
    base = f"{server_url(call.services.settings)}/api/app/file/v1?path="
    return {"urls": [base + quote(one.path) for one in await _uploaded(call)]}


@FILES.changes("run_jobs", gives="files")
async def upload_job_input_files(call: Call) -> Answer:
    found = [
        {**msgspec.to_builtins(one), "username": call.actor.name} for one in await _uploaded(call)
    ]
    return {"files": found}


async def _uploaded(call: Call) -> list[JobFile]:
    async def keep(_: str, filename: str, content: AsyncIterator[bytes]) -> JobFile:
        return await uploads.store(call.services.files(), filename, content, call.actor, call.now)

    form = await form_files.received(call, keep)
    if not form.files:
        raise Refused("expected files as multipart/form-data", field="file1")
    await call.audit("files.upload", "", ", ".join(one.filename for one in form.files)[:200])
    return form.files


@FILES.changes("run_jobs", takes="id", gives="key size")
async def upload_job_file(call: Call) -> Answer:
    """Adds a file to a job, in progress or finished."""
    access = await call.access()
    job = (await visible_record(call, access)).job
    access.check("run_jobs", job.category, job.targets)

    async def keep(_: str, filename: str, content: AsyncIterator[bytes]) -> JobFile:
        path = agent_files.path_of(job.id, filename)
        size = await call.services.files().put(path, content)
        return JobFile(
            id=agent_files.file_id(job.id, filename),
            filename=filename,
            path=path,
            size=size,
            job=job.id,
            server=job.server,
            date=round(call.now, 3),
        )

    form = await form_files.received(call, keep)
    if len(form.files) != 1:
        raise Refused("expected one file as multipart/form-data", field="file1")
    made = form.files[0]

    def added(found: Job) -> Job:
        others = tuple(one for one in found.files if one.path != made.path)
        return replace(found, files=(*others, made))

    await job_edits.edit(call.store, job.id, ["files"], added)
    await call.audit("jobs.upload", job.id, made.filename)
    return {"key": made.path, "size": made.size}


@FILES.changes("delete_jobs", takes="id path")
async def delete_job_file(call: Call) -> Answer:
    access = await call.access()
    job = (await visible_record(call, access)).job
    access.check("delete_jobs", job.category, job.targets)
    path = _path(call.text("path"))
    if all(one.path != path for one in job.files):
        raise NotFound(f"job {job.id!r} has no file {path[:200]!r}")
    await job_edits.edit(call.store, job.id, ["files"], lambda found: _without(found, path))
    await call.services.files().delete([path])
    await call.audit("jobs.delete_file", job.id, path)
    return {}


def _without(job: Job, path: str) -> Job:
    return replace(job, files=tuple(one for one in job.files if one.path != path))


@FILES.reads(takes="path download")
async def file(call: Call) -> Answer:
    """The content of a file, always as a download."""
    found = await _readable(call, await call.access(), _path(call.text("path")))
    name = call.text("download", "")
    shown = job_files.safe_name(name if name not in ("", "1") else found.filename)
    return Stream(
        job_files.read(call.services.files(), found),
        headers={
            "Content-Disposition": f'attachment; filename="{quote(shown)}"',
            "X-Content-Type-Options": "nosniff",
            "Content-Length": str(found.size),
        },
        media_type="application/octet-stream",
    )
