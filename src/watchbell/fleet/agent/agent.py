"""An agent: takes jobs from its server, runs them on this machine, and reports about them."""

import asyncio
import socket
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Literal, NoReturn

from watchbell import logs
from watchbell.clock import SYSTEM, Clock
from watchbell.errors import Refused
from watchbell.fleet.agent import sampler
from watchbell.fleet.agent.agent_folder import AgentFolder, Joined
from watchbell.fleet.agent.job_process import Surroundings
from watchbell.fleet.agent.job_table import JobTable
from watchbell.fleet.agent.leases import JobLease
from watchbell.fleet.agent.link import Link
from watchbell.fleet.agent.outbox import Outbox
from watchbell.fleet.agent.uploads import Transfers
from watchbell.fleet.agent.watching import watch
from watchbell.fleet.messages import Abort, Acks, Hello, Launch, Renew, Renewed, ToAgent, Welcome
from watchbell.process.runner import Runner
from watchbell.settings import Agent as AgentSettings

_GRACE = 10.0
"""Seconds from SIGTERM to SIGKILL for jobs of an agent that nobody succeeds."""
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
        outbox: Outbox,
        on_welcome: Callable[[], None],
    ) -> None:
        self.jobs, self.lease, self._outbox = jobs, lease, outbox
        self._on_welcome = on_welcome
        self._settings, self._boot = settings, boot
        self.welcome: Welcome | None = None
        self.is_welcomed = asyncio.Event()
        self.is_stopping = False

    def hello(self, *, has_stored: bool) -> Hello:
        return Hello(
            hostname=self._settings.hostname or socket.gethostname(),
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
            case Acks(acknowledged=acknowledged, drop=drop):
                for job, number in acknowledged.items():
                    self.jobs.acknowledge(job, number)
                for job in drop:
                    self.jobs.drop(job)
            case _:
                pass


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
                    group.create_task(watch(agent, link, runner, folder, clock))
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

    lease = JobLease(clock, extend)
    transfers = Transfers(lambda: link.server, link.tls)
    owner = owner_of(files)
    around = Surroundings(runner, outbox, lease, transfers, clock, settings.users, owner)
    jobs = JobTable(files, around, group)
    boot = f"{sampler.boot_id()}:{files.id()}"
    return Agent(settings, boot, jobs, lease, outbox, lambda: files.store_joined(joined))


async def _stop(agent: Agent, link: Link, on_stop: Literal["keep", "end"]) -> None:
    agent.is_stopping = True
    await link.leave()
    if on_stop == "keep":
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
