"""Reports jobs that are due while none of the instances may run them."""

from collections.abc import Iterable, Sequence

from watchbell import logs
from watchbell.cron import check_reports, reporting
from watchbell.cron.job_entry import JobEntry
from watchbell.cron.keys import CronOwn
from watchbell.cron.last_handled import handled
from watchbell.cron.model import Beat
from watchbell.cron.placement import obstacle
from watchbell.schedule.lengths import in_words
from watchbell.store.client import Store


class Unplaced:
    """Of one instance, which looks on behalf of all."""

    def __init__(
        self, store: Store, entries: Iterable[JobEntry], grace: int, most_events: int
    ) -> None:
        self._store, self._entries, self._grace = store, entries, grace
        self._most_events = most_events
        self._reported: dict[str, int] = {}
        """The fires that were reported already."""
        self._log = logs.get(role="cron")

    async def report(self, beats: Sequence[Beat], now: float) -> int:
        """Each job once per fire. Returns how many."""
        found = {
            entry.job.name: (entry, reason)
            for entry in self._entries
            if entry.is_elsewhere and not entry.is_paused
            if (reason := obstacle(entry.job.options.placement, beats))
        }
        self._reported = {name: self._reported[name] for name in found if name in self._reported}
        count = 0
        for name, fire in (
            await self._overdue([entry for entry, _ in found.values()], now)
        ).items():
            if self._reported.get(name) == fire:
                continue
            self._reported[name] = fire
            await self._report_one(*found[name], fire, now)
            count += 1
        return count

    async def _report_one(self, entry: JobEntry, reason: str, fire: int, now: float) -> None:
        job = entry.job
        self._log.warning("job is not run", job=job.name, reason=reason)
        if job.options.alert:
            words = f"due {in_words(max(int(now) - fire, 1))} ago"
            event = check_reports.missed(job.name, f"not run: {reason}", words, now)
            await reporting.report(self._store, [(job.name, event)], self._most_events)

    async def _overdue(self, entries: Sequence[JobEntry], now: float) -> dict[str, int]:
        """The first fire of each that nobody handled, where it is late by more than its grace. A
        job without lock has no mark in the store: what we know of it counts."""
        if not entries:
            return {}
        names = [entry.job.name for entry in entries]
        marks = await self._store.call("HMGET", CronOwn(self._store.prefix).fired(), *names)
        late: dict[str, int] = {}
        for entry, mark in zip(entries, marks, strict=True):
            job = entry.job
            last = (handled(mark, job) if job.lock else None) or entry.mark
            fire = job.schedule.next_after(last)
            grace = self._grace if job.options.grace is None else job.options.grace
            if fire is not None and fire + job.schedule.jitter + grace < now:
                late[job.name] = fire
        return late
