"""Reports jobs that are due while no instance is running, or none may run them."""

from collections.abc import AsyncIterator, Iterable, Sequence

from watchbell import logs
from watchbell.clock import Clock
from watchbell.cron import check_reports, definitions, lateness, reporting
from watchbell.cron.definitions import Pair
from watchbell.cron.fires import JobEntry
from watchbell.cron.job_status import is_paused
from watchbell.cron.keys import CronOwn, CronUpstream
from watchbell.cron.last_handled import MOST_AHEAD, handled
from watchbell.cron.model import Beat, Job
from watchbell.cron.placement import obstacle
from watchbell.cron.reading import Reading
from watchbell.cron.validation import read
from watchbell.settings import Cron as CronSettings
from watchbell.store.client import Store
from watchbell.store.script import READ, Script
from watchbell.units import in_words

NOBODY = "not run: no instance of cron is running"

# KEYS[1] instances; ARGV[1] seconds for which a heartbeat is good, ARGV[2] seconds by which it may
# lie beyond the present. Returns the time, and how many instances there are.
_PRESENT = Script(
    READ
    + """
local time = redis.call('TIME')
local seen = read('ZCOUNT', KEYS[1], time[1] - ARGV[1], time[1] + ARGV[2]) or 0
return {tonumber(time[1]), seen}
"""
)


class UnattendedJobs:
    """Reports missed runs from a role of alerting while there is no instance that could."""

    def __init__(
        self, store: Store, settings: CronSettings, reading: Reading, clock: Clock
    ) -> None:
        self._store, self._settings, self._reading = store, settings, reading
        self._clock = clock
        self._alone_since: float | None = None
        self._reported: dict[str, int] = {}
        """Fires that were reported already, by job."""

    async def report(self) -> int:
        """Reports each job with a lock that is overdue, once per fire. Returns how many.

        Waits longer than an instance takes to send a heartbeat that is about to start, or was cut
        off from the store as we were.
        """
        key, lasts = CronUpstream(self._store.prefix).instances(), 3 * self._settings.heartbeat
        time, present = await _PRESENT(self._store, [key], [lasts, MOST_AHEAD])
        now = self._clock.monotonic()
        if present:
            self._alone_since = None
            self._reported.clear()
            return 0
        if self._alone_since is None:
            self._alone_since = now
        if now - self._alone_since < 1.5 * self._settings.heartbeat:
            return 0
        return await self._report_all(time)

    async def _report_all(self, now: int) -> int:
        count = 0
        paused = await definitions.paused_names(self._store)
        async for pairs in definitions.every(self._store):
            found = {
                job.name: fire
                async for job, fire in self._overdue(pairs, paused, now)
                if self._reported.get(job.name) != fire
            }
            events = [(name, _missed(name, NOBODY, fire, now)) for name, fire in found.items()]
            await reporting.report(self._store, events, self._settings.most_events)
            self._reported |= found
            count += len(found)
        return count

    async def _overdue(
        self, pairs: Sequence[Pair], paused: set[str], now: int
    ) -> AsyncIterator[tuple[Job, int]]:
        """Jobs to report, each with the first of its fires that nobody handled."""
        if not pairs:
            return
        names = [name for name, _ in pairs]
        marks = await self._store.call("HMGET", CronOwn(self._store.prefix).fired(), *names)
        for (name, raw), mark in zip(pairs, marks, strict=True):
            job = read(name, raw, self._reading)
            if not isinstance(job, Job) or is_paused(job, paused) or not job.options.alert:
                continue
            last = handled(mark, job)
            if last is None:
                continue  # without a mark of its schedule, a job is new or was changed
            grace = lateness.grace(job, self._settings.missed_grace)
            if fire := lateness.overdue(job, last, now, grace):
                yield job, fire


class UnplacedJobs:
    """Jobs that none of the instances may run, reported by one instance on behalf of all."""

    def __init__(
        self, store: Store, entries: Iterable[JobEntry], grace: int, most_events: int
    ) -> None:
        self._store, self._entries, self._grace = store, entries, grace
        self._most_events = most_events
        self._reported: dict[str, int] = {}
        """Fires that were reported already, by job."""
        self._log = logs.get(role="cron")

    async def report(self, beats: Sequence[Beat], now: float) -> int:
        """Each job once per fire. Returns how many."""
        found = {
            entry.name: (entry, reason)
            for entry in self._entries
            if entry.is_elsewhere and not entry.is_paused
            if (reason := obstacle(entry.job.options.placement, beats))
        }
        self._reported = {name: self._reported[name] for name in found if name in self._reported}
        count = 0
        overdue = await self._overdue([entry for entry, _ in found.values()], now)
        for name, fire in overdue.items():
            if self._reported.get(name) == fire:
                continue
            self._reported[name] = fire
            await self._report_one(*found[name], fire, now)
            count += 1
        return count

    async def _report_one(self, entry: JobEntry, reason: str, fire: int, now: float) -> None:
        self._log.warning("job is not run", job=entry.name, reason=reason)
        if entry.job.options.alert:
            event = _missed(entry.name, f"not run: {reason}", fire, now)
            await reporting.report(self._store, [(entry.name, event)], self._most_events)

    async def _overdue(self, entries: Sequence[JobEntry], now: float) -> dict[str, int]:
        """The first fire of each that nobody handled. A job without lock has no mark in the store:
        what this instance knows of it counts."""
        if not entries:
            return {}
        names = [entry.name for entry in entries]
        marks = await self._store.call("HMGET", CronOwn(self._store.prefix).fired(), *names)
        late: dict[str, int] = {}
        for entry, mark in zip(entries, marks, strict=True):
            last = (handled(mark, entry.job) if entry.job.lock else None) or entry.mark
            grace = lateness.grace(entry.job, self._grace)
            if fire := lateness.overdue(entry.job, last, now, grace):
                late[entry.name] = fire
        return late


def _missed(job: str, reason: str, fire: int, now: float) -> bytes:
    ago = f"due {in_words(max(int(now) - fire, 1))} ago"
    return check_reports.missed(job, reason, ago, now)
