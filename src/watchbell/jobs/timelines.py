"""What the processes of a job used: each second of the last five minutes, each minute of the last
day. In the store while the job is in progress, then in a file."""

import gzip
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.errors import NotFound
from watchbell.files.objects import Files
from watchbell.fleet.messages import JobUsage
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import READ, Script

SECONDS, MINUTES = 300, 1_440
WORTH_KEEPING = 10
"""Seconds that a job must last for its timelines to be kept."""

# KEYS[1] ready; ARGV[1] msgpack: {job, second, minute, usage}; each of the latter two is JSON and
# `usage` fields of the job's hash. A minute has the sample that came first. Only jobs that are in
# progress are written. Returns how many were.
_ADD = Script(
    READ
    + LAYOUT
    + f"local seconds, minutes = {SECONDS}, {MINUTES}\n"
    + """
local function epoch(raw) return tonumber((value_of(raw) or {}).epoch) or 0 end
local function add(key, most, sample, apart)
  local newest = read('LINDEX', key, 0)
  if newest and epoch(sample) - epoch(newest) < apart then return end
  if type(redis.pcall('LPUSH', key, sample)) == 'table' then return end
  redis.call('LTRIM', key, 0, most - 1)
end
local count = 0
for _, one in ipairs(cmsgpack.unpack(ARGV[1])) do
  local id, second, minute, usage = unpack(one)
  if read('HGET', jobs.job .. id, 'state') == '"active"' then
    count = count + 1
    add(jobs.seconds .. id, seconds, second, 1)
    add(jobs.minutes .. id, minutes, minute, 60)
    redis.call('HSET', jobs.job .. id, unpack(usage))
  end
end
return count
"""
)


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

    async def add(self, usages: Sequence[JobUsage]) -> int:
        """Adds samples of jobs in progress, and the usage to their records. Returns of how many."""
        items = [_item(usage) for usage in usages]
        key = Jobs(self._store.prefix).ready()
        return int(await _ADD(self._store, [key], [msgspec.msgpack.encode(items)]))

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


def _item(usage: JobUsage) -> list[Any]:
    second = {"epoch": usage.at, "procs": usage.procs}
    minute = {**second, "conns": usage.conns}
    fields: list[Any] = ["updated", verbatim(msgspec.json.encode(usage.at))]
    for name, value in (("cpu", usage.cpu), ("mem", usage.mem)):
        if value:
            fields += [name, verbatim(msgspec.json.encode(value))]
    packed = [verbatim(msgspec.json.encode(sample)) for sample in (second, minute)]
    return [usage.job, *packed, fields]


def _samples(raw: Sequence[bytes]) -> list[dict[str, Any]]:
    """The oldest first; what is no sample is left out."""
    found = []
    for one in reversed(raw):
        try:
            found.append(msgspec.json.decode(one, type=dict[str, Any]))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return found
