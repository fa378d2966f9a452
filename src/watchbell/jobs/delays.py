"""Jobs in a start or retry delay become ready when their time comes."""

import asyncio
from contextlib import suppress

from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.probes import probe
from watchbell.store.client import Store, patiently
from watchbell.store.script import Script

LONGEST = 1.0
"""Seconds between two looks: other processes launch jobs with delays, too."""
_BATCH = 500

# Needs LAYOUT. Returns whether the job was delayed.
_END = """
local function end_delay(id)
  redis.call('ZREM', jobs.delayed, id)
  local state = text_of(redis.call('HGET', jobs.job .. id, 'state'))
  if state ~= 'start_delay' and state ~= 'retry_delay' then return false end
  redis.call('HSET', jobs.job .. id, 'state', '"ready"')
  redis.call('HDEL', jobs.job .. id, 'until')
  redis.call('RPUSH', jobs.ready, id)
  redis.call('PUBLISH', jobs.news, id)
  return true
end
"""

# KEYS[1] ready; ARGV[1] most jobs. Returns how many were due, and in how many milliseconds the next
# one is, -1 if there is none.
_RELEASE = Script(
    LAYOUT
    + _END
    + """
redis.call('LLEN', jobs.ready)
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
local due = redis.call('ZRANGEBYSCORE', jobs.delayed, '-inf', string.format('%.6f', now),
                       'LIMIT', 0, ARGV[1])
for _, id in ipairs(due) do end_delay(id) end
local first = redis.call('ZRANGE', jobs.delayed, 0, 0, 'WITHSCORES')
local left = first[2] and math.ceil((tonumber(first[2]) - now) * 1000) or -1
return {#due, math.min(left, 1e9)}
"""
)

# KEYS[1] ready; ARGV[1] job. Returns 1 if it was delayed.
_SKIP = Script(LAYOUT + _END + "return end_delay(ARGV[1]) and 1 or 0")


class DelayEnder:
    def __init__(self, store: Store) -> None:
        self._store, self._keys = store, [Jobs(store.prefix).ready()]
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Looks again, because a job was delayed."""
        self._woken.set()

    async def run(self) -> None:
        while True:
            self._woken.clear()
            pause = await patiently(self.release)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._woken.wait()

    async def release(self) -> float:
        """Makes jobs ready whose delay has ended. Returns the seconds until it is to be called
        again."""
        count, left = await _RELEASE(self._store, self._keys, [_BATCH])
        probe("jobs.delays_ended")
        if count == _BATCH:
            return 0
        return LONGEST if left < 0 else min(left / 1000, LONGEST)


async def skip(store: Store, job_id: str) -> bool:
    """Ends the delay of a job now. Returns whether it was delayed."""
    return bool(await _SKIP(store, [Jobs(store.prefix).ready()], [job_id]))
