"""Changes of a job by people: of one in progress, or of its record once it is finished."""

from collections.abc import Callable, Sequence

from watchbell.errors import NotFound, Refused
from watchbell.jobs import amendments, job_packing, job_records
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import Job
from watchbell.store.client import Store
from watchbell.store.script import Script

_ATTEMPTS = 20

# KEYS[1] ready; ARGV[1] job, then for each field its name, its value as it was read and its new
# value, each empty for none. Returns 0 where the job is gone or a value is another one.
_EDIT = Script(
    LAYOUT
    + """
local key = jobs.job .. ARGV[1]
if redis.call('HEXISTS', key, 'state') == 0 then return 0 end
for i = 2, #ARGV, 3 do
  if (redis.call('HGET', key, ARGV[i]) or '') ~= ARGV[i + 1] then return 0 end
end
for i = 2, #ARGV, 3 do
  if ARGV[i + 2] == '' then
    redis.call('HDEL', key, ARGV[i])
  else
    redis.call('HSET', key, ARGV[i], ARGV[i + 2])
  end
end
redis.call('PUBLISH', jobs.news, ARGV[1])
return 1
"""
)


async def edit(
    store: Store, job_id: str, names: Sequence[str], change: Callable[[Job], Job]
) -> Job:
    """Changes these properties of a job, wherever its record is now. `change` may be called several
    times. Of what finished jobs are found by, only tags may change. Raises NotFound."""
    keys = Jobs(store.prefix)
    for _ in range(_ATTEMPTS):
        old = await store.call("HMGET", keys.job(job_id), *names)
        record = (await job_records.find(store, [job_id]))[0]
        if record is None:
            raise NotFound(f"there is no job {job_id[:100]!r}")
        if not record.is_live:
            amended = await amendments.amend(store, job_id, change)
            if amended is not None:
                return amended
            continue
        changed = change(record.job)
        new = job_packing.fields(changed)
        args: list[str | bytes] = [job_id]
        for name, raw in zip(names, old, strict=True):
            args += [name, raw or b"", new.get(name, b"")]
        if await _EDIT(store, [keys.ready()], args):
            return changed
    raise Refused(f"job {job_id} changes all the time; try again")
