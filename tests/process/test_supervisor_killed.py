"""Children do not outlive the supervisor that started them, whatever kills it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.process.runs import alive
from tests.waiting import PATIENCE, eventually, wait_until
from watchbell import ids
from watchbell.process import orphans
from watchbell.process.procfs import mark_of

GROUP = "sleep 1000 & sleep 1000 & echo ready; wait"
STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
DAEMON = (
    "trap '' TERM; (setsid setsid sh -c 'echo ready; while :; do sleep 0.05; done' &); sleep 1000"
)


class Supervisor:
    def __init__(self, *options: str) -> None:
        self.owner = ids.token()
        command = [sys.executable, "-m", "tests.process.supervisor", self.owner]
        self.process = subprocess.Popen(
            [*command, *(options or ("0.2", "0"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def start(self, script: str) -> str:
        """The run, once its script is ready."""
        run = self.begin(script)
        assert self.process.stdout
        assert self.process.stdout.readline() == b"ready\n"
        return run

    def begin(self, script: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(script.encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().strip()

    def warden(self) -> int:
        pid = self.process.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())


@contextmanager
def supervising(*options: str) -> Iterator[Supervisor]:
    supervisor = Supervisor(*options)
    try:
        yield supervisor
    finally:
        supervisor.process.kill()
        supervisor.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
@pytest.mark.parametrize("script", [GROUP, STUBBORN, DAEMON])
def test_all_processes_end_with_their_supervisor(script: str, number: int) -> None:
    with supervising() as supervisor:
        runs = [supervisor.start(script) for _ in range(3)]
        warden = supervisor.warden()
        assert all(map(alive, runs))
        supervisor.process.send_signal(number)
        wait_until(lambda: not alive(*runs), why="the runs' end")
        wait_until(lambda: not mark_of(warden), why="the warden's end")


def test_a_run_is_asked_to_end_before_it_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "note"
    with supervising("30", "0") as supervisor:
        trap = f"trap 'echo in order >{note}; exit' TERM"
        # A shell's child that is not yet what it will be can lose a signal.
        becomes = "until grep -q sleep /proc/$!/comm; do :; done"
        run = supervisor.start(f"{trap}; sleep 1000 & {becomes}; echo ready; wait")
        supervisor.process.kill()
        wait_until(lambda: not alive(run))
    assert note.read_text() == "in order\n"


@pytest.mark.parametrize("point", ["process.asked", "process.started"])
def test_no_moment_of_a_start_leaves_a_process(point: str) -> None:
    with supervising("0", "0", point) as supervisor:
        run = supervisor.begin("sleep 1000")
        assert supervisor.process.wait(PATIENCE) == -signal.SIGKILL
        wait_until(lambda: not wardens(supervisor.owner), why="the warden's end")
        assert not alive(run)


def test_a_supervisor_that_is_stopped_loses_a_run_by_its_lease() -> None:
    with supervising("0", "0.5") as supervisor:
        run = supervisor.start(STUBBORN)
        supervisor.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: not alive(run))


def test_a_lease_holds_although_the_supervisor_was_killed() -> None:
    with supervising("600", "0.5") as supervisor:
        run = supervisor.start(STUBBORN)
        supervisor.process.kill()
        wait_until(lambda: not alive(run), why="the run's end, long before the grace's")


@contextmanager
def orphaned(*scripts: str) -> Iterator[tuple[str, list[str]]]:
    """The owner and runs of a supervisor that was killed together with its warden."""
    with supervising() as supervisor:
        runs = [supervisor.start(script) for script in scripts]
        supervisor.process.send_signal(signal.SIGSTOP)
        os.kill(supervisor.warden(), signal.SIGKILL)
        assert not orphans.orphans(supervisor.owner)
        supervisor.process.kill()
        supervisor.process.wait()
        try:
            yield supervisor.owner, runs
        finally:
            for pid in alive(*runs):
                os.kill(pid, signal.SIGKILL)


async def test_orphans_are_found_and_ended_whatever_they_did() -> None:
    with orphaned(GROUP, STUBBORN, DAEMON) as (owner, runs):
        found = orphans.orphans(owner)
        assert {orphan.run for orphan in found} == set(runs)
        assert {orphan.run for orphan in orphans.orphans()} >= set(runs)
        assert not orphans.orphans("somebody else")
        ended = await orphans.end(owner, grace=0.2)
        assert {orphan.run for orphan in ended} == set(runs)
        assert not alive(*runs)


async def test_the_children_of_a_living_supervisor_are_no_orphans() -> None:
    with supervising() as supervisor:
        run = supervisor.start(GROUP)
        assert not orphans.orphans(supervisor.owner)
        assert await orphans.end(supervisor.owner) == []
        assert alive(run)
        supervisor.process.kill()
        await eventually(lambda: not alive(run))


def wardens(owner: str) -> list[int]:
    """All wardens of an owner, whose name is in their command line."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(f'"owner": "{owner}"' in word for word in process.info["cmdline"] or ())
    ]
