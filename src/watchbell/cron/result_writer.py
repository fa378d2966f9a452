"""Writes output and results of many runs into the store by one script."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import msgspec

from watchbell import logs
from watchbell.alerting.keys import Alerting
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.lua import SHARED, prefixes
from watchbell.cron.run_results import RunResult
from watchbell.errors import StoreUnavailable
from watchbell.runs.output_writes import WRITE_LINES, packed
from watchbell.runs.writer import Unwritten
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.effects import verbatim
from watchbell.store.script import RAISE_NOT_NOW, Script

OUTPUT_KEPT = 86_400_000
"""Milliseconds for which output is kept after its last line."""
_SLICE = 500

# KEYS rundata, active, details, pending, awaited, events, pools, retries, retries due, unreported,
# jobs; ARGV[1] msgpack: prefixes of keys and limits; ARGV[2] msgpack: lines, each {run, arguments
# of `write_lines` after the key}; ARGV[3] msgpack: ends, each {run, job, lock, verdict, record,
# detail, score, event, stale, retry, instance, retry at, is kept}; ARGV[4] milliseconds from the
# start of a run for which its lock is held at least. With `stale`, only a run without heartbeat
# since then is ended. `retry` is the next attempt as JSON. It waits until it is due, and the event
# waits with it: the failure is reported only if the attempt is not made. Nothing is reported of a
# job that was deleted from the store. A run that is over already stays as it is. Returns what
# became of each end, how many fires are pending, and what the store refused.
_WRITE = Script(
    RAISE_NOT_NOW
    + """
local runs, active, details = KEYS[1], KEYS[2], KEYS[3]
local pending, awaited, events = KEYS[4], KEYS[5], KEYS[6]
local pools, retries, retries_due = KEYS[7], KEYS[8], KEYS[9]
local unreported, jobs = KEYS[10], KEYS[11]
local own = cmsgpack.unpack(ARGV[1])
local least_hold = tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
"""
    + SHARED
    + WRITE_LINES
    + """
-- To the fire that waits for it; else a lock that was held for a moment only stays until an
-- instance of Cronken, which tries again 100 ms later, has found it held.
local function release(lock, run, start)
  if lock == '' then return end
  forget_holder(lock, run)
  if try('GET', own.locks .. lock) ~= run then return end
  if hand_over(lock) then return end
  local left = math.ceil(least_hold - (now - (start or 0)) * 1000)
  if left > 0 then
    redis.call('PEXPIRE', own.locks .. lock, left, 'LT')
  else
    redis.call('DEL', own.locks .. lock)
  end
end

-- In slices: a limit that was lowered is reached over the next ends.
local function trim(key, general)
  local extra = (try('ZCARD', key) or 0) - own.most_of_job
  if extra > 0 then
    local old = redis.call('ZRANGE', key, 0, math.min(extra, own.slice) - 1)
    redis.call('ZREM', key, unpack(old))
    redis.call('HDEL', runs, unpack(old))
    redis.call('HDEL', details, unpack(old))
    try('ZREM', general, unpack(old))
    for i, run in ipairs(old) do old[i] = own.outputs .. run end
    redis.call('UNLINK', unpack(old))
  end
  extra = (try('ZCARD', general) or 0) - own.most
  if extra > 0 then
    redis.call('ZREMRANGEBYRANK', general, 0, math.min(extra, 20 * own.slice) - 1)
  end
end

local function retry_later(text, instance, at, event)
  local key = retry_key(decoded(text), instance)
  if try('HEXISTS', retries, key) == 1 then give_up_retry(key) end
  try('HSET', retries, key, cjson.encode({fire = text, event = event}))
  try('ZADD', retries_due, at, key)
end

local function finish(run, job, lock, verdict, record, detail, score, event, stale, retry, instance,
                      retry_at, is_kept)
  local known = redis.call('HGET', runs, run)
  if known == record then return 'done' end
  local fields = decoded(known or '')
  if fields.status ~= 'running' then
    redis.call('ZREM', active, run)
    if stale == '' then release(lock, run) end
    return known and 'over' or 'gone'
  end
  if stale ~= '' and tonumber(redis.call('ZSCORE', active, run) or '0') > tonumber(stale) then
    return 'alive'
  end
  redis.call('HSET', runs, run, record)
  redis.call('HSET', details, run, detail)
  redis.call('ZREM', active, run)
  local general = own.results .. verdict
  local own_results = own.job_results[1] .. job .. own.job_results[2] .. verdict
  try('ZADD', general, score, run)
  try('ZADD', own_results, score, run)
  try('HINCRBY', own.counters, verdict, 1)
  trim(own_results, general)
  -- Of a run without heartbeat the lock lapses when that has ended for sure, wherever it was.
  if stale == '' then
    release(lock, run, tonumber(fields.start_time))
  elseif lock ~= '' and recorded_holder(lock) == run then
    give_notice(lock)
  end
  if is_kept == '1' and redis.call('HEXISTS', jobs, job) == 0 then return 'done' end
  if retry ~= '' then
    retry_later(retry, instance, retry_at, event)
  elseif event ~= '' then
    report('cron:' .. job, event)
  end
  return 'done'
end

for _, one in ipairs(cmsgpack.unpack(ARGV[2])) do
  write_lines(own.outputs .. one[1], unpack(one[2]))
end
local answers = {}
for i, final in ipairs(cmsgpack.unpack(ARGV[3])) do answers[i] = finish(unpack(final)) end
return {answers, redis.call('LLEN', pending), refused}
"""
)


class Outcome(Enum):
    DONE = "done"
    OVER = "over"
    """Another instance had ended the run, most likely as frozen."""
    GONE = "gone"
    ALIVE = "alive"
    """The run sent a heartbeat meanwhile, so it was not ended."""


class ResultWriter:
    def __init__(
        self,
        store: Store,
        *,
        most: int,
        most_of_job: int,
        most_events: int,
        as_list: bool,
        on_pending: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`on_pending` is called after each write with the number of pending fires."""
        keys, own = Cron(store.prefix), CronOwn(store.prefix)
        self._store, self._on_pending = store, on_pending
        self._keys = [
            keys.runs(),
            keys.active(),
            own.details(),
            own.pending(),
            own.awaited(),
            Alerting(store.prefix).events(),
            own.pools(),
            own.retries(),
            own.retries_due(),
            own.unreported(),
            keys.jobs(),
        ]
        self.least_hold = 0
        """Milliseconds for which a lock is held at least."""
        self._own = msgspec.msgpack.encode(
            {
                **prefixes(keys, own),
                "outputs": keys.output.literals[0],
                "results": keys.results.literals[0],
                "job_results": keys.job_results.literals,
                "counters": own.counters(),
                "kept": OUTPUT_KEPT,
                "most": most,
                "most_of_job": most_of_job,
                "most_events": most_events,
                "slice": _SLICE,
                "as_list": as_list,
            }
        )
        self._log = logs.get(role="cron")

    async def write(self, batch: Sequence[Unwritten[RunResult]]) -> list[Outcome]:
        """Waits while the store is unavailable."""
        lines = [(one.run, packed(one.lines)) for one in batch if one.lines]
        ends = [_ready(one.final) for one in batch if one.final]
        written = [msgspec.msgpack.encode(lines), msgspec.msgpack.encode(ends)]
        args: list[Argument] = [self._own, *written, self.least_hold]
        answers, pending, refused = await patiently(
            lambda: _WRITE(self._store, self._keys, args), self._on_wait
        )
        for why in refused:
            self._log.error("the store refused a part of a result", reason=why)
        self._on_pending(pending)
        return [Outcome(answer.decode()) for answer in answers]

    def _on_wait(self, error: StoreUnavailable) -> None:
        self._log.debug("results wait for the store", reason=str(error))


def _ready(final: RunResult) -> list[Any]:
    return [verbatim(part) if isinstance(part, bytes) else _text(part) for part in final]


def _text(part: str | float | bool) -> str:
    if isinstance(part, bool):
        return str(int(part))
    return part if isinstance(part, str) else f"{part:.6f}"
