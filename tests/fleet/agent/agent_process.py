"""`watchbell agent` as a process of its own, which tests kill, stop and start again."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Self

import psutil

from tests.conftest import bare_environment, watchbell
from tests.fleet.agent.link_server import TOKEN, LinkServer
from tests.waiting import eventually, wait_until
from watchbell.fleet.agent.journal import FIRST
from watchbell.process.orphans import marked


def alive(agent: Path, job: str) -> list[int]:
    """Processes of a job of the agent with this folder."""
    owner = f"agent-{(agent / 'id').read_text()}"
    return [one.pid for one in marked() if (one.owner, one.run) == (owner, job)]


class AgentProcess:
    def __init__(
        self,
        data: Path,
        server: LinkServer,
        *options: str,
        joins: bool = True,
        **environment: str,
    ) -> None:
        self.data, self._server, self._joins = data, server, joins
        self.log = data.with_name(f"{data.name}.log")
        self._options, self._environment = options, environment
        self.process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        joining = ["--join", self._server.url, "--token", TOKEN] if self._joins else []
        arguments = [*joining, "--data", str(self.data)]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                watchbell("agent", *arguments, *self._options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=bare_environment(**self._environment),
            )

    @property
    def jobs(self) -> list[str]:
        folder = self.data / "agent" / "jobs"
        return sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []

    async def connected(self) -> Self:
        before = len(self._server.hellos)
        await eventually(lambda: len(self._server.hellos) > before, why="a connection")
        return self

    def alive(self, job: str) -> list[int]:
        return alive(self.data / "agent", job)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def again(self, **environment: str) -> None:
        self._environment = environment
        self.process = self._started()

    async def wait(self) -> int:
        """Its exit code; its server goes on meanwhile."""
        await eventually(lambda: self.process.poll() is not None, why="the end of the agent")
        return self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        for one in marked():  # what waits for an agent that will not come
            if one.owner == f"agent-{self._owner()}":
                try:
                    os.kill(one.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        wait_until(lambda: not self.kill_wardens(), why="the end of wardens")

    def is_starting(self, job: str) -> bool:
        """Whether the process of a job may have been started, as far as its journal says."""
        journal = self.data / "agent" / "jobs" / job / FIRST
        return journal.exists() and b"is_starting" in journal.read_bytes()

    def kill_wardens(self) -> list[int]:
        return self.signal_wardens(signal.SIGKILL)

    def signal_wardens(self, number: signal.Signals) -> list[int]:
        found = []
        for process in psutil.process_iter(["cmdline"]):
            command = " ".join(process.info["cmdline"] or [])
            if "watchbell.process.warden" in command and self._owner() in command:
                found.append(process.pid)
                process.send_signal(number)
        return found

    def _owner(self) -> str:
        path = self.data / "agent" / "id"
        return path.read_text() if path.exists() else "no such owner"
