"""A conductor: builds the loops that bring jobs from their launch to their record, and runs them.

Any number of conductors work side by side; scripts in the store decide who does what.
"""

import asyncio
from collections.abc import Awaitable, Callable

from redis.exceptions import ResponseError

from watchbell import logs
from watchbell.clock import SYSTEM
from watchbell.files.objects import Files
from watchbell.jobs import job_defaults, stock
from watchbell.jobs.action_runner import ActionRunner
from watchbell.jobs.action_work import ActionWork
from watchbell.jobs.alert_closer import AlertCloser
from watchbell.jobs.alert_work import AlertWork
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.dispatcher import Dispatcher
from watchbell.jobs.drainer import Drainer
from watchbell.jobs.finisher import Finisher
from watchbell.jobs.fleet_view import FleetView
from watchbell.jobs.history_limiter import HistoryLimiter
from watchbell.jobs.job_log import JobLog
from watchbell.jobs.log_archiver import LogArchiver, LogShortener
from watchbell.jobs.reaper import Reaper
from watchbell.jobs.report_returner import ReportReturner
from watchbell.jobs.scheduling import Scheduling
from watchbell.jobs.server_reporter import ServerReporter
from watchbell.jobs.snapshot_taker import SnapshotTaker
from watchbell.jobs.workflow_runner import WorkflowRunner
from watchbell.jobs.workflow_surveyor import WorkflowSurveyor
from watchbell.jobs.workflow_waits import WaitEnder
from watchbell.settings import Settings
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring

_EVERY = 1.0
_LOG_LINES = 50
"""Lines of a log that a mail shows."""

Part = Callable[[], Awaitable[None]]


async def run(
    store: Store, settings: Settings, files: Files, base_url: str, say: Callable[[str], None]
) -> None:
    """Runs until cancelled. `base_url` is that of the pages."""
    conductor = Conductor(store, settings, files, base_url)
    await conductor.start()
    async with asyncio.TaskGroup() as group:
        for name, part in conductor.parts().items():
            group.create_task(enduring(part, "conductor", name, say), name=name)
        while True:
            say(conductor.summary)
            await asyncio.sleep(_EVERY)


class Conductor:
    def __init__(self, store: Store, settings: Settings, files: Files, base_url: str) -> None:
        jobs = settings.jobs
        self._store = store
        self._catalogue = Catalogue(store)
        defaults = job_defaults.of(settings)
        self._scheduling = Scheduling(store, self._catalogue, jobs, defaults)
        self._view = FleetView(store, jobs.down_after)
        clock = self._scheduling.clock
        self._dispatcher = Dispatcher(store, self._view, clock)
        self._drainer = Drainer(store, self._view)
        self._workflows = WorkflowRunner(store, self._catalogue, self._view, jobs, clock, defaults)
        self._waits = WaitEnder(store)
        self._surveyor = WorkflowSurveyor(store)
        self._finisher = Finisher(store, jobs, base_url, clock, most_events=jobs.most_events)
        self._reaper = Reaper(store, self._view, jobs, clock)
        self._archiver, self._shortener = LogArchiver(store, files), LogShortener(store, files)
        self._limiter = HistoryLimiter(store, files, jobs, clock)
        work = ActionWork(
            store,
            self._catalogue,
            settings,
            clock,
            defaults=defaults,
            base_url=base_url,
            log_end=lambda job: JobLog(store, files, job).tail(_LOG_LINES),
        )
        of_alerts = AlertWork(
            store, self._catalogue, settings, clock, base_url=base_url, defaults=defaults
        )
        self._actions = ActionRunner(store, work, of_alerts, clock)
        self._reports = ReportReturner(store, jobs.most_events)
        self._servers = ServerReporter(store, jobs)
        self._snapshots = SnapshotTaker(store, jobs, clock)
        self._closer = AlertCloser(store, self._catalogue, clock, jobs.most_events)
        self._catalogue.subscribe(lambda *_: self._drainer.hurry())

    async def start(self) -> None:
        """Reads what the loops need. What the store refuses to read is read later, by them."""
        steps: list[Part] = [
            lambda: stock.ensure(self._store, SYSTEM.now()),
            self._catalogue.load,
            self._view.load,
            self._scheduling.start,
        ]
        for step in steps:
            try:
                await patiently(step)
            except ResponseError as error:
                logs.get(role="conductor").error("the store refused a read", exc_info=error)

    def parts(self) -> dict[str, Part]:
        """The loops by what they do. What one of them raises ends all, except where the store
        refuses a call: then only that loop starts again."""
        return {
            "follow definitions": self._catalogue.run,
            "follow the fleet": self._view.run,
            **self._scheduling.parts(),
            "give jobs to servers": self._dispatcher.run,
            "wake jobs that wait": self._drainer.run,
            "look after jobs of lost servers": self._reaper.run,
            "run workflows": self._workflows.run,
            "end waits of workflows": self._waits.run,
            "find lost ends of jobs of workflows": self._surveyor.run,
            "record jobs that have ended": self._finisher.run,
            "move logs to files": self._archiver.run,
            "shorten long logs": self._shortener.run,
            "delete old jobs": self._limiter.run,
            "carry out actions": self._actions.run,
            "report servers": self._servers.run,
            "take and limit snapshots": self._snapshots.run,
            "end alerts that are over": self._closer.run,
            "return held check events": self._reports.run,
        }

    @property
    def summary(self) -> str:
        online = sum(server.is_online for server in self._view.state.servers.values())
        return (
            f"events: {len(self._catalogue.events):,}, servers online: {online:,},"
            f" jobs dispatched: {self._dispatcher.done:,}, recorded: {self._finisher.done:,}"
        )
