"""Executes runs on this instance: starts the process, follows its output, writes the result."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from watchbell import logs
from watchbell.clock import Clock
from watchbell.cron import run_results
from watchbell.cron.model import Begun, Fire, Job
from watchbell.cron.result_writer import Outcome
from watchbell.cron.run_results import End, RunResult
from watchbell.errors import Refused
from watchbell.probes import probe
from watchbell.process.command import Command, Ending, Terms
from watchbell.process.output import Volume
from watchbell.process.run import Ended, Run
from watchbell.process.runner import Runner
from watchbell.runs.leases import RunLeases
from watchbell.runs.output_lines import OutputLines
from watchbell.runs.running import Running
from watchbell.runs.writer import RunWriter
from watchbell.settings import Cron as CronSettings
from watchbell.store.client import patiently
from watchbell.store.enduring import enduring

T = TypeVar("T")

NOT_ADOPTED = "its instance was killed"
NO_JOB = "not started: the job is gone, or its definition is no longer valid"

_LONGEST_HOLD = 1.0
"""Seconds; a longer wait would mean that the clock was set back since the claim."""
_MOST_UNWRITTEN = 64 << 20
"""Bytes that may wait for an absent store; of more output, only the newest lines are kept."""


class Executor:
    def __init__(
        self,
        processes: Runner,
        writer: RunWriter[RunResult, Outcome],
        leases: RunLeases,
        find: Callable[[str], Awaitable[Job | None]],
        stored: Callable[[str], Awaitable[int]],
        settings: CronSettings,
        instance: str,
        host: str,
        clock: Clock,
    ) -> None:
        self._processes, self._writer, self._leases = processes, writer, leases
        self._find, self._stored, self._clock = find, stored, clock
        self._settings, self._instance, self._host = settings, instance, host
        self._by_job: Counter[str] = Counter()
        self._log = logs.get(role="cron")
        self.free = settings.capacity
        """Free places; one is reserved before a run is begun in the store."""
        self.done = 0

    def of(self, job: str) -> int:
        """How many runs of a job are under way here."""
        return self._by_job[job]

    def start(self, group: asyncio.TaskGroup, begun: Begun, asked: float) -> None:
        """Starts a run that was begun in the store by a call sent at `asked`."""
        running = self._running(begun)
        self._leases.begin(running, asked)
        self._enter(group, begun, running)

    def adopt(self, group: asyncio.TaskGroup, process: Run, note: str) -> None:
        """Takes over a run of an earlier instance, which left this note about it."""
        begun = msgspec.json.decode(note, type=Begun)
        running = self._running(begun)
        self._leases.adopt(running)
        running.started(process)
        running.grace = process.grace
        self.free -= 1
        if self._settings.orphans == "end":
            running.terminate(NOT_ADOPTED)
        self._enter(group, begun, running)

    def _running(self, begun: Begun) -> Running:
        lock, ttl = (begun.fire.lock, begun.fire.ttl) if begun.has_lock else ("", 0)
        grace = self._settings.kill_after
        return Running(begun.run, begun.fire.job, lock=lock, ttl=ttl, grace=grace)

    def _enter(self, group: asyncio.TaskGroup, begun: Begun, running: Running) -> None:
        self._by_job[running.name] += 1
        group.create_task(self._execute(begun, running), name=f"run {running.id}")

    async def _execute(self, begun: Begun, running: Running) -> None:
        process, stored = running.process, 0
        if process:
            stored = await self._read(lambda: self._stored(running.id))
        as_list = self._settings.upstream_data
        printed = OutputLines(self._settings.last_lines, as_list=as_list, stored=stored)
        try:
            job = await self._read(lambda: self._find(running.name))
            outcome = (
                self._follow(running, job, process, printed)
                if process
                else self._start_and_follow(begun, running, job, printed)
            )
            ended, reason = await outcome
        finally:
            self._leave(running)
        probe("cron.ended")
        end = _end(running, ended, reason, printed.tail(), self._clock.now())
        await self._finish(begun, running, job, end)

    async def _read(self, question: Callable[[], Awaitable[T]]) -> T:
        """Retries until it succeeds, because a failure here would end all other runs."""
        return await enduring(lambda: patiently(question), "cron", "read a job")

    def _leave(self, running: Running) -> None:
        self.free += 1
        self._by_job[running.name] -= 1
        if not self._by_job[running.name]:
            del self._by_job[running.name]

    async def _start_and_follow(
        self, begun: Begun, running: Running, job: Job | None, printed: OutputLines
    ) -> tuple[Ended | None, str]:
        """Returns how the process ended, and why if it did not end by itself."""
        if job is None:
            return None, NO_JOB
        await running.secured()
        if running.reason:
            return None, f"not started: {running.reason}"
        ending = _ending(job, self._settings.kill_after)
        running.grace = ending.grace
        command = _command(job, begun.fire, self._settings.job_shell)
        try:
            process = await self._processes.start(
                running.id, command, ending, self._volume(job), self._terms(begun, running)
            )
        except Refused as error:
            return None, str(error)
        running.started(process)
        return await self._follow(running, job, process, printed)

    async def _follow(
        self, running: Running, job: Job | None, process: Run, printed: OutputLines
    ) -> tuple[Ended | None, str]:
        await self._write_output(process, printed, self._volume(job).complete)
        ended = await process.ended()
        if ended.leftovers:
            self._log.warning(
                "ended processes that the command left behind",
                run=running.id,
                job=running.name,
                processes=", ".join(ended.leftovers),
            )
        return ended, running.why(ended)

    def _terms(self, begun: Begun, running: Running) -> Terms:
        now = self._clock.monotonic()
        wait = min(max(begun.start - self._clock.now(), 0), _LONGEST_HOLD)
        return Terms(
            not_before=now + wait,
            lease_until=running.lease_until,
            keep_until=running.keep_until,
            note=msgspec.json.encode(begun).decode(),
        )

    def _volume(self, job: Job | None) -> Volume:
        limit = job.options.output_limit if job else None
        return Volume(complete=(limit or self._settings.output_limit) << 20)

    async def _write_output(self, process: Run, printed: OutputLines, complete: int) -> None:
        async for batch in process.batches():
            self._writer.print(process.id, printed.add(batch))
            is_much = printed.weight > complete
            if is_much or self._writer.unwritten > _MOST_UNWRITTEN:
                process.output.overlook()
        self._writer.print(process.id, printed.rest())

    async def _finish(self, begun: Begun, running: Running, job: Job | None, end: End) -> None:
        result = run_results.ended(
            begun,
            job,
            end,
            instance=self._instance,
            host=self._host,
            upstream=self._settings.upstream_data,
        )
        outcome = await self._writer.finish(result)
        self._leases.end(running)
        if running.process:
            running.process.forget()
        self.done += 1
        if outcome is not Outcome.DONE:
            self._log.warning(
                "a result was refused: another instance had ended the run",
                run=running.id,
                job=running.name,
                status=result.verdict,
            )


def _end(running: Running, ended: Ended | None, reason: str, output: str, at: float) -> End:
    return End(
        at=at,
        retcode=ended.returncode if ended else None,
        reason=reason,
        output=output,
        lock=running.lock,
        is_cancelled=running.is_cancelled,
        output_bytes=running.process.output.size if running.process else 0,
        cpu=round(ended.user + ended.system, 6) if ended else 0,
        memory=ended.peak if ended else 0,
        leftovers=ended.leftovers if ended else (),
    )


def _command(job: Job, fire: Fire, shell: str) -> Command:
    options = job.options
    ours = {"WB_JOB": job.name, "WB_FIRE": str(fire.fire), "WB_ATTEMPT": str(fire.attempt or 1)}
    return Command(
        argv=[shell, "-c", job.cmd],
        environment={**options.environment, **ours},
        folder=options.folder,
        user=options.user,
        group=options.group,
        nice=options.nice,
        limits=options.limits,
    )


def _ending(job: Job, kill_after: int) -> Ending:
    options = job.options
    return Ending(
        time_limit=options.time_limit,
        grace=kill_after if options.kill_after is None else options.kill_after,
        linger=options.linger,
        escaped=options.daemons,
    )
