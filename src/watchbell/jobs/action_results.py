"""Writes what became of actions into the records of jobs, in progress or finished."""

from enum import Enum

import msgspec

from watchbell.jobs import amendments
from watchbell.jobs.decide.actions import ActionItem, recorded
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Action, Job, JobReference
from watchbell.store.client import Store
from watchbell.store.script import Script

# KEYS[1] job, KEYS[2] channel of news; ARGV[1] id, ARGV[2…4] actions, tags and jobs as they were
# read, ARGV[5…7] as they are to be. Written only while the job goes on: what its end writes is read
# from here, after its state says that it has ended. Returns 'live', 'changed', 'finishing' or
# 'none'.
_WRITE = Script("""
local found = redis.call('HMGET', KEYS[1], 'state', 'actions', 'tags', 'jobs')
if not found[1] then return 'none' end
if found[1] == '"finishing"' or found[1] == '"complete"' then return 'finishing' end
for i = 1, 3 do
  if (found[i + 1] or '[]') ~= ARGV[i + 1] then return 'changed' end
end
redis.call('HSET', KEYS[1], 'actions', ARGV[5], 'tags', ARGV[6], 'jobs', ARGV[7])
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 'live'
""")


class Recorded(Enum):
    DONE = "done"
    LATER = "the job is ending; its record is not finished yet"
    GONE = "there is no record of the job any more"


class _Fields(msgspec.Struct, frozen=True):
    actions: tuple[Action, ...]
    tags: tuple[str, ...]
    jobs: tuple[JobReference, ...]


async def record(store: Store, item: ActionItem) -> Recorded:
    """Writes the results of the item. May be repeated."""
    while True:
        answer = await _write_live(store, item)
        if answer == b"finishing":
            return Recorded.LATER
        if answer == b"live":
            return Recorded.DONE
        if answer == b"none":
            return await _write_finished(store, item)


async def _write_live(store: Store, item: ActionItem) -> bytes:
    keys = Jobs(store.prefix)
    raw = await store.call("HMGET", keys.job(item.job), "actions", "tags", "jobs")
    texts = [text if text is not None else b"[]" for text in raw]
    fields = b'{"actions":%b,"tags":%b,"jobs":%b}' % tuple(texts)
    known = msgspec.json.decode(fields, type=_Fields)
    job = Job(
        id=item.job,
        event="",
        state="active",
        actions=known.actions,
        tags=known.tags,
        jobs=known.jobs,
    )
    new = recorded(job, item)
    written = [msgspec.json.encode(part) for part in (new.actions, new.tags, new.jobs)]
    names = [keys.job(item.job), keys.news()]
    answer: bytes = await _WRITE(store, names, [item.job, *texts, *written])
    return answer


async def _write_finished(store: Store, item: ActionItem) -> Recorded:
    found = await amendments.amend(store, item.job, lambda job: recorded(job, item))
    return Recorded.GONE if found is None else Recorded.DONE
