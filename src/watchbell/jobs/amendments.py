"""Changes the records of finished jobs: results of their actions, tags."""

from collections.abc import Callable

from watchbell.jobs.job_packing import pack, unpack
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Job
from watchbell.probes import probe
from watchbell.store.client import Store
from watchbell.store.script import Script

# KEYS[1] finished, KEYS[2] channel of news, KEYS[3…] indexes of new tags, and after them those of
# tags that are gone; ARGV[1] id, ARGV[2] record as it was read, ARGV[3] new record, ARGV[4] score
# of the indexes, ARGV[5] how many tags are new. Returns 0 where another change came first.
_AMEND = Script("""
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
for i = 3, #KEYS do
  if i - 2 <= tonumber(ARGV[5]) then
    redis.call('ZADD', KEYS[i], ARGV[4], ARGV[1])
  else
    redis.call('ZREM', KEYS[i], ARGV[1])
  end
end
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 1
""")


async def amend(store: Store, job_id: str, change: Callable[[Job], Job]) -> Job | None:
    """The changed job; None where there is no finished job of this id. `change` may be called
    several times, and may change nothing by which jobs are found except tags."""
    keys = Jobs(store.prefix)
    while True:
        raw = await store.call("HGET", keys.finished(), job_id)
        packed = unpack(raw) if raw is not None else None
        if packed is None:
            return None
        old, new = packed.job, change(packed.job)
        if new == old:
            return old
        added = [keys.done_by("tag", tag) for tag in new.tags if tag not in old.tags]
        gone = [keys.done_by("tag", tag) for tag in old.tags if tag not in new.tags]
        probe("jobs.amending")
        names = [keys.finished(), keys.news(), *added, *gone]
        args = [job_id, raw, pack(new, packed.log), f"{new.completed:.6f}", len(added)]
        if await _AMEND(store, names, args):
            return new
