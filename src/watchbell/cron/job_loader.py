"""Reads jobs from the store into the agenda of an instance, and follows their changes."""

from collections.abc import Sequence

from watchbell import logs
from watchbell.cron import definitions
from watchbell.cron.definitions import Pair, Replacement
from watchbell.cron.fires import JobEntry
from watchbell.cron.job_status import is_paused
from watchbell.cron.keys import Cron
from watchbell.cron.last_handled import MOST_AHEAD, marked
from watchbell.cron.model import Invalid, Job
from watchbell.cron.placement import Site, permits
from watchbell.cron.reading import Reading
from watchbell.cron.retirement import retire
from watchbell.cron.validation import read
from watchbell.schedule.agenda import Agenda
from watchbell.store.client import Store
from watchbell.store.store_clock import StoreClock

_SLICE = 500


class JobLoader:
    def __init__(
        self,
        store: Store,
        agenda: Agenda[JobEntry],
        clock: StoreClock,
        reading: Reading,
        site: Site,
        most_events: int,
    ) -> None:
        self._store, self._agenda = store, agenda
        self._site, self._most_events = site, most_events
        self._clock, self._reading = clock, reading
        self._keys = Cron(store.prefix)
        self._invalid: dict[bytes, int] = {}  # digests of the definitions that are not valid
        self._log = logs.get(role="cron")

    async def reload(self, *, keep_announced: bool) -> None:
        """Reads all jobs, and updates those that changed. Without `keep_announced`, drops jobs that
        were only announced on the channel and are not in the store."""
        paused = await definitions.paused_names(self._store)
        gone = {entry.job.name for entry in self._agenda}
        invalid: dict[bytes, int] = {}
        async for pairs in definitions.every(self._store):
            await self._take(pairs, paused, invalid)
            gone.difference_update(name.decode(errors="replace") for name, _ in pairs)
        self._invalid = invalid
        found = [entry for name in gone if (entry := self._agenda.get(name))]
        for entry in found:
            if not entry.is_kept and not keep_announced:
                self._agenda.remove(entry.job.name)
        await self.drop([entry.job.name for entry in found if entry.is_kept])

    async def drop(self, names: Sequence[str]) -> None:
        """Removes jobs that are no longer in the store, and reports their checks as ok."""
        for name in names:
            self._agenda.remove(name)
            self._log.info("the job was deleted", job=name)
        await retire(self._store, names, self._most_events)

    async def follow_clock(self) -> None:
        """Reads again the marks that are ahead of the store's clock, after it was set back."""
        latest = self._clock.now() + MOST_AHEAD
        entries = [entry for entry in self._agenda if entry.mark > latest]
        for start in range(0, len(entries), _SLICE):
            some = entries[start : start + _SLICE]
            paused = {entry.job.name for entry in some if entry.is_paused}
            marks = await marked(self._store, [entry.job for entry in some], paused=paused)
            now = int(self._clock.now())
            for entry in some:
                entry.mark = marks.get(entry.job.name, now)
                self._agenda.plan(entry)
        if entries:
            self._log.warning("the store's clock was set back; jobs continue", jobs=len(entries))

    async def add(self, name: str, raw: bytes) -> None:
        """Adds a job that was announced on the channel."""
        job = read(name, raw, self._reading)
        if isinstance(job, Invalid):
            self._log.warning("job is not valid", job=name, reason=job.text)
            self._agenda.remove(name)
            return
        is_kept = bool(await self._store.call("HEXISTS", self._keys.jobs(), name))
        members = {name} if await definitions.paused(self._store, name) else set[str]()
        await self._enter([(job, hash(raw))], members, is_kept=is_kept)

    async def set_paused(self, names: Sequence[str], *, paused: bool) -> None:
        """Pauses or resumes these jobs, or all, here and in the store."""
        found = [entry for name in names if (entry := self._agenda.get(name))]
        entries = found if names else list(self._agenda)
        if paused:
            self._settle(entries, {}, paused=True)
        await definitions.set_paused(self._store, names, self._reading, paused=paused)
        for start in range(0, len(entries), _SLICE):
            some = entries[start : start + _SLICE]
            names_paused = {entry.job.name for entry in some} if paused else set()
            marks = await marked(self._store, [entry.job for entry in some], paused=names_paused)
            self._settle(some, marks, paused=paused)

    def _settle(self, entries: Sequence[JobEntry], marks: dict[str, int], *, paused: bool) -> None:
        now = int(self._clock.now())
        for entry in entries:
            # Fires during a pause are not missed.
            since = now if paused or entry.is_paused else entry.mark
            entry.mark = max(entry.mark, marks.get(entry.job.name, since))
            entry.is_paused = paused
            self._agenda.plan(entry)

    def skip(self) -> None:
        """Jobs that every instance runs missed nothing while this one was drained."""
        now = int(self._clock.now())
        for entry in self._agenda:
            if not entry.job.lock:
                entry.mark = max(entry.mark, now)
                self._agenda.plan(entry)

    async def find(self, name: str) -> Job | None:
        """The job from the agenda, otherwise from the store."""
        entry = self._agenda.get(name)
        if entry:
            return entry.job
        for pair in await definitions.some(self._store, [name]):
            job = read(*pair, self._reading)
            return job if isinstance(job, Job) else None
        return None

    async def _take(
        self, pairs: Sequence[Pair], paused: set[str], invalid: dict[bytes, int]
    ) -> None:
        new: list[tuple[Job, int]] = []
        changes: list[Replacement] = []
        for name, raw in pairs:
            digest = hash(raw)
            if self._is_known(name, digest, paused):
                continue
            if self._invalid.get(name) == digest:
                invalid[name] = digest
                continue
            job = read(name, raw, self._reading)
            change = definitions.with_errors(name, raw, job)
            if change:
                changes.append(change)
                digest = hash(change[2])
            if isinstance(job, Job):
                new.append((job, digest))
            else:
                invalid[name] = digest
                self._agenda.remove(job.name)
                self._log.warning("job is not valid", job=job.name, reason=job.text)
        await self._enter(new, paused, is_kept=True)
        await definitions.replace(self._store, changes)

    def _is_known(self, name: bytes, digest: int, paused: set[str]) -> bool:
        entry = self._agenda.get(name.decode(errors="replace"))
        if entry is None or entry.digest != digest or not entry.is_kept:
            return False
        is_idle = is_paused(entry.job, paused)
        if entry.is_paused and not is_idle:
            return False  # its mark has to be read
        if entry.is_paused != is_idle:
            entry.is_paused = is_idle
            self._agenda.plan(entry)
        return True

    async def _enter(
        self, jobs: Sequence[tuple[Job, int]], paused: set[str], *, is_kept: bool
    ) -> None:
        paused = {job.name for job, _ in jobs if is_paused(job, paused)}
        marks = await marked(self._store, [job for job, _ in jobs], paused=paused)
        now = int(self._clock.now())
        for job, digest in jobs:
            mark = marks.get(job.name, self._own_mark(job, now))
            entry = JobEntry(job, mark=mark, digest=digest, is_kept=is_kept)
            entry.is_paused = job.name in paused
            entry.is_elsewhere = not permits(job.options.placement, self._site)
            self._agenda.add(entry)

    def _own_mark(self, job: Job, now: int) -> int:
        """For a job that every instance runs: each instance has its own mark."""
        before = self._agenda.get(job.name)
        if before is None or before.is_paused or before.job.fingerprint != job.fingerprint:
            return now
        return before.mark
