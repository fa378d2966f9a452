"""Reads from the store which fires were not begun, and what holds their locks."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from watchbell.cron.fires import JobEntry
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.last_handled import handled
from watchbell.cron.lateness import Holder, Limits, Skips, Survey, allowed
from watchbell.cron.model import Fire, decoded, parsed
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

# KEYS skipped, awaited, pending, overdue, rundata, pools; ARGV[1] prefix of locks, ARGV[2] of
# fires that wait for one, ARGV[3] of pending fires by placement. Returns the time, skipped fires,
# fires that wait for a lock, the oldest pending fires, the jobs reported, and holders of the locks.
_SURVEY = Script(
    READ
    + """
local locks, waiting, holders = {}, {}, {}

local function add(list, key, most)
  for _, text in ipairs(read('LRANGE', key, 0, most - 1) or {}) do list[#list + 1] = text end
end

local skipped = read('HGETALL', KEYS[1]) or {}
for i = 2, #skipped, 2 do
  local lock = string.match(skipped[i], ':(%x+)$')
  if lock then locks[lock] = true end
end
for _, lock in ipairs(read('SMEMBERS', KEYS[2]) or {}) do
  locks[lock] = true
  add(waiting, ARGV[2] .. lock, 100)
end
local pending = {}
add(pending, KEYS[3], 200)
for _, pool in ipairs(read('SMEMBERS', KEYS[6]) or {}) do
  add(pending, ARGV[3] .. redis.sha1hex(pool), 50)
end
for lock in pairs(locks) do
  local token = read('GET', ARGV[1] .. lock)
  if token then holders[#holders + 1] = {lock, token, read('HGET', KEYS[5], token) or ''} end
end
local reported = read('HKEYS', KEYS[4]) or {}
return {redis.call('TIME'), skipped, waiting, pending, reported, holders}
"""
)


async def read(
    store: Store, drained: Iterable[JobEntry], limits: Limits
) -> tuple[Survey, list[bytes]]:
    """Returns the survey, and the names of jobs that are reported as overdue already. `drained` are
    the jobs of this instance if it is drained."""
    keys, own = Cron(store.prefix), CronOwn(store.prefix)
    names = [
        own.skipped(),
        own.awaited(),
        own.pending(),
        own.overdue(),
        keys.runs(),
        own.pools(),
    ]
    prefixes = [family.literals[0] for family in (keys.lock, own.waiting, own.pool_pending)]
    time, skipped, waiting, pending, reported, holders = await _SURVEY(store, names, prefixes)
    now = int(time[0]) + int(time[1]) / 1e6
    survey = Survey(
        now=now,
        skipped=dict(_skips(skipped)),
        waiting=[fire for text in waiting if (fire := parsed(text, Fire))],
        pending=[fire for text in pending if (fire := parsed(text, Fire))],
        unclaimed=await _unclaimed(store, drained, limits, now),
        holders={lock.decode(): _holder(token, raw) for lock, token, raw in holders},
    )
    return survey, reported


async def _unclaimed(
    store: Store, drained: Iterable[JobEntry], limits: Limits, now: float
) -> dict[str, int]:
    """Fires that a drained instance has left, and that no other instance has claimed."""
    entries = [
        entry
        for entry in drained
        if entry.job.lock and not entry.is_paused and not entry.is_elsewhere
        if entry.fire is not None and entry.at + allowed(entry.job, limits) < now
    ]
    if not entries:
        return {}
    names = [entry.job.name for entry in entries]
    marks = await store.call("HMGET", CronOwn(store.prefix).fired(), *names)
    due = {}
    for entry, mark in zip(entries, marks, strict=True):
        last = handled(mark, entry.job)
        fire = entry.job.schedule.next_after(entry.mark if last is None else last)
        if fire is not None:
            due[entry.job.name] = fire
    return due


def _skips(flat: Sequence[bytes]) -> Iterator[tuple[str, Skips]]:
    for name, text in zip(flat[::2], flat[1::2], strict=True):
        count, _, rest = text.partition(b":")
        first, _, lock = rest.partition(b":")
        if count.isdigit() and first.isdigit():
            skips = Skips(int(count), int(first), lock.decode(errors="replace"))
            yield name.decode(errors="replace"), skips


def _holder(token: bytes, raw: Any) -> Holder:
    turn = token.removeprefix(b"turn:")
    if turn != token:
        return Holder(job=turn.decode(errors="replace"))
    record = decoded(raw) if raw else None
    if record is None:
        return Holder()
    return Holder(record.job_name, token.decode(errors="replace"), record.host, record.start_time)
