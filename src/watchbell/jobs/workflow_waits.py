"""Steps of workflows that wait for their time: nodes that wait, and limits of runs."""

import asyncio

import msgspec

from watchbell.jobs import workflow_scripts
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.probes import probe
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.script import Script

LONGEST = 0.25
"""Seconds between two looks: other processes add steps, too."""
_BATCH = 500
_ON_ITS_WAY = 60
"""Seconds around its time in which a step is not looked for."""

# KEYS[1] ready; ARGV[1] most steps. Moves those that are due to the queue. Returns how many, and in
# how many milliseconds the next one is due, -1 if there is none.
_RELEASE = Script(
    LAYOUT
    + """
redis.call('LLEN', jobs.workflow_steps)
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
local due = redis.call('ZRANGEBYSCORE', jobs.workflow_later, '-inf', string.format('%.6f', now),
                       'LIMIT', 0, ARGV[1])
for _, step in ipairs(due) do
  redis.call('RPUSH', jobs.workflow_steps, step)
  redis.call('ZREM', jobs.workflow_later, step)
end
local first = redis.call('ZRANGE', jobs.workflow_later, 0, 0, 'WITHSCORES')
local left = first[2] and math.ceil((tonumber(first[2]) - now) * 1000) or -1
return {#due, math.min(left, 1e9)}
"""
)

# KEYS[1] ready; ARGV[1] run, ARGV[2] its state as it was read, ARGV[3] seconds, then steps, each
# after its time. Adds those that are missing, unless the run has gone on. One that is due within
# these seconds, or was, is most likely on its way. Returns how many were added.
_RESTORE = Script(
    LAYOUT
    + """
local added, now = 0, redis.call('TIME')[1]
if redis.call('HGET', jobs.job .. ARGV[1], '_workflow') ~= ARGV[2] then return added end
for i = 4, #ARGV, 2 do
  if math.abs(ARGV[i] - now) > tonumber(ARGV[3]) then
    added = added + redis.call('ZADD', jobs.workflow_later, 'NX', ARGV[i], ARGV[i + 1])
  end
end
return added
"""
)


async def restore(store: Store, record: JobRecord) -> int:
    """Adds the steps for which a run waits, where they are lost. Returns how many were."""
    run, state = record.job.id, workflow_scripts.state_of(record)
    steps = state.timed_steps(run) if state else []
    if not steps:
        return 0
    args: list[Argument] = [run, record.own[workflow_scripts.STATE], _ON_ITS_WAY]
    for at, step in steps:
        args += [f"{at:.6f}", msgspec.json.encode(step)]
    return int(await _RESTORE(store, [Jobs(store.prefix).ready()], args))


class WaitEnder:
    def __init__(self, store: Store) -> None:
        self._store, self._keys = store, [Jobs(store.prefix).ready()]

    async def run(self) -> None:
        """Any number may run side by side."""
        while True:
            pause = await patiently(self.release)
            await asyncio.sleep(pause)

    async def release(self) -> float:
        """Queues steps that are due. Returns the seconds until it is to be called again."""
        count, left = await _RELEASE(self._store, self._keys, [_BATCH])
        probe("workflows.waits_ended")
        if count == _BATCH:
            return 0
        return LONGEST if left < 0 else min(left / 1000, LONGEST)
