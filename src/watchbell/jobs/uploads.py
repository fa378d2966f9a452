"""Files that people upload as input of jobs, before there is a job. They expire with old jobs."""

import re
from collections.abc import AsyncIterable
from datetime import UTC, datetime, timedelta

from watchbell import ids
from watchbell.actors import Actor
from watchbell.files.objects import Files
from watchbell.jobs.job_files import safe_name
from watchbell.jobs.model import JobFile

FOLDER = "uploads"
_PATH = re.compile(rf"{FOLDER}/(\d{{4}}-\d\d-\d\d)/([\w.@+-]+)/[\w]+/[\w.@+=,-]+", re.ASCII)
_AT_ONCE = 500


async def store(
    files: Files, filename: str, content: AsyncIterable[bytes], who: Actor, now: float
) -> JobFile:
    id_, name = ids.record_id("f", now), safe_name(filename)
    day = datetime.fromtimestamp(now, UTC).date().isoformat()
    path = f"{FOLDER}/{day}/{_owner(who)}/{id_}/{name}"
    size = await files.put(path, content)
    return JobFile(id=id_, filename=name, path=path, size=size, job="", server="", date=int(now))


def is_of(path: str, who: Actor) -> bool:
    """Whether this person, or program, has uploaded what is there."""
    found = _PATH.fullmatch(path)
    return found is not None and found[2] == _owner(who)


def _owner(who: Actor) -> str:
    return who.name or f"key-{who.key}"


async def expire(files: Files, now: float, days: int) -> int:
    """Deletes some of what is older. Returns how many."""
    oldest = (datetime.fromtimestamp(now, UTC) - timedelta(days=days)).date().isoformat()
    old: list[str] = []
    async for one in files.list(FOLDER):
        found = _PATH.fullmatch(one.name)
        if found and found[1] < oldest:
            old.append(one.name)
            if len(old) == _AT_ONCE:
                break
    await files.delete(old)
    return len(old)
