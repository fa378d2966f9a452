"""The loops that move logs and timelines to files."""

import asyncio

from watchbell import logs
from watchbell.files.objects import Files
from watchbell.jobs import job_files
from watchbell.jobs.keys import Jobs
from watchbell.jobs.log_archive import LogArchive
from watchbell.jobs.timelines import Timelines
from watchbell.probes import probe
from watchbell.store.client import Backoff, Store, patiently
from watchbell.store.effects import Effects
from watchbell.store.enduring import enduring
from watchbell.store.queue import Batch, Queue, Taker
from watchbell.store.replies import text

_EVERY = 1.0

# KEYS[1] archiving, then for each job that was archived log, parts, seconds and minutes; ARGV jobs
# that could not be archived, which are queued again.
_DONE = Effects("""
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
for _, id in ipairs(ARGV) do redis.call('RPUSH', KEYS[1], id) end
""")


class LogArchiver:
    """Takes finished jobs whose log or timelines are still in the store."""

    def __init__(self, store: Store, files: Files, *, lease: float = 15, most: int = 20) -> None:
        self._store, self._files = store, files
        self._archive, self._timelines = LogArchive(store, files), Timelines(store, files)
        self._keys = Jobs(store.prefix)
        queue = Queue(key=self._keys.archiving(), side="LEFT")
        self.taker = Taker(store, queue, lease=lease, most=most)
        self._backoff = Backoff(first=1, longest=60)
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        """Any number may run side by side."""
        await self.taker.work(self.process, role="conductor")

    async def process(self, batch: Batch) -> None:
        jobs = list(dict.fromkeys(text(item) for item in batch.items))
        done = [job for job in jobs if await self._is_archived(job)]
        failed = [job for job in jobs if job not in done]
        if done:
            self._backoff.reset()
        else:
            await self._backoff.wait()
        keys = [key for job in done for key in self._stored(job)]
        await self.taker.acknowledge(batch, _DONE, [self._keys.archiving(), *keys], failed)
        probe("jobs.archived")
        for job in done:
            await self._tidied(job)

    async def _is_archived(self, job: str) -> bool:
        """Whether all of a job is in files now. One that can't be archived is tried again."""
        try:
            await patiently(lambda: self._archive.archive(job))
            await patiently(lambda: self._timelines.archive(job))
        except Exception as error:  # noqa: BLE001 other jobs can be archived
            self._log.error("a log can't be archived now", job=job, reason=str(error))
            return False
        return True

    async def _tidied(self, job: str) -> None:
        try:
            await self._archive.remove_parts(job)
            if not await self._store.call("HEXISTS", self._keys.finished(), job):
                await job_files.delete_all(self._files, job)  # it was deleted meanwhile
        except Exception as error:  # noqa: BLE001 they are deleted with the job
            self._log.warning("files of a job are left", job=job, reason=str(error))

    def _stored(self, job: str) -> list[str]:
        keys = self._keys
        return [keys.log(job), keys.log_parts(job), keys.seconds(job), keys.minutes(job)]


class LogShortener:
    """Keeps the logs of jobs in progress short in the store."""

    def __init__(self, store: Store, files: Files) -> None:
        self._archive = LogArchive(store, files)
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        """Any number may run side by side."""
        while True:
            await enduring(lambda: patiently(self.look), "conductor", "long logs")
            await asyncio.sleep(_EVERY)

    async def look(self) -> None:
        for job in await self._archive.long_logs():
            try:
                await self._archive.shorten(job)
            except Exception as error:  # noqa: BLE001 it is tried again
                self._log.error("a long log can't be moved to files", job=job, reason=str(error))
