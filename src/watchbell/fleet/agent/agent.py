"""An agent: takes jobs from its server, runs them on this machine, and reports about them."""

import asyncio
import socket
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Literal, NoReturn

from msgspec.structs import replace

from watchbell import logs
from watchbell.clock import SYSTEM, Clock
from watchbell.errors import Refused
from watchbell.fleet.agent import sampler
from watchbell.fleet.agent.agent_folder import AgentFolder, Joined
from watchbell.fleet.agent.commands import Commands
from watchbell.fleet.agent.job_process import Surroundings
from watchbell.fleet.agent.job_table import JobTable
from watchbell.fleet.agent.leases import JobLease
from watchbell.fleet.agent.link import Link
from watchbell.fleet.agent.masking import Masker
from watchbell.fleet.agent.outbox import Outbox
from watchbell.fleet.agent.sampling import Sampling
from watchbell.fleet.agent.starts import Starts
from watchbell.fleet.agent.uploads import Transfers
from watchbell.fleet.agent.watching import watch
from watchbell.fleet.messages import (
    Abort,
    Acks,
    FromAgent,
    Hello,
    Launch,
    RanOnce,
    Renew,
    Renewed,
    RunEachMinute,
    RunOnce,
    ToAgent,
    Welcome,
)
from watchbell.process.runner import Runner
from watchbell.settings import Agent as AgentSettings

_GRACE = 10.0
"""Seconds from SIGTERM to SIGKILL for jobs of an agent that nobody succeeds."""
_LAST_STARTS = 10.0
"""Seconds that a stopping agent waits for processes that are being started."""
_LAST_REPORTS = 5.0
"""Seconds that a stopping agent waits for its last reports to be stored."""
STOPPED = "Aborted: the agent was stopped."


class Agent:
    """What the server of an agent can ask for."""

    def __init__(
        self,
        settings: AgentSettings,
        boot: str,
        jobs: JobTable,
        lease: JobLease,
        starts: Starts,
        outbox: Outbox,
        commands: Commands,
        on_welcome: Callable[[], None],
        send_soon: Callable[[FromAgent], None],
    ) -> None:
        self.jobs, self.lease, self.starts, self._outbox = jobs, lease, starts, outbox
        self.commands, self._send_soon = commands, send_soon
        self._on_welcome = on_welcome
        self._settings, self._boot = settings, boot
        self.welcome: Welcome | None = None
        self.is_welcomed = asyncio.Event()
        self.is_stopping = False

    @property
    def hostname(self) -> str:
        return self._settings.hostname or socket.gethostname()

    def hello(self, *, has_stored: bool) -> Hello:
        return Hello(
            hostname=self.hostname,
            info=sampler.server_info(self._settings.slots),
            boot=self._boot,
            jobs=self.jobs.known(),
            has_stored=has_stored,
        )

    def renew(self, number: int) -> Renew:
        return Renew(number=number, jobs=tuple(job.id for job in self.jobs.unfinished()))

    def welcomed(self, welcome: Welcome, asked: float) -> None:
        self.welcome = welcome
        self.lease.renewed(asked, welcome.lost_after, welcome.kill_after)
        self.jobs.welcomed(welcome)
        self._outbox.rewind()
        if not self.is_welcomed.is_set():
            self._on_welcome()
            self.is_welcomed.set()

    def renewed(self, renewed: Renewed, asked: float) -> None:
        assert self.welcome
        self.lease.renewed(asked, self.welcome.lost_after, self.welcome.kill_after)
        for job in renewed.over:
            self.jobs.drop(job)

    def receive(self, message: ToAgent) -> None:
        assert self.welcome
        match message:
            case Launch(orders=orders) if not self.is_stopping:
                for order in orders:
                    self.jobs.accept(order, self.welcome)
            case Abort(job=job, reason=reason, retry_ok=retry_ok):
                self.jobs.abort(job, reason, retry_ok=retry_ok)
            case Acks():
                self._acknowledge(message)
            case RunEachMinute(commands=commands) if not self.is_stopping:
                self.commands.replace(commands)
            case RunOnce(request=request, command=command) if not self.is_stopping:
                self.commands.run_once(request, command, self._answer)
            case _:
                pass

    def maskers(self) -> list[Masker]:
        """They hide the secrets of jobs in everything that is sent."""
        return [job.masker for job, _ in self.jobs.running()]

    def _answer(self, ran: RanOnce) -> None:
        outcome = ran.outcome
        for masker in self.maskers():
            outcome = replace(
                outcome,
                output=masker.mask_values(outcome.output),
                text=masker.mask_text(outcome.text),
                error=masker.mask_text(outcome.error),
            )
        self._send_soon(RanOnce(request=ran.request, outcome=outcome))

    def _acknowledge(self, acks: Acks) -> None:
        for job, number in acks.acknowledged.items():
            self.jobs.acknowledge(job, number)
        for job in acks.drop:
            self.jobs.drop(job)


async def run(
    settings: AgentSettings,
    folder: Path,
    joined: Joined,
    *,
    token: str = "",
    secrets: Collection[str] = (),
    on_stop: Literal["keep", "end"] = "keep",
    once: bool = False,
    clock: Clock = SYSTEM,
) -> None:
    """Runs an agent until it is cancelled; `once`: until its server has welcomed it.

    `token` is used to join, until there is one in the folder. `secrets` are variables that jobs do
    not inherit. Once it is welcomed, the folder remembers the servers. A stopped agent ends its
    jobs, or keeps them for the next agent of the folder."""
    files = AgentFolder(folder)
    with files.locked():
        if not (token or files.token.read()):
            raise Refused("this agent has no token; join with --join URL --token TOKEN")
        logs.hide(token)
        outbox = Outbox()
        link = Link(joined.urls, files.token, token, outbox, clock, ca=joined.ca)
        owner = owner_of(files)
        async with Runner(
            owner, grace=_GRACE, clock=clock, keep=files.kept, secrets=secrets
        ) as runner:
            try:
                async with asyncio.TaskGroup() as group:
                    agent = _agent(settings, files, joined, runner, link, outbox, clock, group)
                    await agent.jobs.recover(owner)
                    group.create_task(link.run(agent))
                    group.create_task(watch(agent, link, runner, clock))
                    sampling = Sampling(agent, link, agent.commands, folder, clock, token)
                    group.create_task(sampling.run())
                    try:
                        await (agent.is_welcomed if once else asyncio.Event()).wait()
                    finally:
                        await _stop(agent, link, on_stop)
                    _end_tasks()
            except* _Stopped:
                pass
            except* Refused as refused:
                raise refused.exceptions[0] from None
            finally:
                if on_stop == "keep":
                    await runner.leave()


def owner_of(files: AgentFolder) -> str:
    return f"agent-{files.id()}"


class _Stopped(Exception):
    """Ends the tasks of an agent."""


def _end_tasks() -> NoReturn:
    raise _Stopped


def _agent(
    settings: AgentSettings,
    files: AgentFolder,
    joined: Joined,
    runner: Runner,
    link: Link,
    outbox: Outbox,
    clock: Clock,
    group: asyncio.TaskGroup,
) -> Agent:
    def extend(until: float) -> None:
        for _, process in jobs.running():
            process.lease(until, until)

    lease, starts = JobLease(clock, extend), Starts()
    transfers = Transfers(lambda: link.server, link.tls)
    owner = owner_of(files)
    around = Surroundings(runner, starts, outbox, lease, transfers, clock, settings.users, owner)
    jobs = JobTable(files, around, group)
    boot = f"{sampler.boot_id()}:{files.id()}"
    commands = Commands(runner, files.commands, settings.users, clock, group)
    on_welcome = partial(files.store_joined, joined)
    parts = (jobs, lease, starts, outbox, commands)
    return Agent(settings, boot, *parts, on_welcome, link.send_soon)


async def _stop(agent: Agent, link: Link, on_stop: Literal["keep", "end"]) -> None:
    agent.is_stopping = True
    await link.leave()
    if on_stop == "keep":
        await agent.starts.close(_LAST_STARTS)
        return
    agent.jobs.abort_all(STOPPED)
    while agent.jobs.is_busy:  # noqa: ASYNC110 it ends within the grace of each
        await asyncio.sleep(0.02)
    try:
        async with asyncio.timeout(_LAST_REPORTS if link.is_connected else 0):
            while not agent.jobs.is_empty:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    except TimeoutError:
        pass
