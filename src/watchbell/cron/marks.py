"""Marks: of each job, the last fire that was handled, by whomever and with whatever outcome."""

from collections.abc import Sequence

import msgspec

from watchbell.cron.keys import CronOwn
from watchbell.cron.model import Job
from watchbell.store.client import Store
from watchbell.store.script import Script

PAUSED = "paused"
"""In place of a fingerprint: nothing is claimed of a job while it is marked so."""

# KEYS[1] fired; ARGV[1] msgpack: {job, fingerprint}. What was marked with another fingerprint, or
# not at all, is marked as handled up to now: a job that is new, that was paused, or whose schedule
# was changed has missed nothing. Returns the marks.
_MARK = Script("""
local now = tonumber(redis.call('TIME')[1])
local marks = {}
for i, pair in ipairs(cmsgpack.unpack(ARGV[1])) do
  local job, fingerprint = pair[1], pair[2]
  local last, known = string.match(redis.call('HGET', KEYS[1], job) or '', '^(%d+):(.*)$')
  if known ~= fingerprint then
    last = math.max(tonumber(last or '0'), now)
    redis.call('HSET', KEYS[1], job, string.format('%d:%s', last, fingerprint))
  end
  marks[i] = tonumber(last)
end
return marks
""")


def mark(fire: int, job: Job) -> str:
    """As it is written when the fire is claimed; empty for a job that every instance runs."""
    return f"{fire}:{job.fingerprint}" if job.lock else ""


def handled(raw: bytes | None, job: Job) -> int | None:
    """The last fire that the mark tells of; None where it is of another schedule, or is none."""
    last, _, known = (raw or b"").partition(b":")
    is_time = last.isdigit() and len(last) < 12
    return int(last) if is_time and known == job.fingerprint.encode() else None


def fingerprint(job: Job, *, is_paused: bool) -> str:
    """What stands beside the job's mark."""
    return PAUSED if is_paused else job.fingerprint


async def marked(store: Store, jobs: Sequence[Job], *, paused: set[str]) -> dict[str, int]:
    """The marks of those of the jobs that have one, made where there was none."""
    locked = [job for job in jobs if job.lock]
    if not locked:
        return {}
    pairs = [(job.name, fingerprint(job, is_paused=job.name in paused)) for job in locked]
    found = await _MARK(store, [CronOwn(store.prefix).fired()], [msgspec.msgpack.encode(pairs)])
    return {job.name: last for job, last in zip(locked, found, strict=True)}
