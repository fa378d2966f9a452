"""Finds what runs of workflows would wait for in vain, because another program has removed or
spoiled records of jobs, or what was queued."""

import asyncio

from watchbell import logs
from watchbell.jobs import job_records, workflow_runs, workflow_scripts, workflow_waits
from watchbell.jobs.aborts import END_RUN
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

# KEYS[1] ready; ARGV[1] cursor, ARGV[2] how many. Asks runs again to end that have not noticed it.
# Returns the next cursor; runs that have not begun, or whose state is spoiled; jobs without a hash
# as {run, job}: their end is in the queue, or lost; and runs that wait for a time.
_SURVEY = Script(
    LAYOUT
    + READ
    + END_RUN
    + """
redis.call('LLEN', jobs.workflow_steps)
local found = redis.call('ZSCAN', jobs.live, ARGV[1], 'COUNT', ARGV[2])
local idle, missing, timed = {}, {}, {}
for i = 1, #found[2], 2 do
  local id = found[2][i]
  local fields = read('HMGET', jobs.job .. id, 'type', 'state', '_workflow', '_abort') or {}
  if fields[1] == '"workflow"' and fields[2] == '"active"' then
    local state = list_of(fields[3])
    if type(state.nodes) ~= 'table' then idle[#idle + 1] = id end
    if fields[4] and not state.aborted then end_run(id, fields[4]) end
    if state.waits or state.deadlines then timed[#timed + 1] = id end
    for job in pairs(type(state.active) == 'table' and state.active or {}) do
      if redis.call('EXISTS', jobs.job .. job) == 0 then missing[#missing + 1] = {id, job} end
    end
  end
end
return {found[1], idle, missing, timed}
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
        """Reports again what may be lost. A run takes its steps in order, and ignores one that it
        has taken: what is still in the queue counts, and this does not."""
        cursor = 0
        while True:
            found, idle, missing, timed = await _SURVEY(self._store, [self._ready], [cursor, _PAGE])
            for run in idle:
                await workflow_runs.add_step(self._store, Step(run=text(run), what="start"))
            for run, job in missing:
                await self._report(text(run), text(job))
            for record in await workflow_scripts.load(self._store, [text(run) for run in timed]):
                if record and await workflow_waits.restore(self._store, record):
                    self._log.warning("a wait or limit is queued again", job=record.job.id)
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
