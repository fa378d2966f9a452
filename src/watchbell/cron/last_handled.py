"""Marks: the last fire of each job that was handled, by any instance and with any outcome."""

from collections.abc import Sequence

import msgspec

from watchbell import logs
from watchbell.alerting.bounded_reports import REPORT
from watchbell.alerting.keys import Alerting
from watchbell.cron import lua
from watchbell.cron.keys import CronOwn
from watchbell.cron.model import Job
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

PAUSED = "paused"
"""In place of a fingerprint: no fire of the job is claimed while its mark contains this."""
MOST_AHEAD = 30
"""Seconds by which a mark may be ahead of the store's clock. After a small step of that clock, or a
failover to a server whose clock is behind, jobs wait until the clock has caught up, and no fire is
run twice. A mark further ahead would stop its job, so it is moved to the present."""
_UNBOUNDED = 1 << 53
_NAMED = 10
_REPORTED_FOR = 3_600

_KEYS_AND_LIMITS = """
local fired, ahead, events, unreported = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local own = cmsgpack.unpack(ARGV[1])
local seconds = tonumber(redis.call('TIME')[1])
"""

# KEYS fired, ahead, events, unreported; ARGV[1] msgpack: limits; ARGV[2] msgpack: {job,
# fingerprint}. A job without a mark, or whose mark has another fingerprint, is marked as handled up
# to now: a job that is new, was paused, or has a new schedule has missed nothing. Returns the
# marks, and those that were ahead of the store's clock.
_MARK = Script(
    _KEYS_AND_LIMITS
    + REPORT
    + lua.MARKS
    + """
local marks = {}
for i, pair in ipairs(cmsgpack.unpack(ARGV[2])) do
  local job, fingerprint = pair[1], pair[2]
  local last, known = mark_of(job)
  if known ~= fingerprint then
    last = math.max(last or 0, seconds)
    redis.call('HSET', fired, job, string.format('%d:%s', last, fingerprint))
  end
  marks[i] = last
end
return {marks, report_ahead()}
"""
)

# KEYS and ARGV[1] as above; ARGV[2] cursor. Moves marks that are ahead of the store's clock to the
# present, a slice at a time. Returns the next cursor, and the marks that were moved.
_SWEEP = Script(
    _KEYS_AND_LIMITS
    + REPORT
    + lua.MARKS
    + """
local found = redis.call('HSCAN', fired, ARGV[2], 'COUNT', 500)
for i = 1, #found[2], 2 do
  local last = tonumber(string.match(found[2][i + 1], '^%d+') or '0')
  if last > seconds + own.most_ahead then mark_of(found[2][i]) end
end
return {found[1], report_ahead()}
"""
)


# KEYS and ARGV[1] as above; ARGV[2] seconds for which marks that were moved stay reported. Returns
# 1 where the report ends now.
_SETTLE = Script(
    _KEYS_AND_LIMITS
    + REPORT
    + """
local newest = 0
for _, text in ipairs(redis.call('HVALS', ahead)) do
  newest = math.max(newest, tonumber(string.match(text, ':(%d+)$') or '1'))
end
if newest == 0 or newest > seconds - tonumber(ARGV[2]) then return 0 end
redis.call('DEL', ahead)
report('watchbell:cron marks', cjson.encode({
  type = 'service', state = 'ok', entity = 'watchbell', check = 'cron marks', time = seconds,
  summary = "no mark was ahead of the store's clock for an hour"
}))
return 1
"""
)


def mark(fire: int, job: Job) -> str:
    """The mark that claiming the fire writes; empty for a job that every instance runs."""
    return f"{fire}:{job.fingerprint}" if job.lock else ""


def handled(raw: bytes | None, job: Job) -> int | None:
    """The fire that the mark names; None if it belongs to another schedule, or is not a mark."""
    last, _, known = (raw or b"").partition(b":")
    is_time = last.isdigit() and len(last) < 12
    return int(last) if is_time and known == job.fingerprint.encode() else None


def fingerprint(job: Job, *, is_paused: bool) -> str:
    """What is stored beside the job's mark."""
    return PAUSED if is_paused else job.fingerprint


async def marked(store: Store, jobs: Sequence[Job], *, paused: set[str]) -> dict[str, int]:
    """The marks of the jobs that have a lock; a missing mark is written."""
    locked = [job for job in jobs if job.lock]
    if not locked:
        return {}
    pairs = [(job.name, fingerprint(job, is_paused=job.name in paused)) for job in locked]
    args = [_limits(_UNBOUNDED), msgspec.msgpack.encode(pairs)]
    found, ahead = await _MARK(store, _keys(store), args)
    log_moved(ahead)
    return {job.name: last for job, last in zip(locked, found, strict=True)}


async def sweep(store: Store, most_events: int) -> int:
    """Moves all marks that are ahead of the store's clock to the present, and reports them. Returns
    how many."""
    cursor, count = 0, 0
    while True:
        cursor, ahead = await _SWEEP(store, _keys(store), [_limits(most_events), cursor])
        log_moved(ahead)
        count += len(ahead)
        if not int(cursor):
            return count


async def settle(store: Store, most_events: int) -> bool:
    """Reports the check of marks as ok once none was moved for an hour. Returns whether it did."""
    args: list[Argument] = [_limits(most_events), _REPORTED_FOR]
    return bool(await _SETTLE(store, _keys(store), args))


def log_moved(moved: Sequence[tuple[bytes, bytes]]) -> None:
    """Logs the jobs whose marks a script moved to the present, and where the marks were."""
    if moved:
        logs.get(role="cron").warning(
            "moved marks that were ahead of the store's clock to the present: that clock was set "
            "back, or the marks were edited",
            jobs=", ".join(job.decode(errors="replace") for job, _ in moved[:_NAMED]),
            count=len(moved),
            furthest=max(int(last) for _, last in moved),
        )


def _keys(store: Store) -> list[str]:
    own = CronOwn(store.prefix)
    return [own.fired(), own.ahead(), Alerting(store.prefix).events(), own.unreported()]


def _limits(most_events: int) -> bytes:
    return msgspec.msgpack.encode({"most_ahead": MOST_AHEAD, "most_events": most_events})
