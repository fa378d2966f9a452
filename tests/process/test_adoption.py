"""Runs that outlive their supervisor for a while, and find another one."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.process.runs import alive, joined, taken
from tests.process.test_supervisor_killed import DAEMON, GROUP, STUBBORN, supervising, wardens
from tests.waiting import eventually, wait_until
from watchbell import ids
from watchbell.process import orphans
from watchbell.process.command import Command
from watchbell.process.run import Cause
from watchbell.process.runner import Adopted, Runner


@pytest.fixture
async def heir(folder: Path) -> AsyncIterator[Runner]:
    """Who comes after, and leaves nothing."""
    async with Runner("heir", keep=folder / "wardens") as runner:
        yield runner
    assert list((folder / "wardens").iterdir()) == []


def keeping(folder: Path, keep: float = 60, *, lease: float = 0) -> tuple[str, ...]:
    return "0.2", str(lease), "", str(folder / "wardens"), str(keep)


def gated(folder: Path, then: str) -> tuple[str, Path]:
    gate = folder / "gate"
    return f"echo ready; until test -e {gate}; do sleep 0.02; done; {then}", gate


async def adopted(heir: Runner, folder: Path, run: str) -> Adopted:
    [found], others = await heir.adopt(folder / "wardens")
    assert (found.run.id, found.note, others) == (run, f"a note on {run}", set())
    return found


async def test_a_run_goes_on_under_its_next_supervisor(heir: Runner, folder: Path) -> None:
    script, gate = gated(folder, "echo after; exit 3")
    with supervising(*keeping(folder)) as supervisor:
        run = supervisor.start(script)
        supervisor.process.kill()
        supervisor.process.wait()
        found = await adopted(heir, folder, run)
        assert await orphans.end(supervisor.owner, 0, {run}) == []
        assert alive(run)
        gate.touch()
        assert joined(await taken(found.run)) == b"ready\nafter\n"
        ended = await found.run.ended()
        assert (ended.cause, ended.code) == (Cause.ITSELF, 3)
        found.run.forget()
        await eventually(lambda: not wardens(supervisor.owner), why="the old warden's end")


@pytest.mark.parametrize(("lines", "code"), [(1, 0), (5_000, 3)])
async def test_an_end_that_nobody_saw_is_told_to_the_next_supervisor(
    heir: Runner, folder: Path, lines: int, code: int
) -> None:
    script, gate = gated(folder, f"seq {lines}; exit {code}")
    with supervising(*keeping(folder)) as supervisor:
        run = supervisor.start(script)
        supervisor.process.kill()
        supervisor.process.wait()
        gate.touch()
        wait_until(lambda: not alive(run), why="the command's end")
        found = await adopted(heir, folder, run)
        written = b"ready\n" + b"".join(b"%d\n" % number for number in range(1, lines + 1))
        assert joined(await taken(found.run)) == written
        assert (await found.run.ended()).code == code
        found.run.forget()


async def test_output_that_nobody_reads_is_waited_with_and_comes_whole(
    heir: Runner, folder: Path
) -> None:
    script, gate = gated(folder, f"touch {folder}/writes; seq 300000")
    with supervising(*keeping(folder)) as supervisor:
        run = supervisor.start(script)
        supervisor.process.kill()
        supervisor.process.wait()
        gate.touch()
        wait_until((folder / "writes").exists)
        found = await adopted(heir, folder, run)
        written = b"ready\n" + b"".join(b"%d\n" % number for number in range(1, 300_001))
        assert joined(await taken(found.run)) == written
        found.run.forget()


async def test_a_run_can_be_adopted_again_and_again(heir: Runner, folder: Path) -> None:
    script, gate = gated(folder, "echo after")
    with supervising(*keeping(folder)) as supervisor:
        run = supervisor.start(script)
        supervisor.process.kill()
        supervisor.process.wait()
        with supervising(*keeping(folder)) as second:
            assert second.start("adopt") == run
            second.process.kill()
            second.process.wait()
            found = await adopted(heir, folder, run)
            gate.touch()
            assert joined(await taken(found.run)) == b"ready\nafter\n"
            found.run.forget()


@pytest.mark.parametrize("script", [GROUP, STUBBORN, DAEMON])
@pytest.mark.parametrize(("keep", "lease"), [(0.7, 0), (60, 0.7)])
def test_what_nobody_adopts_in_time_is_ended(
    folder: Path, script: str, keep: float, lease: float
) -> None:
    with supervising(*keeping(folder, keep, lease=lease)) as supervisor:
        run = supervisor.start(script)
        supervisor.process.kill()
        wait_until(lambda: not alive(run), why="the run's end")


@pytest.mark.parametrize("code", [0, 7])
async def test_who_comes_too_late_learns_why_a_run_ended(
    heir: Runner, folder: Path, code: int
) -> None:
    with supervising(*keeping(folder, 0.3)) as supervisor:
        run = supervisor.start(f"trap 'exit {code}' TERM; echo ready; while :; do sleep 0.02; done")
        supervisor.process.kill()
        supervisor.process.wait()
        wait_until(lambda: not alive(run), why="the run's end")
        found = await adopted(heir, folder, run)
        await taken(found.run)
        ended = await found.run.ended()
        assert (ended.cause, ended.code) == (Cause.UNKEPT, code)
        found.run.forget()


async def test_a_run_with_a_supervisor_is_not_adopted(heir: Runner, folder: Path) -> None:
    with supervising(*keeping(folder)) as supervisor:
        run = supervisor.start(GROUP)
        assert await heir.adopt(folder / "wardens") == ([], {run})
        assert alive(run)
        supervisor.process.kill()
        supervisor.process.wait()
        found = await adopted(heir, folder, run)
        found.run.kill()
        assert (await found.run.ended()).signal == signal.SIGKILL
        found.run.forget()


async def test_an_adopted_run_is_lost_with_its_warden(heir: Runner, folder: Path) -> None:
    with supervising(*keeping(folder)) as supervisor:
        run = supervisor.start(GROUP)
        warden = supervisor.warden()
        supervisor.process.kill()
        supervisor.process.wait()
        found = await adopted(heir, folder, run)
        os.kill(warden, signal.SIGKILL)
        assert (await found.run.ended()).cause is Cause.LOST
        await eventually(lambda: not alive(run))


async def test_what_a_killed_warden_kept_is_cleared_away(heir: Runner, folder: Path) -> None:
    with supervising(*keeping(folder)) as supervisor:
        run = supervisor.start(GROUP)
        supervisor.process.send_signal(signal.SIGSTOP)
        os.kill(supervisor.warden(), signal.SIGKILL)
        supervisor.process.kill()
        supervisor.process.wait()
        assert await heir.adopt(folder / "wardens") == ([], set())
        await orphans.end(supervisor.owner, 0)
        assert not alive(run)


async def test_a_run_whose_end_is_recorded_leaves_no_file(heir: Runner, folder: Path) -> None:
    run = await heir.start(ids.token(), Command(argv=["echo", "said"]))
    [adoption_socket] = (folder / "wardens").iterdir()
    assert joined(await taken(run)) == b"said\n"
    assert [file.read_bytes() for file in adoption_socket.glob("[0-9]*")] == [b"said\n"]
    await run.ended()
    run.forget()
    assert list(adoption_socket.glob("[0-9]*")) == []
