"""A warden and the connection to it: started here, or left by an earlier supervisor."""

import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from watchbell.process.adoption import AdoptionSocket, Meeting
from watchbell.process.procfs import mark_of, own_mark
from watchbell.process.spare_files import SpareFiles
from watchbell.process.warden_channel import WardenChannel
from watchbell.settings import environment, for_children

# Isolated and without site-packages, the interpreter starts in a third of the time.
_PYTHON = (sys.executable, "-I", "-S", "-c")
_WARDEN = """
import json, sys
sys.path.append(sys.argv[1])
from watchbell.process.warden import main
main(int(sys.argv[2]), json.loads(sys.argv[3]))
"""
_OURS = Path(__file__).parents[2]

# Each child takes a descriptor here, and the usual limit of 1,024 leaves no room for a thousand.
# Children get the limit as this process got it.
_OPEN_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)
_WANTED_OPEN_FILES = 10_240
_OTHER_OPEN_FILES = 64
_PAUSE, _LATEST = 0.01, 10.0
"""Seconds between checks whether a warden has ended, and after its grace until it is killed."""


def raise_open_files() -> None:
    soft, hard = _OPEN_FILES
    wanted = _WANTED_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _WANTED_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_kept() -> float:
    """The number of runs whose output a warden can keep open: its limit is that of its children."""
    soft, _ = _OPEN_FILES
    return float("inf") if soft == resource.RLIM_INFINITY else soft - _OTHER_OPEN_FILES


class _Process(Protocol):
    pid: int

    def poll(self) -> int | None: ...
    def wait(self) -> int: ...
    def kill(self) -> None: ...


class _Adopted:
    """A warden that is not our child, so its exit code is unknown."""

    def __init__(self, pid: int) -> None:
        self.pid, self._mark = pid, mark_of(pid)

    def poll(self) -> int | None:
        return None if self._mark and mark_of(self.pid) == self._mark else 0

    def wait(self) -> int:
        return 0

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class WardenHandle(WardenChannel):
    def __init__(
        self,
        connection: socket.socket,
        process: _Process,
        cut: "Callable[[WardenHandle], None]",
        folder: Path | None,
    ) -> None:
        """`cut` is called when the warden died. The folder contains what it keeps for adopters."""
        super().__init__(connection)
        self._process, self._cut = process, cut
        self.folder = folder
        self.spare = SpareFiles(folder) if folder else None

    @property
    def pid(self) -> int:
        return self._process.pid

    def leave(self) -> None:
        """The warden goes on without us."""
        self.hang_up()
        if isinstance(self._process, subprocess.Popen):
            self._process.returncode = 0  # `Popen` warns of a child that nobody waited for

    def on_cut(self) -> None:
        self._process.wait()
        clear(self.folder)
        self._cut(self)

    async def close(self, grace: float) -> None:
        """Has the warden end all processes and itself; kills it if it does not."""
        if self.is_open:
            self.send("close")
        self.hang_up()
        loop = asyncio.get_running_loop()
        ends = loop.time() + grace + _LATEST
        while self._process.poll() is None:
            if loop.time() > ends:
                self._process.kill()
            await asyncio.sleep(_PAUSE)
        clear(self.folder)


def clear(folder: Path | None) -> None:
    """Removes what a dead warden kept."""
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def started(
    owner: str,
    grace: float,
    cut: Callable[[WardenHandle], None],
    adoption_socket: AdoptionSocket | None = None,
    secrets: Collection[str] = (),
) -> WardenHandle:
    """Starts a warden. With an adoption socket, its processes may outlive us.

    The warden's environment is the one that all its children inherit, so our own variables and
    `secrets` are removed here, and not even /proc shows them to a child."""
    configuration = {
        "owner": owner,
        "supervisor": os.getpid(),
        "mark": own_mark(),
        "grace": grace,
        "open_files": _OPEN_FILES,
        "door": adoption_socket.descriptor if adoption_socket else None,
    }
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [*_PYTHON, _WARDEN, str(_OURS), str(theirs.fileno()), json.dumps(configuration)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=for_children(environment(), secrets),
            pass_fds=[theirs.fileno(), *([adoption_socket.descriptor] if adoption_socket else [])],
            start_new_session=True,  # so that Ctrl-C reaches only us
        )
    if adoption_socket:
        adoption_socket.close()
    return WardenHandle(ours, process, cut, adoption_socket.folder if adoption_socket else None)


def taken_over(
    connection: socket.socket, meeting: Meeting, cut: Callable[[WardenHandle], None]
) -> WardenHandle:
    """The handle of a warden whose supervisor has died."""
    return WardenHandle(connection, _Adopted(meeting.pid), cut, meeting.folder)
