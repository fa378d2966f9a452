"""Watches over a fleet, one instance at a time: overdue jobs, marks that are ahead of the store's
clock, and check events that alerting does not process."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from watchbell import logs
from watchbell.alerting import bounded_reports
from watchbell.alerting.bounded_reports import REPORT
from watchbell.alerting.keys import Alerting
from watchbell.cron import check_reports, last_handled, late_survey, latest_runs
from watchbell.cron.fires import JobEntry
from watchbell.cron.keys import CronOwn
from watchbell.cron.lateness import Limits, Survey, late
from watchbell.cron.model import Job
from watchbell.errors import StoreUnavailable
from watchbell.schedule.agenda import Agenda
from watchbell.settings import Cron as CronSettings
from watchbell.store.client import Argument, Store
from watchbell.store.effects import verbatim
from watchbell.store.script import Script

_EVERY = 5.0
_LEASE, _MARKS_LEASE = 4_000, 20_000
"""Milliseconds for which no other instance does the same task."""

# KEYS events, unreported, overdue; ARGV[1] most events, ARGV[2] msgpack: {job, reason, event} of
# jobs that are late, ARGV[3] msgpack: jobs that are no longer late. Each job is reported once.
# Returns the jobs that were reported now.
_REPORT = Script(
    """
local events, unreported, overdue = KEYS[1], KEYS[2], KEYS[3]
local own = {most_events = tonumber(ARGV[1])}
"""
    + REPORT
    + """
local new = {}
for _, one in ipairs(cmsgpack.unpack(ARGV[2])) do
  if redis.call('HSETNX', overdue, one[1], one[2]) == 1 then
    new[#new + 1] = one[1]
    if one[3] ~= '' then report('cron:' .. one[1], one[3]) end
  end
end
for _, job in ipairs(cmsgpack.unpack(ARGV[3])) do redis.call('HDEL', overdue, job) end
return new
"""
)


class Watchdog:
    def __init__(
        self,
        store: Store,
        name: str,
        agenda: Agenda[JobEntry],
        settings: CronSettings,
        is_drained: Callable[[], bool],
    ) -> None:
        self._store, self._name, self._agenda = store, name, agenda
        self._is_drained, self._most_events = is_drained, settings.most_events
        self._limits = Limits(settings.most_skipped, settings.overdue_after, settings.missed_grace)
        self._own = CronOwn(store.prefix)
        self._report_keys = [
            Alerting(store.prefix).events(),
            self._own.unreported(),
            self._own.overdue(),
        ]
        self._is_keeping_back = False
        self._log = logs.get(role="cron")

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            try:
                await self.look()
            except StoreUnavailable as error:
                self._log.debug("the watchdog waits for the store", reason=str(error))
            except Exception:  # noqa: BLE001 the next look may succeed
                self._log.exception("the watchdog failed; it will try again")

    async def look(self) -> None:
        if await self._leads("late", _LEASE):
            await self.report_late()
        if await self._leads("marks", _MARKS_LEASE):
            await last_handled.sweep(self._store, self._most_events)
            await last_handled.settle(self._store, self._most_events)
        if await self._leads("events", _LEASE):
            await self.return_events()

    async def _leads(self, task: str, lease: int) -> bool:
        key = self._own.watchdog(task)
        return bool(await self._store.call("SET", key, self._name, "NX", "PX", lease))

    def _job(self, name: str) -> Job | None:
        entry = self._agenda.get(name)
        return entry.job if entry else None

    async def report_late(self) -> None:
        left = self._agenda if self._is_drained() else ()
        survey, reported = await late_survey.read(self._store, left, self._limits)
        reasons = late(survey, self._limits, self._job)
        new = [name for name in reasons if name.encode() not in reported]
        over = [name for name in reported if name.decode(errors="replace") not in reasons]
        if not new and not over:
            return
        failing = await self._failing(new)
        items = [(name, reasons[name], self._event(name, reasons, failing, survey)) for name in new]
        packed = [msgspec.msgpack.encode(items), msgspec.msgpack.encode(list(map(verbatim, over)))]
        args: list[Argument] = [self._most_events, *packed]
        for name in await _REPORT(self._store, self._report_keys, args):
            job = name.decode(errors="replace")
            self._log.warning("job is overdue", job=job, reason=reasons[job])

    def _event(self, name: str, reasons: dict[str, str], failing: set[str], survey: Survey) -> str:
        job = self._job(name)
        if job is None or not job.options.alert:
            return ""
        is_failing = name in failing
        return check_reports.late(name, reasons[name], survey.now, is_failing=is_failing).decode()

    async def _failing(self, names: Sequence[str]) -> set[str]:
        """Returns which of these jobs failed in their last run."""
        lasts = await latest_runs.lasts(self._store, [name.encode() for name in names])
        pairs = zip(names, lasts, strict=True)
        return {name for name, last in pairs if last and last.record.status != "success"}

    async def return_events(self) -> None:
        unreported = self._own.unreported()
        length, kept = await bounded_reports.return_held(self._store, unreported, self._most_events)
        if kept and not self._is_keeping_back:
            self._log.warning(
                "alerting does not process its events: only the latest of each job is kept",
                waiting=length,
                most=self._most_events,
                advice="run a processor: `watchbell run processor`, or `watchbell up`",
            )
        elif self._is_keeping_back and not kept:
            self._log.info("alerting processes events again; events that were kept back are added")
        self._is_keeping_back = bool(kept)
