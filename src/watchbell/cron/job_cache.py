"""Caches all jobs in one process, so that a page of them costs the same whatever their number.

The jobs are read when a page asks, at most every second or two; a definition that did not change is
not validated again. Code that changes a job calls `forget`.
"""

import asyncio

from watchbell.clock import Clock
from watchbell.cron import definitions, history
from watchbell.cron.job_filter import Orders
from watchbell.cron.job_status import JobStatus, is_paused
from watchbell.cron.keys import Cron
from watchbell.cron.reading import Reading
from watchbell.errors import NotFound
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

KEPT = 1.5
"""Seconds until the jobs are read again."""
_SLICE = 500

# ARGV[1] beginning of results, ARGV[2] the middle, then names of jobs. Returns for each when its
# last success and its last failure ended, empty where there was none.
_VERDICTS = Script(
    READ
    + """
local answers = {}
for i = 3, #ARGV do
  for _, verdict in ipairs({'success', 'fail'}) do
    local last = read('ZRANGE', ARGV[1] .. ARGV[i] .. ARGV[2] .. verdict, -1, -1, 'WITHSCORES')
    answers[#answers + 1] = last and last[2] or ''
  end
end
return answers
"""
)


class JobCache:
    def __init__(self, store: Store, reading: Reading, clock: Clock) -> None:
        self._store, self._reading, self._clock = store, reading, clock
        self._jobs: dict[bytes, JobStatus] = {}
        self._orders = Orders((), 0)
        self._good_until = 0.0
        self._changes = 0
        self._busy = asyncio.Lock()

    def forget(self) -> None:
        """Marks the cache as out of date, and so a read that is under way."""
        self._good_until = 0.0
        self._changes += 1

    async def jobs(self) -> Orders:
        """All jobs."""
        asked = self._clock.monotonic()
        async with self._busy:
            if asked >= self._good_until:
                began, changes = self._clock.monotonic(), self._changes
                await self._read()
                self._good_until = began + KEPT if changes == self._changes else 0
            return self._orders

    async def one(self, name: str) -> JobStatus:
        """The job, read from the store now."""
        for key, raw in await definitions.some(self._store, [name]):
            status = self._status(key, raw)
            await self._place({key: status})
            return status
        raise NotFound(f"there is no job {name!r}")

    def _status(self, key: bytes, raw: bytes) -> JobStatus:
        known = self._jobs.get(key)
        return known if known and known.raw == raw else JobStatus(key, raw, self._reading)

    async def _read(self) -> None:
        found: dict[bytes, JobStatus] = {}
        async for pairs in definitions.every(self._store):
            found |= {key: self._status(key, raw) for key, raw in pairs}
        await self._place(found)
        self._jobs = found
        self._orders = Orders(list(found.values()), self._clock.now())

    async def _place(self, found: dict[bytes, JobStatus]) -> None:
        keys = Cron(self._store.prefix)
        paused = await definitions.paused_names(self._store)
        running = await history.running(self._store)
        begin, middle, _ = keys.job_results.literals
        statuses = list(found.values())
        for first in range(0, len(statuses), _SLICE):
            some = statuses[first : first + _SLICE]
            names = [one.key for one in some]
            ends = await _VERDICTS(self._store, [keys.jobs()], [begin, middle, *names])
            for i, one in enumerate(some):
                one.succeeded, one.failed = float(ends[2 * i] or 0), float(ends[2 * i + 1] or 0)
                one.is_paused = is_paused(one.judgement, paused)
                one.running = running.get(one.name, ())
