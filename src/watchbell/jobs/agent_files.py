"""Which files an agent may store and read: those of the jobs that it runs, and their input."""

import hashlib
import re
from typing import Any

import msgspec

from watchbell.errors import NotFound, Refused
from watchbell.jobs.job_changes import folder
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import JobFile, Parent
from watchbell.store.client import Store

_UNSAFE = re.compile("[^A-Za-z0-9._-]+")


class _Input(msgspec.Struct):
    files: tuple[JobFile, ...] = ()


def file_id(job: str, filename: str) -> str:
    """The same for the same name, so that an upload can be repeated."""
    return "f" + hashlib.sha256(f"{job}/{filename}".encode(errors="replace")).hexdigest()[:16]


def path_of(job: str, filename: str) -> str:
    safe = _UNSAFE.sub("_", filename).lstrip(".")[-100:] or "file"
    return f"{folder(job)}{file_id(job, filename)}/{safe}"


async def check_upload(store: Store, server: str, job: str) -> None:
    """Raises NotFound unless the server runs the job."""
    _, result = await _fields(store, server, job, "_result")
    if result is not None:
        raise Refused("the job is over", code="over")


async def check_download(store: Store, server: str, job: str, path: str) -> None:
    """Raises NotFound unless the file is input of a job that the server runs."""
    _, given, parent = await _fields(store, server, job, "input", "parent")
    known = {file.path for file in _files(given, _Input)} | {
        file.path for file in _files(parent, Parent)
    }
    if path not in known:
        raise NotFound(f"there is no file {path[:100]!r}")


async def _fields(store: Store, server: str, job: str, *names: str) -> list[bytes | None]:
    found: list[bytes | None] = await store.call(
        "HMGET", Jobs(store.prefix).job(job), "server", *names
    )
    if not server or found[0] != msgspec.json.encode(server):
        raise NotFound(f"there is no job {job[:100]!r}")
    return found


def _files(text: bytes | None, kind: Any) -> tuple[JobFile, ...]:
    try:
        files: tuple[JobFile, ...] = msgspec.json.decode(text or b"{}", type=kind).files
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ()
    return files
