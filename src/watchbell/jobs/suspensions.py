"""Jobs that an action holds back before they start, until somebody resumes them."""

import msgspec
from msgspec.structs import replace

from watchbell.actors import Actor
from watchbell.errors import NotFound, Refused
from watchbell.jobs import workflow_runs
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Action
from watchbell.store.client import Store
from watchbell.store.script import Script

# KEYS[1] ready; ARGV[1] job, ARGV[2] its actions as they were read, ARGV[3] its actions with the
# result of the one that suspended it. Returns 'gone', 'not suspended', 'changed' or 'resumed'.
_RESUME = Script(
    LAYOUT
    + """
local id, key = ARGV[1], jobs.job .. ARGV[1]
if redis.call('EXISTS', key) == 0 then
  redis.call('SREM', jobs.suspended, id)
  return 'gone'
end
if redis.call('SISMEMBER', jobs.suspended, id) == 0 then return 'not suspended' end
if (redis.call('HGET', key, 'actions') or '[]') ~= ARGV[2] then return 'changed' end
redis.call('HSET', key, 'actions', ARGV[3], 'state', '"ready"')
redis.call('HDEL', key, 'reason')
redis.call('SREM', jobs.suspended, id)
redis.call('RPUSH', jobs.ready, id)
redis.call('PUBLISH', jobs.news, id)
return 'resumed'
"""
)


async def resume(store: Store, job: str, who: Actor, now: float, node: str = "") -> None:
    """`node` is where a run of a workflow goes on. NotFound where there is no such job in progress,
    Refused where it is not suspended."""
    keys = Jobs(store.prefix)
    if node or not await store.call("SISMEMBER", keys.suspended(), job):
        await workflow_runs.resume(store, job, who, node)
        return
    while True:
        raw = await store.call("HGET", keys.job(job), "actions") or b"[]"
        ended = msgspec.json.encode(_resumed(msgspec.json.decode(raw, type=list[Action]), who, now))
        answer = await _RESUME(store, [keys.ready()], [job, raw, ended])
        if answer == b"gone":
            raise NotFound(f"there is no job {job[:100]!r} in progress")
        if answer == b"not suspended":
            raise Refused(f"job {job} is not suspended", code="not_suspended")
        if answer == b"resumed":
            return


async def is_suspended(store: Store, record: JobRecord) -> bool:
    """Whether a job in progress waits for somebody."""
    job = record.job
    if workflow_runs.is_run(job) and job.state == "active":
        return bool(workflow_runs.suspension(record))
    return bool(await store.call("SISMEMBER", Jobs(store.prefix).suspended(), job.id))


async def suspended(store: Store) -> list[str]:
    """The jobs that wait for somebody."""
    found = await store.call("SMEMBERS", Jobs(store.prefix).suspended())
    return sorted(one.decode(errors="replace") for one in found)


def _resumed(found: list[Action], who: Actor, now: float) -> list[Action]:
    words = f"resumed by {who.display_name}"
    return [
        replace(one, code=0, description=words, date=one.date or now)
        if one.type == "suspend" and one.trigger == "start" and one.code is None
        else one
        for one in found
    ]
