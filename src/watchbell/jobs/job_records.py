"""Reads the records of jobs, in progress or finished."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.jobs.job_packing import Packed, from_fields, unpack
from watchbell.jobs.keys import Jobs
from watchbell.jobs.log_lines import Chunk
from watchbell.jobs.model import Job
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

_AT_ONCE = 500

# KEYS[1] finished; ARGV[1] what the keys of jobs in progress begin with, then ids. Returns for each
# job the fields of its hash, or its packed record, or false.
_RECORDS = Script(
    READ
    + """
local found = {}
for i = 2, #ARGV do
  local fields = read('HGETALL', ARGV[1] .. ARGV[i])
  if fields and #fields > 0 then
    found[i - 1] = fields
  else
    found[i - 1] = read('HGET', KEYS[1], ARGV[i])
  end
end
return found
"""
)


class JobRecord(Struct, frozen=True):
    job: Job
    own: dict[str, bytes] = {}
    """Of a job in progress: the fields of its hash that are no part of the record, with their
    underscore."""
    log: tuple[Chunk, ...] = ()
    """Of a finished job: its output, where that is short."""
    is_live: bool = False


async def find(store: Store, ids: Sequence[str]) -> list[JobRecord | None]:
    """The records of these jobs; None for one that does not exist or can't be read."""
    keys, found = Jobs(store.prefix), list[JobRecord | None]()
    for first in range(0, len(ids), _AT_ONCE):
        some = ids[first : first + _AT_ONCE]
        answers = await _RECORDS(store, [keys.finished()], [keys.job.literals[0], *some])
        found += [_record(answer) for answer in answers]
    return found


def _record(answer: Any) -> JobRecord | None:
    if isinstance(answer, list):
        return from_hash(dict(zip(answer[::2], answer[1::2], strict=True)))
    packed: Packed | None = unpack(answer) if isinstance(answer, bytes) else None
    return JobRecord(packed.job, log=packed.log) if packed else None


def from_hash(found: dict[bytes, bytes]) -> JobRecord | None:
    job = from_fields(found)
    own = {
        name.decode(errors="replace"): value for name, value in found.items() if name[:1] == b"_"
    }
    return JobRecord(job, own=own, is_live=True) if job else None


async def read(store: Store, job_id: str) -> Job | None:
    """A job, in progress or finished."""
    found = (await find(store, [job_id]))[0]
    return found.job if found else None


async def live(store: Store) -> list[Job]:
    """All jobs in progress, the oldest first."""
    return [job async for page in live_pages(store) for job in page]


async def live_pages(
    store: Store, *, most: int = 0, newest_first: bool = False
) -> AsyncIterator[list[Job]]:
    """The jobs in progress in parts; `most` limits how many are looked at, 0 does not."""
    order = ("REV",) if newest_first else ()
    ids = await store.call("ZRANGE", Jobs(store.prefix).live(), 0, most - 1, *order)
    for first in range(0, len(ids), _AT_ONCE):
        some = [raw.decode(errors="replace") for raw in ids[first : first + _AT_ONCE]]
        yield [one.job for one in await find(store, some) if one and one.is_live]


class Processes(Struct, frozen=True):
    """What the processes of a job in progress use, and their connections. Fields are the
    document's."""

    procs: dict[str, Any]
    conns: list[Any]


async def processes(store: Store, job_id: str) -> Processes | None:
    """None where nothing is known of them."""
    procs, conns = await store.call("HMGET", Jobs(store.prefix).job(job_id), "procs", "conns")
    try:
        return Processes(
            msgspec.json.decode(procs or b"", type=dict[str, Any]),
            msgspec.json.decode(conns or b"[]", type=list[Any]),
        )
    except (msgspec.MsgspecError, UnicodeError):
        return None
