"""Finds what runs of workflows would wait for in vain: jobs whose end was never reported, because
another program has removed or spoiled their records, or what was queued."""

import asyncio

from watchbell import logs
from watchbell.jobs import job_records, workflow_runs
from watchbell.jobs.decide import completion
from watchbell.jobs.decide.workflow_state import EndedJob, Step
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.store.client import Store, patiently
from watchbell.store.replies import text
from watchbell.store.script import READ, Script

_EVERY = 30.0
_PAGE = 20
GONE = "The record of the job is gone"

# KEYS[1] ready; ARGV[1] cursor, ARGV[2] how many. Returns the next cursor, runs that have no state
# yet, and jobs without a hash as {run, job}. The end of such a job is in the queue, or lost.
_SURVEY = Script(
    LAYOUT
    + READ
    + """
local found = redis.call('ZSCAN', jobs.live, ARGV[1], 'COUNT', ARGV[2])
local idle, missing = {}, {}
for i = 1, #found[2], 2 do
  local id = found[2][i]
  local fields = read('HMGET', jobs.job .. id, 'type', 'state', '_workflow') or {}
  if fields[1] == '"workflow"' and fields[2] == '"active"' then
    if not fields[3] then idle[#idle + 1] = id end
    local active = list_of(fields[3]).active
    for job in pairs(type(active) == 'table' and active or {}) do
      if redis.call('EXISTS', jobs.job .. job) == 0 then missing[#missing + 1] = {id, job} end
    end
  end
end
return {found[1], idle, missing}
"""
)


class WorkflowSurveyor:
    def __init__(self, store: Store) -> None:
        self._store, self._ready = store, Jobs(store.prefix).ready()
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        """Any number may run side by side."""
        while True:
            await asyncio.sleep(_EVERY)
            await patiently(self.survey)

    async def survey(self) -> None:
        """Reports ends again that may be lost. A run takes its steps in order, and ignores an end
        that it knows: one that is still in the queue counts, and this one does not."""
        cursor = 0
        while True:
            found, idle, missing = await _SURVEY(self._store, [self._ready], [cursor, _PAGE])
            for run in idle:
                await workflow_runs.add_step(self._store, Step(run=text(run), what="start"))
            for run, job in missing:
                await self._report(text(run), text(job))
            cursor = int(found)
            if not cursor:
                return

    async def _report(self, run: str, job: str) -> None:
        found = await job_records.read(self._store, job)
        if found is not None and found.state == "complete":
            ended = completion.ended_job(found, {})
        else:
            ended = EndedJob(id=job, code=completion.UNKNOWN, description=GONE)
        step = Step(run=run, what="ended", job=ended)
        if await workflow_runs.add_step(self._store, step):
            self._log.warning("the end of a job is reported to its workflow again", job=job)
