"""Jobs in progress, written into the store as agents and dispatchers do."""

from pathlib import Path
from typing import Any

from obstore.store import LocalStore

from watchbell.files.objects import Files
from watchbell.jobs import job_packing
from watchbell.jobs.keys import Jobs
from watchbell.jobs.log_lines import Chunk
from watchbell.jobs.model import Job
from watchbell.store.client import Store

NOW = 1_794_732_937.0


def files_in(folder: Path) -> Files:
    folder.mkdir(exist_ok=True)
    return Files(LocalStore(folder), str(folder))


def job(id: str = "j1", **more: Any) -> Job:  # noqa: A002
    values = {"event": "e1", "state": "active", "launched": NOW, "started": NOW, **more}
    return Job(id=id, **values)


async def begun(store: Store, one: Job, **own: bytes) -> None:
    """A job in progress, on its server."""
    keys = Jobs(store.prefix)
    fields = {**job_packing.fields(one), **{f"_{name}": value for name, value in own.items()}}
    await store.call("HSET", keys.job(one.id), *(word for pair in fields.items() for word in pair))
    await store.call("ZADD", keys.live(), one.launched, one.id)
    if one.server:
        await store.call("SADD", keys.server_jobs(one.server), one.id)
        await store.call("SADD", keys.occupied(one.event), one.id)


class Printer:
    """Writes output as it arrives from an agent."""

    def __init__(self, store: Store, job_id: str = "j1") -> None:
        self._store, self._key = store, Jobs(store.prefix).log(job_id)
        self.number = self.offset = self.line = 0
        self.printed = b""

    async def print(self, text: bytes, at: float = NOW) -> None:
        self.number += 2  # there are other reports in between
        chunk = Chunk(at, self.offset, self.line, text)
        await self._store.call(
            *("XADD", self._key, f"{self.number}-0", "at", chunk.at, "offset", chunk.offset),
            *("line", chunk.line, "text", chunk.text),
        )
        self.offset, self.line, self.printed = chunk.end, chunk.following, self.printed + text

    def leave_out(self, size: int, lines: int) -> None:
        self.offset += size
        self.line += lines
