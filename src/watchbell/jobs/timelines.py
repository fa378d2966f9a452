"""Reads the timelines of a job: in the store while it is in progress (`usages`), then in a file."""

import gzip
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.errors import NotFound
from watchbell.files.objects import Files
from watchbell.jobs.keys import Jobs
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

WORTH_KEEPING = 10
"""Seconds that a job must last for its timelines to be kept."""

# KEYS lists. Returns what each has.
_LISTS = Script(
    READ
    + """
local found = {}
for i, key in ipairs(KEYS) do found[i] = read('LRANGE', key, 0, -1) or {} end
return found
"""
)


class Timeline(Struct, frozen=True, kw_only=True):
    second: list[dict[str, Any]] = []
    """Samples of the last five minutes, oldest first: `epoch`, `procs`."""
    minute: list[dict[str, Any]] = []
    """Samples of the last day: `epoch`, `procs`, `conns`."""


class Timelines:
    def __init__(self, store: Store, files: Files) -> None:
        self._store, self._files = store, files

    async def read(self, job: str) -> Timeline:
        """The timelines of a job, in progress or finished; empty ones where there are none."""
        found = await self._stored(job)
        if found.second or found.minute:
            return found
        try:
            raw = gzip.decompress(await self._files.get(timeline_file(job)))
            return msgspec.json.decode(raw, type=Timeline)
        except (NotFound, OSError, EOFError, msgspec.MsgspecError):
            return found

    async def archive(self, job: str) -> None:
        """Writes them to a file; what is in the store is left to the caller."""
        found = await self._stored(job)
        if found.second or found.minute:
            packed = gzip.compress(msgspec.json.encode(found), mtime=0)
            await self._files.put(timeline_file(job), packed)

    async def _stored(self, job: str) -> Timeline:
        keys = Jobs(self._store.prefix)
        seconds, minutes = await _LISTS(self._store, [keys.seconds(job), keys.minutes(job)])
        return Timeline(second=_samples(seconds), minute=_samples(minutes))


def timeline_file(job: str) -> str:
    return f"jobs/{job}/timelines.json.gz"


def _samples(raw: Sequence[bytes]) -> list[dict[str, Any]]:
    """The oldest first; what is no sample is left out."""
    found = []
    for one in reversed(raw):
        try:
            found.append(msgspec.json.decode(one, type=dict[str, Any]))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return found
