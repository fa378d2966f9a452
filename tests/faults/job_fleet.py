"""A whole installation that runs jobs, of real processes which a test kills, suspends and restarts:
conductors, web servers and agents on one store. Jobs write what they do into a ledger."""

import asyncio
import os
import signal
import subprocess
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Container, Iterable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

import msgspec
import psutil

from tests import servers
from tests.conftest import bare_environment, watchbell, watched
from tests.waiting import eventually, wait_until
from watchbell.clock import SYSTEM
from watchbell.files import objects
from watchbell.fleet import groups, tokens
from watchbell.fleet.keys import Fleet
from watchbell.jobs import job_records, launches
from watchbell.jobs.job_log import JobLog
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Event, Job, Limit
from watchbell.process.orphans import marked
from watchbell.settings import Settings
from watchbell.store.client import Store, patiently
from watchbell.store.keys import StoreKeys, tagged

QUICK = {
    "WATCHBELL_JOBS_HEARTBEAT": "1",
    "WATCHBELL_JOBS_DOWN_AFTER": "3600",
    "WATCHBELL_JOBS_LOST_AFTER": "3600",
    "WATCHBELL_JOBS_KILL_AFTER": "1",
}
"""No server counts as lost only because the machine is busy."""
_MOST_LIVE = 100

Topology = Callable[[Path], AbstractContextManager[servers.Single | servers.Cluster]]


class Process:
    """A command of Watchbell, which is started again and again."""

    def __init__(self, log: Path, command: Sequence[str], environment: dict[str, str]) -> None:
        self.log, self._command, self._environment = log, command, environment
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def start(self, fault: str = "", **environment: str) -> Self:
        assert not self.is_alive
        variables = {**self._environment, **environment, "WATCHBELL_FAULT": fault}
        with self.log.open("ab") as log:
            self.process = servers._spawner.submit(
                subprocess.Popen[bytes],
                ["setpriv", "--pdeathsig", "KILL", *self._command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=bare_environment(**variables),
            ).result()
        return self

    def signal(self, number: signal.Signals) -> None:
        assert self.process
        self.process.send_signal(number)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(60)

    async def stop(self) -> None:
        """In order, as an administrator does it."""
        self.signal(signal.SIGTERM)
        assert await self.ended() == 0, self.log.read_text()[-2_000:]

    async def ended(self) -> int:
        await eventually(lambda: not self.is_alive, why=f"the end of {self.log.stem}")
        assert self.process
        return self.process.wait()

    async def died(self) -> None:
        """It has reached the point at which it was told to kill itself."""
        assert await self.ended() == -signal.SIGKILL, self.log.read_text()[-2_000:]


class AgentProcess(Process):
    """An agent with its folder."""

    def __init__(
        self, folder: Path, name: str, url: str, token: str, environment: dict[str, str]
    ) -> None:
        self.data, self.name = folder / name, name
        joining = ["--join", url, "--token", token, "--data", str(self.data)]
        variables = {**environment, "WATCHBELL_AGENT_HOSTNAME": name}
        super().__init__(folder / f"{name}.log", watchbell("agent", *joining), variables)

    @property
    def jobs(self) -> list[str]:
        folder = self.data / "agent" / "jobs"
        return sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []

    def children(self, job: str = "") -> list[int]:
        """Processes of its jobs, or of one of them."""
        owner = f"agent-{self._owner()}"
        return [one.pid for one in marked() if one.owner == owner and job in ("", one.run)]

    def is_idle(self) -> bool:
        return not self.jobs and not self.children()

    def wardens(self) -> list[psutil.Process]:
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if "watchbell.process.warden" in (line := " ".join(process.info["cmdline"] or []))
            and self._owner() in line
        ]

    def close(self) -> None:
        if self.is_alive:
            self.signal(signal.SIGCONT)
        self.kill()
        for pid in self.children():  # what waits for an agent that will not come
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        wait_until(lambda: not self._ending_wardens(), why="the end of wardens")

    def _ending_wardens(self) -> bool:
        found = self.wardens()
        for one in found:
            one.kill()
        return bool(found)

    def _owner(self) -> str:
        path = self.data / "agent" / "id"
        return path.read_text() if path.exists() else "no such owner"


class JobFleet:
    def __init__(
        self,
        folder: Path,
        server: servers.Server,
        store: Store,
        port: int,
        store_url: str = "",
        **settings: str,
    ) -> None:
        self.folder, self.server, self.store, self.port = folder, server, store, port
        self.store_url = store_url or server.url
        self.keys, self.fleet_keys = Jobs(store.prefix), Fleet(store.prefix)
        self.environment = {**QUICK, **settings}
        self.ledger = folder / "ledger"
        self.ledger.touch()
        self.launched: list[str] = []
        self.processes: list[Process] = []
        self.agents: list[AgentProcess] = []
        data = folder / "data"
        data.mkdir(0o700)
        self.files = objects.opened(Settings(data=data).files, data)
        self.web = self.role("web", WATCHBELL_WEB_PORT=str(port))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def role(self, role: str, name: str = "", **environment: str) -> Process:
        command = watchbell("run", role, "--store", self.store_url, "--data", f"{self.folder}/data")
        log = self.folder / f"{name or role}.log"
        made = Process(log, command, {**self.environment, **environment})
        self.processes.append(made)
        return made

    def conductor(self, name: str = "conductor", **environment: str) -> Process:
        return self.role("conductor", name, **environment)

    async def expire_leases(self, dead: Process) -> None:
        """What a killed conductor held can be taken now, not only when its leases end."""
        assert not dead.is_alive
        for queue in (self.keys.ready(), self.keys.finishing(), self.keys.actions()):
            takers = StoreKeys().takers(tagged(queue))
            for name in await self.store.call("ZRANGE", takers, 0, -1):
                if f".{dead.pid}.".encode() in name:
                    await self.store.call("ZADD", takers, "XX", 1, name)

    async def agent(self, name: str, slots: int = 8, url: str = "") -> AgentProcess:
        """One that has never joined; not started."""
        token, _ = await tokens.create_join(self.store, "alice", int(SYSTEM.now()), groups=["main"])
        environment = {**self.environment, "WATCHBELL_AGENT_SLOTS": str(slots)}
        made = AgentProcess(self.folder, name, url or self.url, token, environment)
        self.agents.append(made)
        return made

    async def serve(self) -> None:
        """Starts the web server. Agents that come later need not try again and again."""
        self.web.start()
        await self.served()

    async def served(self) -> None:
        await eventually(self.is_served, why="a web server")

    async def is_served(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True

    async def joined(self, count: int = 1) -> None:
        """So many agents are connected."""
        await eventually(lambda: self._has_links(count), why=f"{count} connected agents")

    async def _has_links(self, count: int) -> bool:
        return (
            len(await patiently(lambda: self.store.call("HKEYS", self.fleet_keys.links()))) == count
        )

    async def define(self, event: str, *limits: Limit) -> None:
        record = msgspec.json.encode(Event(id=event, title=event, limits=limits))
        await self.store.call("HSET", self.keys.events(), event, record)

    async def launch(self, ids: Iterable[str], script: str, event: str = "e1", **more: Any) -> None:
        """Jobs that write their start and their end into the ledger around the script. The ledger
        is appended to in one call, so lines of concurrent jobs never mix."""
        whole = (
            f"echo $JOB_ID start $JOB_EVENT >>{self.ledger}\n{script}\n"
            f"echo $JOB_ID end $JOB_EVENT >>{self.ledger}"
        )
        now = SYSTEM.now()
        jobs = [
            Job(
                id=id_,
                event=event,
                state="ready",
                targets=("main",),
                command="watchbell-plugin shell",
                params={"script": whole},
                now=now,
                launched=now,
                **more,
            )
            for id_ in ids
        ]
        self.launched += [job.id for job in jobs]
        await launches.launch(self.store, jobs, "UTC")

    @asynccontextmanager
    async def load(self, script: str, at_once: int = 5, **more: Any) -> AsyncIterator[None]:
        """Jobs are launched all the time, as fast as they end, while the body works."""

        is_over = asyncio.Event()

        async def go_on() -> None:
            while not is_over.is_set():  # a launch that is cancelled may or may not have happened
                first = len(self.launched)
                names = [f"j{first + n}" for n in range(at_once)]
                await self.launch(names, script, **more)
                await eventually(lambda: self._is_wanted(_MOST_LIVE))

        async with asyncio.TaskGroup() as group:
            group.create_task(go_on())
            yield
            is_over.set()

    async def _is_wanted(self, most: int) -> bool:
        return bool(await patiently(lambda: self.store.call("ZCARD", self.keys.live())) < most)

    async def record(self, job: str) -> Job:
        found = await patiently(lambda: job_records.read(self.store, job))
        assert found, f"the job {job} was lost"
        return found

    async def count_finished(self) -> int:
        return int(await patiently(lambda: self.store.call("HLEN", self.keys.finished())))

    async def has_finished(self, count: int) -> bool:
        return await self.count_finished() >= count

    async def finished(self, jobs: Iterable[str] | None = None) -> list[Job]:
        """The records of jobs, or of all that were launched, once each of them has ended."""
        wanted = list(self.launched if jobs is None else jobs)
        while (count := await self._count_of(wanted)) < len(wanted):  # it may take long
            more = partial(self._has_finished, wanted, count + 1)
            await eventually(more, why=f"the end of more than {count} of {len(wanted)} jobs")
        return [await self.record(job) for job in wanted]

    async def _count_of(self, wanted: list[str]) -> int:
        found = await patiently(lambda: self.store.call("HMGET", self.keys.finished(), *wanted))
        return sum(map(bool, found))

    async def _has_finished(self, wanted: list[str], count: int) -> bool:
        return await self._count_of(wanted) >= count

    async def log(self, job: str) -> bytes:
        return b"".join([part async for part in JobLog(self.store, self.files, job).download()])

    def entries(self) -> list[tuple[str, str, str]]:
        """The ledger: job, `start` or `end`, and event."""
        lines = [line.split() for line in self.ledger.read_text().splitlines()]
        return [(job, what, event) for job, what, event in lines]

    def count(self, what: str) -> Counter[str]:
        return Counter(job for job, kind, _ in self.entries() if kind == what)

    def most_at_a_time(self, without: Container[str] = ()) -> dict[str, int]:
        """By event: how many of its jobs ran concurrently, at most."""
        running, most = Counter[str](), defaultdict[str, int](int)
        for job, what, event in self.entries():
            if job in without:
                continue
            running[event] += 1 if what == "start" else -1
            most[event] = max(most[event], running[event])
        return most

    def check_run_once(self, jobs: Iterable[str] | None = None) -> None:
        """Each of the jobs was run to its end, once."""
        wanted = Counter(self.launched if jobs is None else jobs)
        for what in ("start", "end"):
            found = self.count(what)
            assert Counter({id_: found[id_] for id_ in wanted}) == wanted

    async def check_empty(self) -> None:
        """Nothing is left of jobs in progress: in the store, and on the machines of the agents."""
        keys = [self.keys.live(), self.keys.ready(), self.keys.delayed(), self.keys.finishing()]
        await eventually(lambda: self._are_gone(keys), why="empty queues")
        for pattern in (
            self.keys.job("*"),
            self.keys.occupied("*"),
            self.keys.queued("*"),
            self.keys.waiting("*"),
        ):
            assert await self._matching(pattern) == []
        for pattern in (self.keys.server_jobs("*"), self.fleet_keys.orders("*")):
            assert await self._matching(pattern) == []
        for agent in self.agents:
            if agent.is_alive:
                await eventually(agent.is_idle, why=f"{agent.name} has nothing left")

    async def _are_gone(self, keys: list[str]) -> bool:
        held = [
            StoreKeys().held(tagged(key), "*") for key in (self.keys.ready(), self.keys.finishing())
        ]
        return not await self.store.call("EXISTS", *keys) and not any(
            [await self._matching(pattern) for pattern in held]
        )

    async def _matching(self, pattern: str) -> list[bytes]:
        primaries = await self.store.primaries()
        return [key for one in primaries for key in await one.call("KEYS", pattern)]

    def close(self) -> None:
        for agent in self.agents:
            agent.close()
        for process in self.processes:
            if process.is_alive:
                process.signal(signal.SIGCONT)
            process.kill()


@asynccontextmanager
async def job_fleet(
    folder: Path, on: Topology = servers.single, prefix: str = "", **settings: str
) -> AsyncIterator[JobFleet]:
    """With a store of its own; none of its processes is started."""
    async with AsyncExitStack() as stack:
        made = stack.enter_context(on(folder))
        url = made.url + (f"?prefix={prefix}" if prefix else "")
        hold = stack.enter_context(servers.held_port())
        store = await stack.enter_async_context(asynccontextmanager(watched)(url))
        port = hold.getsockname()[1]
        fleet = JobFleet(folder, made.servers[0], store, port, url, **settings)
        stack.callback(fleet.close)
        await groups.create(store, {"title": "Main"}, "alice", int(SYSTEM.now()), "main")
        await fleet.define("e1")
        yield fleet
