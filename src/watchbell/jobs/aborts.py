"""Aborts jobs, in whatever state they are, and flushes queues."""

from enum import Enum

import msgspec

from watchbell.actors import Actor
from watchbell.errors import NotFound
from watchbell.jobs.dispatch_plan import aborted
from watchbell.jobs.dispatch_scripts import END, SHARED
from watchbell.jobs.keys import Jobs
from watchbell.probes import probe
from watchbell.store.client import Store
from watchbell.store.replies import text
from watchbell.store.script import Script

_AT_ONCE = 500


class Outcome(Enum):
    ENDED = "the job was aborted before it started"
    ASKED = "the job is being aborted"
    OVER = "the job had ended before"


_OUTCOMES = {b"ended": Outcome.ENDED, b"asked": Outcome.ASKED, b"over": Outcome.OVER}

# Needs LAYOUT. `end_run` lets a run of a workflow end as JSON for the agent says. The run ignores a
# second request.
END_RUN = """
local function end_run(id, wanted)
  local wish = list_of(wanted)
  redis.call('RPUSH', jobs.workflow_steps, cjson.encode({
    run = id, what = 'abort', reason = wish.reason, retry_ok = wish.retry_ok, by = wish.by
  }))
end
"""

# Needs SHARED and END. `abort` takes a job, the result that it has if no agent has it, and JSON for
# the agent: reason, retry_ok, by. It returns 'ended', 'asked', 'over', or 'none' where there is no
# such job in progress. A job that is being aborted keeps its first reason. A run of a workflow
# ends once its jobs have.
ABORT = (
    END_RUN
    + """
local function abort_run(id, wanted, before)
  if not before then
    end_run(id, wanted)
    redis.call('HSET', jobs.job .. id, '_abort', wanted)
    redis.call('PUBLISH', jobs.news, id)
  end
  return 'asked'
end

local function abort(id, result, wanted)
  local key = jobs.job .. id
  local state, server, remote, boot, before, kind = unpack(
    redis.call('HMGET', key, 'state', 'server', 'remote', '_boot', '_abort', 'type'))
  state, server = text_of(state), text_of(server)
  if not state then return 'none' end
  if state == 'finishing' or state == 'complete' then return 'over' end
  if state == 'active' and kind == '"workflow"' then return abort_run(id, wanted, before) end
  if state ~= 'active' or not is_sent(remote, boot) then
    end_unsent(id, result)
    return 'ended'
  end
  if not before then
    redis.call('HSET', key, '_abort', wanted)
    redis.call('RPUSH', fleet.orders .. server, '{"abort":"' .. id .. '"}')
    redis.call('PUBLISH', fleet.orders_channel, server)
    redis.call('PUBLISH', jobs.news, id)
  end
  return 'asked'
end
"""
)

# KEYS[1] ready; ARGV[1] result of a job that no agent has, ARGV[2] JSON for the agent; ARGV[3…]
# ids. Returns for each what `abort` does.
_ABORT = Script(
    SHARED
    + END
    + ABORT
    + """
local outcomes = {}
for i = 3, #ARGV do outcomes[i - 2] = abort(ARGV[i], ARGV[1], ARGV[2]) end
return outcomes
"""
)


async def abort(
    store: Store,
    job_id: str,
    reason: str,
    by: Actor | None,
    *,
    now: float,
    retry_ok: bool = False,
) -> Outcome:
    """`by` is None where nobody asked for it. Raises NotFound where the job is not in progress."""
    outcome = (await _abort(store, [job_id], reason, by, now, retry_ok=retry_ok))[0]
    if outcome is None:
        raise NotFound(f"there is no job {job_id[:100]!r} in progress")
    return outcome


async def flush_queue(store: Store, event: str, by: Actor, *, now: float) -> int:
    """Aborts all jobs that wait because of the event's limit. Returns how many it aborted."""
    reason, count = f"The queue was flushed by {by.display_name}", 0
    key = Jobs(store.prefix).queued(event)
    while waiting := await store.call("ZRANGE", key, 0, _AT_ONCE - 1):
        outcomes = await _abort(store, list(map(text, waiting)), reason, by, now)
        count += outcomes.count(Outcome.ENDED)
        if Outcome.ENDED not in outcomes:  # jobs that are gone
            await store.call("ZREM", key, *waiting)
    return count


async def _abort(
    store: Store,
    jobs: list[str],
    reason: str,
    by: Actor | None,
    now: float,
    *,
    retry_ok: bool = False,
) -> list[Outcome | None]:
    who = by.display_name if by else ""
    wanted = msgspec.json.encode({"reason": reason, "retry_ok": retry_ok, "by": who})
    result = aborted(reason, now, retry_ok=retry_ok)
    answers = await _ABORT(store, [Jobs(store.prefix).ready()], [result, wanted, *jobs])
    probe("jobs.aborted")
    return [_OUTCOMES.get(answer) for answer in answers]
