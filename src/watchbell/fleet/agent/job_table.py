"""The jobs that an agent knows: accepted, running, or waiting for their results to be stored."""

import asyncio
import re
import struct
from collections.abc import Coroutine, Iterator
from typing import Any

import msgspec

from watchbell import logs
from watchbell.errors import Refused
from watchbell.fleet.agent import job_folder
from watchbell.fleet.agent.agent_folder import AgentFolder
from watchbell.fleet.agent.folder_pool import FolderPool
from watchbell.fleet.agent.job_folder import Accepted, JobFolder
from watchbell.fleet.agent.job_process import JobProcess, Surroundings
from watchbell.fleet.agent.journal import Journal
from watchbell.fleet.messages import KnownJob, Order, Welcome
from watchbell.probes import probe
from watchbell.process import orphans
from watchbell.process.run import Run

_MOST_DONE = 50_000
"""Jobs that were done and are remembered, in case that an order comes twice."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_RETRY = 1.0


class JobTable:
    def __init__(self, folder: AgentFolder, around: Surroundings, group: asyncio.TaskGroup) -> None:
        self._folder, self._around, self._group = folder, around, group
        self._pool = FolderPool(folder.spare, folder.trash, job_folder.make)
        self._jobs: dict[str, JobProcess] = {}
        self._accepting: set[str] = set()
        self._done: dict[str, None] = {}
        self._unresolved: list[JobProcess] = []
        self._log = logs.get(role="agent")

    def known(self) -> tuple[KnownJob, ...]:
        return tuple(KnownJob(job.id, job.journal.last) for job in self._jobs.values())

    def unfinished(self) -> list[JobProcess]:
        """Those without a result."""
        return [job for job in self._jobs.values() if not job.is_over]

    def running(self) -> list[tuple[JobProcess, Run]]:
        jobs = self._jobs.values()
        return [(job, job.process) for job in jobs if job.process and not job.is_over]

    @property
    def is_busy(self) -> bool:
        """Whether a job is being followed."""
        return any(job not in self._unresolved for job in self.unfinished())

    @property
    def is_empty(self) -> bool:
        return not self._jobs

    async def recover(self, owner: str) -> None:
        """Continues with the jobs of an agent that has ended, or was killed."""
        self._group.create_task(self._pool.run())
        found = {job.id: job for job in self._stored()}
        adopted, _ = await self._around.runner.adopt(self._folder.kept)
        runs = {one.note: one.run for one in adopted}
        for job in found.values():
            self._add(job)
            if job.is_over:
                continue
            run = runs.pop(job.id, None)
            if run:
                self._follow(job, job.adopt(run))
            else:
                self._unresolved.append(job)
        for run in runs.values():
            self._group.create_task(self._end_unknown(run))
        # Of those whose warden was killed, too, nobody could report anything.
        await orphans.end(owner, 0, {one.run.id for one in adopted})

    def welcomed(self, welcome: Welcome) -> None:
        """Starts what an agent before this one has accepted and not started."""
        for name, number in welcome.acknowledged.items():
            self.acknowledge(name, number)
        for name in welcome.drop:
            self.drop(name)
        unresolved, self._unresolved = self._unresolved, []
        for job in unresolved:
            if job.id in self._jobs and not job.is_dropped:
                self._follow(job, job.lose() if job.journal.state.is_starting else job.run())

    def accept(self, order: Order, welcome: Welcome) -> None:
        """An order that comes twice counts once."""
        job = order.job.get("id")
        if not isinstance(job, str) or not _ID.fullmatch(job):
            self._log.error("an order has no valid id", id=str(job))
            return
        if job in self._jobs or job in self._done or job in self._accepting:
            return
        accepted = Accepted(
            order=order,
            at=self._around.clock.now(),
            log_limit=welcome.log_limit,
            file_limit=welcome.file_limit,
            kill_after=welcome.kill_after,
        )
        if not self._write(accepted):
            self._accepting.add(job)
            self._group.create_task(self._accept_later(accepted))

    def _write(self, accepted: Accepted) -> bool:
        folder = JobFolder(self._folder.jobs / accepted.id)
        try:
            self._pool.take(folder.path)
            journal = folder.begin(accepted)
        except OSError as error:
            if folder.path.exists():
                self._pool.discard(folder.path)
            self._log.error("can't accept a job", job=accepted.id, reason=str(error))
            return False
        probe("agent.accepted")
        job = JobProcess(accepted, folder, journal, self._around)
        self._add(job)
        self._follow(job, job.run())
        return True

    async def _accept_later(self, accepted: Accepted) -> None:
        while not self._write(accepted):  # noqa: ASYNC110 nobody reports that there is space again
            await asyncio.sleep(_RETRY)
        self._accepting.discard(accepted.id)

    def abort(self, job: str, reason: str, *, retry_ok: bool) -> None:
        known = self._jobs.get(job)
        if known:
            known.abort(reason, retry_ok=retry_ok)

    def abort_all(self, reason: str) -> None:
        for job in self._jobs.values():
            job.abort(reason, retry_ok=True)

    def acknowledge(self, job: str, number: int) -> None:
        known = self._jobs.get(job)
        if known:
            self._around.outbox.acknowledge(job, number)
            if known.is_over and known.journal.acknowledged >= known.journal.last:
                self._forget(known)

    def drop(self, job: str) -> None:
        known = self._jobs.get(job)
        if known and not known.is_dropped:
            self._log.info("a job was dropped", job=job)
            known.drop()
            if known.is_over or known in self._unresolved:
                self._forget(known)

    def _add(self, job: JobProcess) -> None:
        self._jobs[job.id] = job
        self._around.outbox.add(job.id, job.journal)

    def _follow(self, job: JobProcess, steps: Coroutine[Any, Any, None]) -> None:
        self._group.create_task(self._followed(job, steps), name=f"job {job.id}")

    async def _followed(self, job: JobProcess, steps: Coroutine[Any, Any, None]) -> None:
        try:
            await steps
        except Exception as error:  # noqa: BLE001 one job must not end the others
            self._log.exception("a job failed", job=job.id)
            await job.fail(f"{type(error).__name__}: {error}")
        if job.is_dropped:
            self._forget(job)

    async def _end_unknown(self, run: Run) -> None:
        run.kill()
        await run.ended()
        run.forget()

    def _forget(self, job: JobProcess) -> None:
        if self._jobs.pop(job.id, None) is None:
            return
        self._around.outbox.remove(job.id)
        job.journal.close()
        self._done[job.id] = None
        if len(self._done) > _MOST_DONE:
            del self._done[next(iter(self._done))]
        probe("agent.forgets")
        self._pool.discard(job.folder.path)

    def _stored(self) -> Iterator[JobProcess]:
        for folder in job_folder.every(self._folder.jobs):
            accepted = folder.read()
            if accepted is None:
                self._pool.discard(folder.path)
                continue
            yield JobProcess(accepted, folder, self._journal(folder, accepted), self._around)

    def _journal(self, folder: JobFolder, accepted: Accepted) -> Journal:
        """Empty if it is damaged, as by a power failure: then the job is reported as lost."""
        try:
            return Journal.recovered(folder.path)
        except (OSError, struct.error, msgspec.DecodeError, ValueError, Refused):
            self._log.exception("the reports of a job are damaged", folder=str(folder.path))
            return folder.restart_journal(accepted)
