"""One job: its process from start to end, and the reports about it."""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from watchbell.clock import Clock
from watchbell.errors import Refused
from watchbell.fleet.agent import accounts, job_command, job_result
from watchbell.fleet.agent.job_folder import Accepted, JobFolder
from watchbell.fleet.agent.job_log import JobLog
from watchbell.fleet.agent.job_messages import JobOutput
from watchbell.fleet.agent.job_reports import JobReports
from watchbell.fleet.agent.job_result import Abort, Outcome
from watchbell.fleet.agent.journal import Journal
from watchbell.fleet.agent.leases import JobLease
from watchbell.fleet.agent.limits import Limits, Reached
from watchbell.fleet.agent.masking import Masker
from watchbell.fleet.agent.outbox import Outbox
from watchbell.fleet.agent.output_follower import OutputFollower
from watchbell.fleet.agent.starts import Starts
from watchbell.fleet.agent.uploads import FileWish, Transfers, wishes
from watchbell.fleet.agent.usage_sampler import JobUsageMeter
from watchbell.fleet.messages import LimitReached, Result, Started
from watchbell.probes import probe
from watchbell.process import orphans
from watchbell.process.command import Command, Ending, Terms
from watchbell.process.procfs import session_of
from watchbell.process.run import Cause, Ended, Run
from watchbell.process.runner import Runner
from watchbell.units import in_bytes

_NO_END = Ended(cause=Cause.ITSELF)
_PASSES = 3  # over all processes: one may start another while it is being killed
_LINGER = 2.0
"""Seconds that processes have which outlive the main one."""


class Surroundings(Struct, frozen=True):
    """What all jobs of an agent share."""

    runner: Runner
    starts: Starts
    outbox: Outbox
    lease: JobLease
    transfers: Transfers
    clock: Clock
    users: Sequence[str]
    owner: str
    """What processes of this agent are marked with."""


class JobProcess:
    def __init__(
        self, accepted: Accepted, folder: JobFolder, journal: Journal, around: Surroundings
    ) -> None:
        self.id = accepted.id
        self.accepted, self.folder, self.journal = accepted, folder, journal
        self.process: Run | None = None
        self.masker = Masker(accepted.order.secrets.values())
        self.meter = JobUsageMeter()
        self.is_dropped = False
        """Whether its server wants to hear no more of it."""
        self._around, self._clock = around, around.clock
        self._job = accepted.order.job
        self._reports = JobReports(self.id, journal, around.outbox)
        self._limits = Limits(_items(self._job.get("limits")), journal.state.reached)
        self._limits.push(journal.state.limits)
        self._abort: Abort | None = None
        self._time_limit: asyncio.TimerHandle | None = None
        self._begun = 0.0
        self._owner = accounts.other_owner(self._job)
        self._activity: list[str] = []

    @property
    def is_over(self) -> bool:
        """Whether its result was recorded."""
        return self.journal.state.is_over

    @property
    def is_running(self) -> bool:
        return self.process is not None and not self.is_over

    @property
    def elapsed(self) -> float:
        return self._clock.monotonic() - self._begun if self._begun else 0.0

    async def run(self) -> None:
        """Starts the process, and follows it to its end."""
        try:
            await self._prepare()
            process = await self._start() if not self._abort else None
        except Refused as error:
            await self._finish(Outcome(1, self.masker.mask_text(f"{error}.")), _NO_END)
            return
        if process:
            await self._follow(process)
        else:
            outcome = job_result.outcome(self._reports.state, _NO_END, self._abort)
            await self._finish(outcome, _NO_END)

    async def adopt(self, process: Run) -> None:
        """Follows a process that an agent before this one started."""
        self._hold_started(process)
        await self._follow(process)

    async def lose(self) -> None:
        """Nothing is known of its process, since its warden is gone, too. What is left is ended,
        except for daemons."""
        main = self._reports.state.pid
        for _ in range(_PASSES):
            for orphan in orphans.marked():
                is_ours = (orphan.run, orphan.owner) == (self.id, self._around.owner)
                if is_ours and (not main or session_of(orphan.pid) == main):
                    orphans.signal_safely(orphan, signal.SIGKILL)
        await self._finish(job_result.LOST, _NO_END)

    async def fail(self, reason: str) -> None:
        """Ends it after an error of ours."""
        text = self.masker.mask_text(f"Aborted: the agent has failed: {reason}")
        self._abort = Abort(text, retry_ok=True)
        ended = _NO_END
        if self.process:
            self.process.kill()
            self.process.chunks.overlook()
            ended = await self.process.ended()
        await self._finish(job_result.outcome(self._reports.state, ended, self._abort), ended)

    def abort(self, reason: str, *, retry_ok: bool, limit: int | None = None) -> None:
        if self._abort or self.is_over:
            return
        self._abort = Abort(self.masker.mask_text(reason), retry_ok, limit)
        self._end_process()

    def drop(self) -> None:
        """Ends it, and reports nothing more."""
        self.is_dropped = self._reports.is_muted = True
        self.abort("It is over as far as its server knows.", retry_ok=False)

    def sample(self, cpu: float, mem: float) -> None:
        """What its processes use now."""
        self._reach(self._limits.check_usage(self.elapsed, cpu, mem))

    def _end_process(self) -> None:
        if self.process is None:
            return
        if job_result.kill_policy(self._job) == "none":
            self.process.release()
        else:
            self.process.terminate()

    async def _prepare(self) -> None:
        """Brings the files that the job was given into its folder."""
        job = self._job
        for source in (job.get("parent"), job.get("input")):
            for file in _items(source.get("files") if isinstance(source, dict) else None):
                name = os.path.basename(str(file.get("filename") or ""))  # noqa: PTH119
                if name in ("", ".", ".."):
                    raise Refused(f"an input file has no name: {file.get('path')}")
                target = self.folder.work / name
                path = str(file.get("path") or "")
                await self._around.transfers.fetch(self.id, path, target, self._is_ending)

    def _is_ending(self) -> bool:
        return self._abort is not None

    async def _start(self) -> Run:
        command, start = self._command(), self._around.runner.start
        await self._around.starts.admitted()
        await self._reports.record((), structs.replace(self._reports.state, is_starting=True))
        with self._around.starts.one():
            probe("agent.starting")
            until = self._around.lease.until
            terms = Terms(lease_until=until, keep_until=until, note=self.id)
            process = await start(self.id, command, self._ending(), None, terms)
        probe("agent.started")
        self._hold_started(process)
        return process

    def _command(self) -> Command:
        order, folder = self.accepted.order, self.folder
        argv = job_command.argv(self._job, folder.script)
        user, group = accounts.allowed(self._job, self._around.users)
        job_command.write_script(self._job, folder.script)
        if user:
            accounts.hand_over(user, folder)
        cwd = self._job.get("cwd")
        return Command(
            argv=argv,
            environment=job_command.environment(order, folder.work, folder.log),
            folder=cwd if isinstance(cwd, str) and cwd else str(folder.work),
            user=user,
            group=group,
            stdin=job_command.stdin(order, folder.work),
        )

    def _ending(self) -> Ending:
        policy = job_result.kill_policy(self._job)
        return Ending(
            grace=self.accepted.kill_after,
            linger=_LINGER,
            escaped="end" if policy == "all" else "leave",
            first="main" if policy == "parent" else "all",
        )

    def _hold_started(self, process: Run) -> None:
        self.process = process
        self._begun = self._clock.monotonic() - process.started_ago
        state = self._reports.state
        if not state.started:
            at = self._clock.now() - process.started_ago
            started = structs.replace(state, is_starting=True, started=at, pid=process.pid)
            self._reports.hold([Started(at=at, pid=process.pid)], started)
        if self._abort:
            self._end_process()
        self._watch_time()

    async def _follow(self, process: Run) -> None:
        state = self._reports.state
        output = JobOutput(
            self.masker,
            position=state.position,
            is_within_line=state.is_within_line,
            reads_messages=job_command.reads_messages(self._job),
            reads_percentages=job_command.is_shell(self._job),
        )
        follower = OutputFollower(
            self._reports,
            output,
            JobLog(self.accepted.log_limit),
            self._clock,
            annotates=job_command.annotates(self._job),
            on_limits=self._push_limits,
            on_output=self._count_output,
        )
        await follower.follow(process.chunks)
        ended = await process.ended()
        probe("agent.ended")
        if self._time_limit:
            self._time_limit.cancel()
        if ended.leftovers:
            left = ", ".join(ended.leftovers)
            self._activity.append(f"Ended processes that the job left behind: {left}.")
        self.meter.finish(ended)
        await self._finish(job_result.outcome(self._reports.state, ended, self._abort), ended)

    async def _finish(self, outcome: Outcome, ended: Ended) -> None:
        files = await self._upload_files() if not self.is_dropped else []
        state = self._reports.state
        if self._abort and outcome.code != job_result.ABORTED:  # during the uploads
            outcome = job_result.outcome(state, ended, self._abort)
        result = Result(
            at=self._clock.now(),
            code=outcome.code,
            description=outcome.description,
            elapsed=round(ended.seconds, 6),
            retry_ok=outcome.retry_ok,
            limit=outcome.limit,
            size=state.offset,
            lines=state.lines,
            cut=state.cut,
            cpu=self.meter.cpu.shown(),
            mem=self.meter.mem.shown(),
            disk=self.meter.disk,
            net=self.meter.net,
            files=tuple(files),
            activity=tuple(map(self.masker.mask_text, self._activity)),
        )
        await self._reports.record([result], structs.replace(state, is_over=True))
        probe("agent.finished")
        self._reports.close()
        if self.process:
            self.process.forget()

    async def _upload_files(self) -> list[dict[str, Any]]:
        wanted = [
            *wishes(self._reports.state.files, self.folder.work, self._owner),
            *self._own_log(),
        ]
        if not wanted:
            return []
        await self._reports.record((), self._reports.state)
        uploaded = []
        for wish in wanted:
            try:
                uploaded.append(await self._upload(wish))
            except Refused as error:
                self._activity.append(f"The file {wish.filename} was not uploaded: {error}.")
        return uploaded

    async def _upload(self, wish: FileWish) -> dict[str, Any]:
        size = wish.path.stat().st_size if wish.path.exists() else 0
        if size > self.accepted.file_limit:
            most = in_bytes(self.accepted.file_limit)
            raise Refused(f"it has {in_bytes(size)}; at most {most} are allowed")
        stored = await self._around.transfers.upload(self.id, wish, self._is_ending)
        probe("agent.uploaded")
        if wish.is_deleted:
            wish.path.unlink(missing_ok=True)
        return stored

    def _own_log(self) -> list[FileWish]:
        """The log that the job wrote itself, into the file that JOB_LOG names."""
        path: Path = self.folder.log
        try:
            is_there = path.stat().st_size > 0 and path.is_file() and not path.is_symlink()
        except OSError:
            return []
        return [FileWish(path, f"job-{self.id}.log", is_deleted=False)] if is_there else []

    def _count_output(self, size: int) -> None:
        self._reach(self._limits.check_log(size))

    def _push_limits(self, limits: Sequence[dict[str, Any]]) -> None:
        if limits:
            self._limits.push(limits)
            self._watch_time()

    def _watch_time(self) -> None:
        if self._time_limit:
            self._time_limit.cancel()
            self._time_limit = None
        due = self._limits.next_time()
        if due is not None:
            loop = asyncio.get_running_loop()
            self._time_limit = loop.call_later(max(due - self.elapsed, 0), self._check_time)

    def _check_time(self) -> None:
        self._reach(self._limits.check_time(self.elapsed))
        self._watch_time()

    def _reach(self, reached: Sequence[Reached]) -> None:
        """The result names the limit that aborts the job; others are reported. The one that aborts
        is not recorded as reached, so that an agent that is killed now reaches it again."""
        for place, description, is_abort in reached:
            if is_abort and not self._abort and not self.is_over:
                self.abort(f"Aborted: {description}.", retry_ok=True, limit=place)
                continue
            state = self._reports.state
            state = structs.replace(state, reached=(*state.reached, place))
            text = f"Limit reached: {description}."
            report = LimitReached(at=self._clock.now(), limit=place, description=text)
            self._reports.hold([report], state)


def _items(value: Any) -> list[Any]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
