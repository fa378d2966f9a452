"""The scripts that read runs of workflows, and write what one step of each changes."""

from collections.abc import Sequence
from typing import Any

import msgspec

from watchbell.jobs import job_records, launches
from watchbell.jobs.aborts import ABORT
from watchbell.jobs.decide.workflow import NOT_LAUNCHED
from watchbell.jobs.decide.workflow_state import EndedJob, Kept, RunState, Step, Values
from watchbell.jobs.dispatch_scripts import END, SHARED
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.keys import Jobs
from watchbell.jobs.launches import LAUNCH
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Job
from watchbell.jobs.workflow_model import Stub
from watchbell.store.client import Store
from watchbell.store.effects import Effects, verbatim
from watchbell.store.replies import pairs, text
from watchbell.store.script import RAISE_NOT_NOW, READ, Script

STATE = "_workflow"
"""The field of a run with its state."""

# KEYS[1] ready; ARGV[1…] runs. Returns for each the fields of its hash.
_LOAD = Script(
    READ
    + LAYOUT
    + """
local found = {}
for i, id in ipairs(ARGV) do found[i] = read('HGETALL', jobs.job .. id) or {} end
return found
"""
)

# KEYS[1] ready; ARGV[1] run. Returns what is kept of its jobs, and what they passed on, each as
# pairs of a job and JSON.
_KEPT = Script(
    READ
    + LAYOUT
    + """
return {read('HGETALL', jobs.workflow_jobs .. ARGV[1]) or {},
  read('HGETALL', jobs.workflow_values .. ARGV[1]) or {}}
"""
)

# KEYS ready; ARGV[1] day for limits by day, ARGV[2] msgpack: items of `packed`. A run that is over
# is left as it is. One that can't be written ends. Returns what the store refused.
APPLY = Effects(
    SHARED
    + END
    + LAUNCH
    + ABORT
    + RAISE_NOT_NOW
    + """
check_launches()
redis.call('LLEN', jobs.actions)
redis.call('LLEN', jobs.finishing)
redis.call('ZCARD', jobs.workflow_later)

local function write(key, words)
  for first = 1, #words, 1000 do
    redis.call('HSET', key, unpack(words, first, math.min(first + 999, #words)))
  end
end

local function apply(one)
  local id = one.id
  if text_of(redis.call('HGET', jobs.job .. id, 'state')) ~= 'active' then return end
  write(jobs.workflow_jobs .. id, one.stubs)
  write(jobs.workflow_values .. id, one.values)
  for i, item in ipairs(one.launches) do
    if launch(item, ARGV[1]) == 'limited' then
      redis.call('RPUSH', jobs.workflow_steps, one.refusals[i])
    end
  end
  for _, item in ipairs(one.actions) do redis.call('RPUSH', jobs.actions, item) end
  for _, later in ipairs(one.later) do
    redis.call('ZADD', jobs.workflow_later, later[1], later[2])
  end
  for _, job in ipairs(one.aborts) do abort(job, one.aborted, one.wanted) end
  write(jobs.job .. id, one.fields)
  if one.result then end_job(id, one.result) else redis.call('PUBLISH', jobs.news, id) end
end

-- Ends a run of which not all can be written, with the jobs that it has in progress.
local function give_up(one)
  local state = list_of(redis.pcall('HGET', jobs.job .. one.id, '_workflow'))
  for job in pairs(type(state.active) == 'table' and state.active or {}) do
    pcall(abort, job, one.failed, one.given_up)
  end
  for _, item in ipairs(one.launches) do pcall(abort, item[1], one.failed, one.given_up) end
  end_job(one.id, one.failed)
end

local refused = {}
for _, one in ipairs(cmsgpack.unpack(ARGV[2])) do
  local is_done, problem = pcall(apply, one)
  if not is_done then
    local answer = type(problem) == 'table' and problem or {err = tostring(problem)}
    raise_not_now(answer)
    refused[#refused + 1] = one.id .. ': ' .. answer.err
    pcall(give_up, one)
  end
end
return refused
"""
)


async def load(store: Store, runs: Sequence[str]) -> list[JobRecord | None]:
    """The runs; None for one that is over, or is no run."""
    keys = Jobs(store.prefix)
    answers = await _LOAD(store, [keys.ready()], list(runs))
    found = []
    for fields in answers:
        record = job_records.from_hash(dict(pairs(fields))) if fields else None
        is_run = record is not None and record.job.type == "workflow"
        found.append(record if is_run and record and record.job.state == "active" else None)
    return found


async def kept(store: Store, run: str) -> tuple[list[Stub], dict[str, Values]]:
    """What is kept of the jobs of a run that have ended, in the order of their end. Of a job that
    passed nothing on, no values are stored."""
    stubs, values = await _KEPT(store, [Jobs(store.prefix).ready()], [run])
    made = [one for _, raw in pairs(stubs) if (one := _parsed(raw, Stub)) is not None]
    passed = {one.id: Values() for one in made}
    for job, raw in pairs(values):
        if (one := _parsed(raw, Values)) is not None:
            passed[text(job)] = one
    return sorted(made, key=lambda one: (one.completed, one.id)), passed


def _parsed(raw: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def state_of(record: JobRecord) -> RunState | None:
    """None where another program has spoiled it."""
    raw = record.own.get(STATE)
    try:
        return RunState() if raw is None else msgspec.json.decode(raw, type=RunState)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def stubs_of(found: Sequence[Kept]) -> list[object]:
    return [
        word for one in found for word in (_name(one.stub), verbatim(msgspec.json.encode(one.stub)))
    ]


def _name(stub: Stub) -> str:
    """No id of a job has a colon."""
    return stub.id or f"{stub.node}:{stub.index}"


def values_of(found: Sequence[Kept]) -> list[object]:
    return [
        word
        for one in found
        if one.values != Values()
        for word in (one.stub.id, verbatim(msgspec.json.encode(one.values)))
    ]


def launch_items(run: str, jobs: Sequence[Job]) -> tuple[list[object], list[object]]:
    """For `launch` in Lua, and what the run is to hear of a job that is refused by a limit by
    day."""
    refusals = [verbatim(msgspec.json.encode(refusal(run, one))) for one in jobs]
    return [launches.item_of(one) for one in jobs], [*refusals]


def refusal(run: str, job: Job) -> Step:
    reason = launches.Outcome.LIMITED.value
    return Step(
        run=run, what="refused", job=EndedJob(id=job.id, code=NOT_LAUNCHED, description=reason)
    )
