"""The scripts that read jobs that have ended, and record them with everything that follows."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.alerting.bounded_reports import REPORT
from watchbell.alerting.keys import Alerting
from watchbell.jobs import job_packing, job_records, launches
from watchbell.jobs.check_reports import CheckReport
from watchbell.jobs.decide.completion import Completion
from watchbell.jobs.dispatch_scripts import RELEASE
from watchbell.jobs.history_index import index_keys
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.keys import Jobs
from watchbell.jobs.launches import LAUNCH
from watchbell.jobs.log_lines import Chunk
from watchbell.jobs.log_stream import chunk_of
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Job
from watchbell.jobs.outcomes import has_failed
from watchbell.store.client import Store
from watchbell.store.effects import Effects, verbatim
from watchbell.store.replies import pairs
from watchbell.store.script import READ, Script

DAMAGED = "damaged"
"""The event of a job whose record was spoiled by another program."""
SHORT = 8 << 10
"""Bytes of the end of a log that are read with its job."""
_RECENT = 30

# What others may change of a job that has ended: results of its actions, and files.
_VERSION = """
local function version(id)
  local found = redis.pcall('HMGET', jobs.job .. id, 'state', 'actions', 'tags', 'jobs', 'files')
  if found.err then return '' end
  for i = 1, 5 do found[i] = found[i] or '' end
  return redis.sha1hex(table.concat(found, '\\n'))
end
"""

# KEYS[1] ready; ARGV[1] bytes of a log that are short; then ids. Returns the ids of tags, and for
# each job: its fields, its version, its event, its server, the end of its log, and whether that is
# all of it.
_LOAD = Script(
    READ
    + LAYOUT
    + _VERSION
    + """
-- Of an entry that is longer than all that is wanted, only the end.
local function cut(entry)
  local fields, places = entry[2], {}
  for i = 1, #fields, 2 do places[fields[i]] = i + 1 end
  local text, offset = places.text and fields[places.text], places.offset
  if not text or not offset or #text <= tonumber(ARGV[1]) then return false end
  fields[places.text] = string.sub(text, -tonumber(ARGV[1]))
  fields[offset] = string.format('%.0f', (tonumber(fields[offset]) or 0) + #text - ARGV[1])
  return true
end

local function log_end(id)
  local entries, size, last = {}, 0, '+'
  while size < tonumber(ARGV[1]) and #entries < 64 do
    local entry = (read('XREVRANGE', jobs.log .. id, last, '-', 'COUNT', 1) or {})[1]
    if not entry then return entries, read('EXISTS', jobs.log_parts .. id) == 0 and 1 or 0 end
    table.insert(entries, 1, entry)
    if cut(entry) then return entries, 0 end
    size = size + #(entry[2][#entry[2]] or '')
    last = '(' .. entry[1]
  end
  return entries, 0
end

local found = {}
for i = 2, #ARGV do
  local id = ARGV[i]
  local fields = read('HGETALL', jobs.job .. id) or {}
  local names = {}
  for f = 1, #fields, 2 do names[fields[f]] = fields[f + 1] end
  local event, server = text_of(names.event), text_of(names.server)
  local entries, is_all = log_end(id)
  found[i - 1] = {
    fields, version(id), event and read('HGET', jobs.events, event) or false,
    server and read('HGET', fleet.servers, server) or false, entries, is_all,
  }
end
return {read('HKEYS', jobs.tags) or {}, found}
"""
)

# KEYS ready, events of alerting; ARGV[1] most events of alerting, ARGV[2] day for limits by day,
# ARGV[3] msgpack: items of `FinishedJob.packed`. A job that is over already is left as it is; one
# that was changed since it was read is queued again. Returns what became of each item, and what the
# store refused because of a key that another program spoiled.
_APPLY = Effects(
    LAYOUT
    + RELEASE
    + LAUNCH
    + _VERSION
    + """
local own, events, unreported = {most_events = tonumber(ARGV[1])}, KEYS[2], jobs.unreported
local day = ARGV[2]
"""
    + REPORT
    + f"local most_recent, day_kept = {_RECENT}, {launches.DAY_KEPT}\n"
    + """
-- What every job needs. Where one of these is spoiled, nothing is written, and the batch is tried
-- again later. The first write of the script is here, too, in case the store takes none now.
check_launches()
redis.call('HLEN', jobs.finished)
redis.call('ZCARD', jobs.done)
redis.call('LLEN', jobs.actions)
redis.call('LLEN', jobs.archiving)
local batch = cmsgpack.unpack(ARGV[3])
for _, one in ipairs(batch) do
  if one.workflow_step then redis.call('LLEN', jobs.workflow_steps) end
end

local refused = {}
local function step(name, act, ...)
  local done, answer = pcall(act, ...)
  if done then return answer end
  local why = type(answer) == 'table' and answer.err or tostring(answer)
  refused[#refused + 1] = name .. ': ' .. why
end

local function index(keys, score, id)
  for _, key in ipairs(keys) do step('index', redis.call, 'ZADD', key, score, id) end
end

local function count_for_event(event, id, code, completed, elapsed, failed)
  if redis.call('HEXISTS', jobs.events, event) == 0 then return end
  local state = list_of(redis.call('HGET', jobs.event_states, event))
  local function number(name) return tonumber(state[name]) or 0 end
  state.total_elapsed = number('total_elapsed') + elapsed
  state.total_count = number('total_count') + 1
  if completed >= number('last_completed') then
    state.last_job, state.last_code = id, cjson.decode('[' .. code .. ']')[1]
    state.last_completed, state.last_elapsed = completed, elapsed
    state.failures = failed == 1 and number('failures') + 1 or 0
  end
  local recent = type(state.recent) == 'table' and state.recent or {}
  recent[#recent + 1] = {completed, elapsed, failed}
  while #recent > most_recent do table.remove(recent, 1) end
  state.recent = recent
  redis.call('HSET', jobs.event_states, event, cjson.encode(state))
  redis.call('ZADD', jobs.state_changes, redis.call('INCR', jobs.sequence), event)
end

local function count_of_day(event, conditions)
  local key = jobs.launches_of_day .. day
  for _, condition in ipairs(conditions) do
    redis.call('HINCRBY', key, event .. ':' .. condition, 1)
    redis.call('EXPIRE', key, day_kept)
  end
end

local function remove(id, keeps_log, keeps_timelines)
  redis.call('ZREM', jobs.live, id)
  redis.call('ZREM', jobs.delayed, id)
  redis.call('UNLINK', jobs.job .. id, jobs.workflow_jobs .. id, jobs.workflow_values .. id)
  step('suspended', redis.call, 'SREM', jobs.suspended, id)
  if not keeps_log then redis.call('UNLINK', jobs.log .. id, jobs.log_parts .. id) end
  if not keeps_timelines then redis.call('UNLINK', jobs.seconds .. id, jobs.minutes .. id) end
  if keeps_log or keeps_timelines then redis.call('RPUSH', jobs.archiving, id) end
end

local function finish(one)
  local id = one.id
  if redis.call('EXISTS', jobs.job .. id) == 0 then return 'over' end
  if version(id) ~= one.version then
    redis.call('RPUSH', jobs.finishing, id)
    return 'changed'
  end
  redis.call('HSET', jobs.finished, id, one.record)
  redis.call('ZADD', jobs.done, one.completed, id)
  index(one.indexes, one.completed, id)
  if one.counted then step('event state', count_for_event, unpack(one.counted)) end
  step('counters', redis.call, 'HINCRBY', jobs.counters, one.verdict, 1)
  step('limits by day', count_of_day, one.event, one.conditions)
  if one.retry then step('retry', launch, one.retry, day) end
  if one.workflow_step then redis.call('RPUSH', jobs.workflow_steps, one.workflow_step) end
  for _, item in ipairs(one.actions) do redis.call('RPUSH', jobs.actions, item) end
  if one.check then step('check', report, one.check[1], one.check[2]) end
  step('release', release, id)
  remove(id, one.keeps_log, one.keeps_timelines)
  redis.call('PUBLISH', jobs.news, id)
  return 'done'
end

local answers = {}
for i, one in ipairs(batch) do
  answers[i] = step('job ' .. one.id, finish, one) or 'failed'
end
return {answers, refused}
"""
)


class Ended(Struct, frozen=True, kw_only=True):
    """A job that has ended, as it was read."""

    record: JobRecord
    version: bytes
    event: bytes | None
    server: bytes | None
    log_end: list[Chunk]
    has_all: bool
    """Whether that is the whole log."""


class FinishedJob(Struct, frozen=True, kw_only=True):
    completion: Completion
    version: bytes
    report: CheckReport | None
    log: list[Chunk]
    """The log, where it is part of the record."""
    keeps_log: bool
    """Whether the log is to be archived."""
    keeps_timelines: bool

    def packed(self, keys: Jobs) -> msgspec.Raw:
        return msgspec.Raw(msgspec.msgpack.encode(self._item(keys)))

    def _item(self, keys: Jobs) -> dict[str, Any]:
        done, job = self.completion, self.completion.job
        code = msgspec.json.encode(job.code).decode()
        completed, elapsed, failed = job.completed, job.elapsed, int(has_failed(job.code))
        limits = {one.condition for one in job.limits if one.type == "day" and one.enabled}
        return {
            "id": job.id,
            "event": job.event,
            "version": verbatim(self.version),
            "record": verbatim(job_packing.pack(job, self.log)),
            "completed": f"{completed:.6f}",
            "verdict": "fail" if failed else "success",
            "indexes": index_keys(keys, job),
            "counted": done.counts and [job.event, job.id, code, completed, elapsed, failed],
            "conditions": [one for one in done.fired if one in limits],
            "retry": launches.item_of(done.retry) if done.retry else False,
            "workflow_step": verbatim(done.step) if done.step else False,
            "actions": [verbatim(item) for item in done.items],
            "check": [self.report.check, verbatim(self.report.event)] if self.report else False,
            "keeps_log": self.keeps_log,
            "keeps_timelines": self.keeps_timelines,
        }


async def load(store: Store, ids: Sequence[str]) -> tuple[set[str], list[Ended | None]]:
    """The tags that exist, and the jobs; None for one that is over."""
    keys = Jobs(store.prefix)
    tags, found = await _LOAD(store, [keys.ready()], [SHORT, *ids])
    return {tag.decode(errors="replace") for tag in tags}, [
        _ended(job_id, *one) for job_id, one in zip(ids, found, strict=True)
    ]


def _ended(
    job_id: str,
    fields: list[bytes],
    version: bytes,
    event: bytes | None,
    server: bytes | None,
    entries: list[Any],
    is_all: int,
) -> Ended | None:
    if not fields:
        return None
    record = job_records.from_hash(dict(pairs(fields))) or _damaged(job_id)
    if record.job.state != "finishing":
        return None
    return Ended(
        record=replace(record, job=replace(record.job, id=job_id)),
        version=version,
        event=event,
        server=server,
        log_end=[chunk for entry in entries if (chunk := chunk_of(entry))],
        has_all=bool(is_all),
    )


def _damaged(job_id: str) -> JobRecord:
    """A job of which nothing can be read any more; it has ended nevertheless."""
    return JobRecord(Job(id=job_id, event=DAMAGED, state="finishing"), is_live=True)


def apply_arguments(
    store: Store, items: Sequence[msgspec.Raw], most_events: int, day: str
) -> tuple[Effects, list[str], list[str | bytes | int | float]]:
    """What `Taker.acknowledge` takes to record these jobs, of `FinishedJob.packed`."""
    names = [Jobs(store.prefix).ready(), Alerting(store.prefix).events()]
    return _APPLY, names, [most_events, day, msgspec.msgpack.encode(items)]
