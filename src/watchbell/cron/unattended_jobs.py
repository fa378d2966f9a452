"""Tells alerting of jobs that are due while no instance is there to run them: the instances
themselves, of which each tells what it missed, can't."""

from collections.abc import AsyncIterator, Sequence

from watchbell.clock import Clock
from watchbell.cron import check_reports, definitions, reporting
from watchbell.cron.definitions import Pair
from watchbell.cron.job_status import is_paused
from watchbell.cron.keys import CronOwn, CronUpstream
from watchbell.cron.last_handled import MOST_AHEAD, handled
from watchbell.cron.model import Job
from watchbell.cron.validation import Reading, read
from watchbell.schedule.lengths import in_words
from watchbell.settings import Cron as CronSettings
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

NOBODY = "not run: no instance of cron is there"

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
    def __init__(
        self, store: Store, settings: CronSettings, reading: Reading, clock: Clock
    ) -> None:
        self._store, self._settings, self._reading = store, settings, reading
        self._clock = clock
        self._alone_since: float | None = None
        self._called: dict[str, int] = {}
        """The fires of which we told already."""

    async def call(self) -> int:
        """Reports each job with a lock that is overdue, once per fire. Returns how many.

        Not before nobody was there for longer than an instance that is about to start, or was cut
        off from the store as we were, takes to give a sign of life.
        """
        key, lasts = CronUpstream(self._store.prefix).instances(), 3 * self._settings.heartbeat
        time, present = await _PRESENT(self._store, [key], [lasts, MOST_AHEAD])
        now = self._clock.monotonic()
        if present:
            self._alone_since = None
            self._called.clear()
            return 0
        if self._alone_since is None:
            self._alone_since = now
        if now - self._alone_since < 1.5 * self._settings.heartbeat:
            return 0
        return await self._call_out(time)

    async def _call_out(self, now: int) -> int:
        called = 0
        paused = await definitions.paused_names(self._store)
        async for pairs in definitions.every(self._store):
            found = {
                job.name: fire
                async for job, fire in self._overdue(pairs, paused, now)
                if self._called.get(job.name) != fire
            }
            words = {name: f"due {in_words(now - fire)} ago" for name, fire in found.items()}
            events = [
                (name, check_reports.missed(name, NOBODY, said, now))
                for name, said in words.items()
            ]
            await reporting.report(self._store, events, self._settings.most_events)
            self._called |= found
            called += len(found)
        return called

    async def _overdue(
        self, pairs: Sequence[Pair], paused: set[str], now: int
    ) -> AsyncIterator[tuple[Job, int]]:
        """Those that somebody is told of, each with the first of its fires that nobody handled."""
        if not pairs:
            return
        names = [name for name, _ in pairs]
        marks = await self._store.call("HMGET", CronOwn(self._store.prefix).fired(), *names)
        for (name, raw), mark in zip(pairs, marks, strict=True):
            job = read(name, raw, self._reading)
            if not isinstance(job, Job) or is_paused(job, paused):
                continue
            last = handled(mark, job)
            if not job.options.alert or last is None:
                continue  # what has another mark, or none, is new or was changed: it missed nothing
            fire = job.schedule.next_after(last)
            if fire is not None and fire + job.schedule.jitter + self._grace(job) < now:
                yield job, fire

    def _grace(self, job: Job) -> int:
        grace = job.options.grace
        return self._settings.missed_grace if grace is None else grace
