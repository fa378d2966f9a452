"""Writes the records of new jobs, and hands them over to the dispatcher."""

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import Enum
from zoneinfo import ZoneInfo

import msgspec

from watchbell.jobs.job_packing import fields
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Job, Limit
from watchbell.probes import probe
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.effects import verbatim
from watchbell.store.script import Script

DAY_KEPT = 3 * 86_400
"""Seconds for which the jobs of a day stay counted."""
_BATCH = 500
_UNLIMITED = ("user", "key")
"""Limits by day do not apply to what people launch; their jobs count, though."""


class Outcome(Enum):
    LAUNCHED = "launched"
    KNOWN = "it was launched before"
    LIMITED = "the limit of jobs a day was reached"


_OUTCOMES = {
    b"launched": Outcome.LAUNCHED,
    b"known": Outcome.KNOWN,
    b"limited": Outcome.LIMITED,
}

# Needs LAYOUT. `launch` writes one job, and may be repeated. It takes an item of `item_of` (id,
# event, time of launch, end of the delay or empty, priority, limits by day as {condition, amount},
# whether it counts for them, whether its event runs continuously, fields of the hash) and the day
# as a date. It returns 'launched', 'known' or 'limited', and raises nothing after `check_launches`
# has passed.
LAUNCH = f"""
local function check_launches()
  redis.call('ZCARD', jobs.live)
  redis.call('LLEN', jobs.ready)
  redis.call('ZCARD', jobs.delayed)
  redis.call('INCRBY', jobs.sequence, 0)
end

local function is_known(id)
  return redis.call('EXISTS', jobs.job .. id) == 1
    or redis.pcall('HEXISTS', jobs.finished, id) == 1
end

local function is_limited(event, limits, day)
  for _, limit in ipairs(limits) do
    local count = redis.pcall('HGET', jobs.launches_of_day .. day, event .. ':' .. limit[1])
    count = type(count) == 'string' and tonumber(count) or 0
    if count >= limit[2] then return true end
  end
  return false
end

-- Whether the latest job of an event that runs continuously is in progress.
local function is_running(event)
  local latest = redis.pcall('HGET', jobs.continuous, event)
  return type(latest) == 'string' and redis.call('EXISTS', jobs.job .. latest) == 1
end

local function launch(item, day)
  local id, event, launched, until_, priority, limits, is_counted, is_continuous, fields =
    unpack(item, 1, 9)
  if is_known(id) then return 'known' end
  if is_limited(event, limits, day) then return 'limited' end
  local turn = redis.call('INCR', jobs.sequence) - priority * 1e15
  redis.call('HSET', jobs.job .. id, '_turn', string.format('%.0f', turn), unpack(fields))
  redis.call('ZADD', jobs.live, launched, id)
  if until_ ~= '' then
    redis.call('ZADD', jobs.delayed, until_, id)
  else
    redis.call('RPUSH', jobs.ready, id)
  end
  if is_counted then
    redis.pcall('HINCRBY', jobs.launches_of_day .. day, event .. ':start', 1)
    redis.call('EXPIRE', jobs.launches_of_day .. day, {DAY_KEPT})
  end
  if is_continuous and not is_running(event) then
    redis.pcall('HSET', jobs.continuous, event, id)
  end
  redis.call('PUBLISH', jobs.news, id)
  return 'launched'
end
"""

# KEYS[1] ready; ARGV[1] day; ARGV[2] msgpack: items. Returns what became of each.
_LAUNCH = Script(
    LAYOUT
    + LAUNCH
    + """
check_launches()
local answers = {}
for i, item in ipairs(cmsgpack.unpack(ARGV[2])) do answers[i] = launch(item, ARGV[1]) end
return answers
"""
)


def day_of(now: float, timezone: str) -> str:
    """The day for limits by day: that of the settings' time zone."""
    return datetime.fromtimestamp(now, ZoneInfo(timezone)).strftime("%Y%m%d")


def item_of(job: Job, *, is_continuous: bool = False) -> list[object]:
    """The job for `launch` in Lua. `is_continuous` says whether its event runs continuously, so
    that another job follows it."""
    of_day = [limit for limit in job.limits if limit.type == "day"]
    words = [word for pair in fields(job).items() for word in (pair[0], verbatim(pair[1]))]
    if job.workflow is not None and job.workflow.queue:
        words += ["_queue", verbatim(msgspec.json.encode(job.workflow.queue))]
    return [
        job.id,
        job.event,
        f"{job.launched:.6f}",
        "" if job.until is None else f"{job.until:.6f}",
        job.priority,
        [] if _is_unlimited(job) else [[_counted(one), one.amount or 0] for one in of_day],
        bool(of_day),
        is_continuous,
        words,
    ]


def _is_unlimited(job: Job) -> bool:
    """The run of a workflow waits for another attempt at a job: it must not be left out."""
    is_next_attempt = job.retry_count > 0 and job.workflow is not None
    return job.source in _UNLIMITED or is_next_attempt


def _counted(limit: Limit) -> str:
    return limit.condition or "start"


async def launch(
    store: Store, jobs: Sequence[Job], timezone: str, continuous: Collection[str] = ()
) -> list[Outcome]:
    """Launches jobs. A job that was launched before, and may even have finished, is left as it is.

    `timezone` is that of the settings, in which limits by day count; `continuous` names events that
    run continuously.
    """
    outcomes: list[Outcome] = []
    for first in range(0, len(jobs), _BATCH):
        some = jobs[first : first + _BATCH]
        items = [item_of(job, is_continuous=job.event in continuous) for job in some]
        outcomes += await _launch(store, items, day_of(some[0].launched, timezone))
    return outcomes


async def _launch(store: Store, items: Sequence[list[object]], day: str) -> list[Outcome]:
    args: list[Argument] = [day, msgspec.msgpack.encode(items)]
    probe("jobs.launching")
    answers = await patiently(lambda: _LAUNCH(store, [Jobs(store.prefix).ready()], args))
    probe("jobs.launched")
    return [_OUTCOMES[answer] for answer in answers]
