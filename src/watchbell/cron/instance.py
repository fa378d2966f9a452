"""One instance of a fleet: builds its parts, runs them, and winds down."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path

import msgspec

from watchbell import ids, logs
from watchbell.cron import history, instances, pending_fires, reaper
from watchbell.cron.claims import Claims
from watchbell.cron.control import Control
from watchbell.cron.executor import Executor
from watchbell.cron.fire_scripts import Caller
from watchbell.cron.fires import JobEntry
from watchbell.cron.instances import Fleet, InstancePresence
from watchbell.cron.job_loader import JobLoader
from watchbell.cron.model import Beat, Begun, Job
from watchbell.cron.placement import Site
from watchbell.cron.reading import reading
from watchbell.cron.reaper import Reaper
from watchbell.cron.renewals import Renewals
from watchbell.cron.result_writer import Outcome, ResultWriter
from watchbell.cron.run_results import RunResult
from watchbell.cron.scheduler import Scheduler
from watchbell.cron.unattended_jobs import UnplacedJobs
from watchbell.cron.watchdog import Watchdog
from watchbell.errors import StoreUnavailable
from watchbell.process import orphans
from watchbell.process.runner import Adopted, Runner
from watchbell.runs import unwritten_results
from watchbell.runs.leases import RunLeases
from watchbell.runs.writer import RunWriter
from watchbell.schedule.agenda import Agenda
from watchbell.settings import Cron as CronSettings
from watchbell.store import health
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.store_clock import StoreClock

STOPPED = "the instance was stopped"

_LOOK_EVERY = 1.0
_NOTICED = 0.001
_WARDEN_GRACE = 0.5
"""Seconds from SIGTERM to SIGKILL for runs of an instance that was killed. They must be gone before
the shortest lock lapses."""
LEAST_HOLD = 200
"""Milliseconds for which a lock is held at least in a fleet with instances of Cronken, which try
again after 100."""
_WRITE_WAIT = 5.0
"""Seconds to wait for an absent store when the instance is stopped."""


async def run(
    store: Store,
    settings: CronSettings,
    data: Path,
    say: Callable[[str], None],
    secrets: Collection[str] = (),
) -> None:
    """Runs until cancelled, then waits for its runs as long as the settings allow and ends the
    rest. No job inherits the environment variables in `secrets`."""
    name, owner, clock = ids.process_name(), f"cron {data}", StoreClock()
    beat = instances.first_beat(name, store.url, settings.capacity, settings.tags)
    call = Caller(
        store,
        name,
        beat.host,
        upstream=settings.upstream_data,
        most_events=settings.most_events,
        tags=settings.tags,
    )
    await patiently(lambda: clock.measure(lambda: pending_fires.look(call)))
    beat.since = clock.now()
    wardens = data / "cron" / "wardens"
    keep = wardens if settings.orphans == "adopt" else None
    async with (
        Runner(owner, grace=_WARDEN_GRACE, clock=clock, keep=keep, secrets=secrets) as processes,
        asyncio.TaskGroup() as group,
    ):
        adopted, others = await processes.adopt(wardens)
        await _end_orphans(owner, settings, others | {one.run.id for one in adopted})
        instance = Instance(store, settings, data, say, beat, clock, Claims(call), processes, group)
        await instance.work(adopted)


async def _end_orphans(owner: str, settings: CronSettings, spared: set[str]) -> None:
    ended = await orphans.end(owner, settings.kill_after, spared)
    if ended:
        runs = ", ".join(sorted({orphan.run for orphan in ended}))
        logs.get(role="cron").warning(
            "ended processes that an earlier instance left behind", runs=runs
        )


class Instance:
    def __init__(
        self,
        store: Store,
        settings: CronSettings,
        data: Path,
        say: Callable[[str], None],
        beat: Beat,
        clock: StoreClock,
        claims: Claims,
        processes: Runner,
        group: asyncio.TaskGroup,
    ) -> None:
        self._store, self._settings, self._say = store, settings, say
        self._beat, self._clock, self._claims, self._group = beat, clock, claims, group
        self._spool = data / "cron"
        self._unsettled = clock.monotonic()
        self._ready = asyncio.Event()
        self._log = logs.get(role="cron")
        how, host = reading(settings), beat.host
        self._agenda = Agenda[JobEntry]()
        site = Site(host, settings.tags)
        self._loader = JobLoader(store, self._agenda, clock, how, site, settings.most_events)
        self._results = ResultWriter(
            store,
            most=settings.results,
            most_of_job=settings.job_results,
            most_events=settings.most_events,
            as_list=settings.upstream_data,
            on_pending=self._expect,
        )
        self._writer = RunWriter[RunResult, Outcome](self._results.write)
        renewals = Renewals(store)
        self._leases = RunLeases(renewals.renew, settings.heartbeat, clock, role="cron")
        self._executor = Executor(
            processes,
            self._writer,
            self._leases,
            self._loader.find,
            lambda run: history.output(store, run).last_number(),
            settings,
            beat.name,
            host,
            clock,
        )
        self._scheduler = Scheduler(
            claims,
            self._agenda,
            self._executor,
            clock,
            settings.missed_grace,
            self._start,
            self._loader.drop,
        )
        self._presence = InstancePresence(store, self._present, settings.heartbeat, self._join)
        self._control = Control(
            store,
            self._agenda,
            self._loader,
            self._scheduler,
            self._leases.runs,
            clock,
            how,
            host,
            self._presence.hurry,
        )
        self._watchdog = Watchdog(
            store, beat.name, self._agenda, settings, lambda: self._scheduler.is_drained
        )
        self._reaper = Reaper(
            store,
            claims,
            self._writer,
            clock,
            settings,
            ours=self._leases.runs,
            find=self._known,
            unplaced=UnplacedJobs(store, self._agenda, settings.missed_grace, settings.most_events),
            steady=lambda: clock.monotonic() - self._unsettled,
        )

    async def work(self, adopted: Sequence[Adopted]) -> None:
        for run, note in adopted:
            self._log.info("adopted a run of an earlier instance", run=run.id)
            self._executor.adopt(self._group, run, note)
        # A task that fails ends all runs, so a key of the wrong type must not make one fail.
        parts: dict[str, Callable[[], Awaitable[None]]] = {
            "write results": self._writer.run,
            "keep runs alive": self._leases.run,
            "claim fires": self._scheduler.run,
            "take pending fires": self._scheduler.take,
            "end frozen runs": self._reaper.run,
            "send heartbeats": self._be_present,
            "look at the store": self._look,
            "obey commands": lambda: self._control.run(self._ready.set),
            "read the jobs again": self._control.retry,
            "watch over jobs": self._watchdog.run,
            "write results of earlier instances": self._unspool,
        }
        tasks = [
            self._group.create_task(enduring(part, "cron", name, self._say), name=name)
            for name, part in parts.items()
        ]
        try:
            await asyncio.Event().wait()
        finally:
            await self._wind_down()
            for task in tasks:
                task.cancel()

    def _start(self, begun: Begun, asked: float) -> None:
        self._executor.start(self._group, begun, asked)

    def _expect(self, pending: int) -> None:
        self._scheduler.expect(pending)

    def _known(self, name: str) -> Job | None:
        entry = self._agenda.get(name)
        return entry.job if entry else None

    def _present(self) -> Beat:
        return msgspec.structs.replace(
            self._beat,
            jobs=len(self._agenda),
            running=len(self._leases.runs),
            is_drained=self._scheduler.is_drained,
        )

    def _join(self, fleet: Fleet) -> None:
        self._scheduler.peers = max(fleet.working, 1)
        is_mixed = self._settings.upstream_data or fleet.is_mixed
        self._results.least_hold = LEAST_HOLD if is_mixed else 0

    async def _be_present(self) -> None:
        """Sends heartbeats, but only after the jobs are read: then other instances may rely on
        this one."""
        await self._ready.wait()
        gc.freeze()  # searching a hundred thousand jobs for garbage would block the loop
        await self._presence.run()

    async def _look(self) -> None:
        """Measures the store's time, and counts the fires that wait there."""
        while True:
            try:
                moved, pending = await self._clock.measure(
                    lambda: pending_fires.look(self._claims.call)
                )
                await health.check_writable(self._store)  # otherwise no heartbeat can be sent
            except StoreUnavailable:
                self._unsettled = self._clock.monotonic()
            else:
                if moved < -_NOTICED:
                    await patiently(self._loader.follow_clock)
                if abs(moved) > _NOTICED:
                    self._scheduler.wake()
                self._scheduler.expect(pending)
            running, jobs = len(self._leases.runs), len(self._agenda)
            words = f"running: {running:,}, jobs: {jobs:,}, runs so far: {self._executor.done:,}"
            self._say(self._control.problem or words)
            await asyncio.sleep(_LOOK_EVERY)

    async def _wind_down(self) -> None:
        self._scheduler.is_stopping = True
        await self._until(lambda: not self._scheduler.is_asking, _WRITE_WAIT)
        await self._until(lambda: not self._leases.runs, self._settings.stop_wait)
        runs = list(self._leases.runs.values())
        for run in runs:
            run.terminate(STOPPED)
        longest = max((run.grace for run in runs), default=0)
        await self._until(lambda: not self._leases.runs, longest + _WRITE_WAIT)
        left = self._writer.left()
        if left:
            file = unwritten_results.save(self._spool, self._beat.name, left)
            self._log.warning(
                "the store is unavailable; results were saved on disk", file=str(file)
            )
            return
        try:
            async with asyncio.timeout(_WRITE_WAIT):
                await reaper.bury(self._store, self._claims, self._beat.name)
        except (StoreUnavailable, TimeoutError) as error:
            self._log.warning("could not sign off from the store", reason=str(error))

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        """Returns once the condition holds, or after so many seconds."""
        ends = self._clock.monotonic() + seconds
        while not condition() and self._clock.monotonic() < ends:  # noqa: ASYNC110 or the time
            await asyncio.sleep(0.02)

    async def _unspool(self) -> None:
        for file, items in unwritten_results.load(self._spool, RunResult):
            for item in items:
                if item.lines:
                    self._writer.print(item.run, item.lines)
                if item.final:
                    await self._writer.finish(item.final)
            file.unlink()
            self._log.info(
                "wrote results that an earlier instance had saved on disk", file=str(file)
            )
