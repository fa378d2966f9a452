"""How runs end, and that nothing of them is left."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.process.runs import alive, finished, joined, started, taken
from tests.waiting import eventually
from watchbell import ids
from watchbell.clock import SYSTEM
from watchbell.process.command import Command, Ending
from watchbell.process.run import Cause, Ended, Run
from watchbell.process.runner import Runner

SOON = Ending(grace=0.2, linger=0.1)
STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
DAEMON = "(setsid sh -c 'echo $$ >daemon; exec sleep 1000' </dev/null >/dev/null 2>&1 &)"
WHEN_THERE = "until [ -s daemon ]; do sleep 0.01; done"


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [
        ("exit 0", 0, None),
        ("exit 3", 3, None),
        ("exit 255", 255, None),
        ("kill -9 $$", None, 9),
        ("kill -15 $$", None, 15),
        ("kill -SEGV $$", None, signal.SIGSEGV),
    ],
)
async def test_code_or_signal_are_told(
    runner: Runner, script: str, code: int | None, number: int | None
) -> None:
    _, ended = await finished(runner, "sh", "-c", script)
    assert (ended.cause, ended.code, ended.signal) == (Cause.ITSELF, code, number)
    assert ended.returncode == (code if number is None else -number)
    assert not ended.left_behind


async def test_a_run_is_over_when_its_process_is_though_a_grandchild_holds_the_pipe(
    runner: Runner,
) -> None:
    lines, ended = await finished(runner, "sh", "-c", "sleep 1000 & echo said; exit 3", ending=SOON)
    assert (joined(lines), ended.code) == (b"said\n", 3)
    assert (ended.cause, ended.left_behind) == (Cause.ITSELF, True)


async def test_what_is_written_after_the_parents_death_is_kept(runner: Runner) -> None:
    script = "(sleep 0.1; echo late) & echo early"
    lines, ended = await finished(runner, "sh", "-c", script, ending=Ending(linger=60))
    assert (joined(lines), ended.left_behind) == (b"early\nlate\n", True)
    assert ended.seconds < 30


async def limited(runner: Runner, script: str, **ending: Any) -> tuple[bytes, Ended]:
    """What became of a script under a time limit that left it the time to say that it is ready."""
    for time_limit in (0.3, 3, 30):
        limits = Ending(time_limit=time_limit, **ending)
        lines, ended = await finished(runner, "sh", "-c", script, ending=limits)
        if joined(lines).startswith(b"ready\n"):
            return joined(lines), ended
    pytest.fail("it was not ready within 30 s")


async def test_without_a_bound_what_is_left_goes_on_until_the_time_limit(runner: Runner) -> None:
    script = "(while kill -0 $$; do sleep 0.01; done 2>&-; echo ready; exec sleep 1000) &"
    _, ended = await limited(runner, script, linger=None)
    assert (ended.cause, ended.code) == (Cause.TIME_LIMIT, 0)


async def test_a_child_that_closed_its_output_is_waited_for(runner: Runner) -> None:
    run = await started(runner, "sh", "-c", "echo bye; exec >&- 2>&-; kill -STOP $$; exit 4")
    assert joined(await taken(run)) == b"bye\n"
    await eventually(lambda: psutil.Process(run.pid).status() == psutil.STATUS_STOPPED)
    os.kill(run.pid, signal.SIGCONT)
    assert (await run.ended()).code == 4


async def test_a_time_limit_ends_the_run_in_good_order(runner: Runner) -> None:
    script = "trap 'echo cleaned up; exit 0' TERM; echo ready; while :; do sleep 0.02; done"
    said, ended = await limited(runner, script)
    assert said.endswith(b"cleaned up\n")
    assert (ended.code, ended.cause) == (0, Cause.TIME_LIMIT)


async def test_one_that_ignores_the_request_is_killed_after_the_grace(runner: Runner) -> None:
    run = await started(runner, "sh", "-c", STUBBORN, ending=SOON)
    await anext(run.batches())
    run.terminate()
    ended = await run.ended()
    assert (ended.signal, ended.cause) == (9, Cause.TERMINATED)


@pytest.mark.parametrize("end", [lambda run: run.terminate(), lambda run: run.kill()])
@pytest.mark.parametrize(
    "script",
    [
        "sleep 1000 & sleep 1000 & echo ready; wait",
        "bash -c 'set -m; sleep 1000 & sleep 1000 & echo ready; wait'",  # in groups of their own
        f"{DAEMON}; {WHEN_THERE}; echo ready; sleep 1000",
        "(setsid setsid sh -c 'echo ready; while :; do sleep 0.05; done' &); sleep 1000",
        "echo ready; kill -STOP $$",
    ],
)
async def test_an_end_reaches_all_processes(
    runner: Runner, folder: Path, script: str, end: Callable[[Run], None]
) -> None:
    run = await started(runner, "sh", "-c", script, folder=str(folder))
    batches = run.batches()
    await anext(batches)
    end(run)
    ended = await run.ended()
    assert ended.cause in {Cause.TERMINATED, Cause.KILLED}
    assert not alive(run.id)


async def test_a_daemon_ends_with_its_run(runner: Runner, folder: Path) -> None:
    script = f"{DAEMON}; {WHEN_THERE}; exit 5"
    run = await started(runner, "sh", "-c", script, folder=str(folder), ending=SOON)
    ended = await run.ended()
    assert (ended.code, ended.left_behind) == (5, True)
    assert not alive(run.id)


async def test_daemons_that_begin_just_when_their_run_ends_are_ended(runner: Runner) -> None:
    """For a moment the marks of a process that becomes another program can't be read."""
    daemons = "for i in 1 2 3; do setsid sleep 1000 </dev/null >/dev/null 2>&1 & done"
    ending = Ending(grace=1, linger=0)

    async def ended() -> str:
        run = await started(runner, "sh", "-c", daemons, ending=ending)
        await taken(run)
        await run.ended()
        return run.id

    runs = list[str]()
    for _ in range(20):
        runs += await asyncio.gather(*(ended() for _ in range(10)))
    await eventually(lambda: not alive(*runs), why="the end of all daemons")


async def test_a_daemon_may_stay_where_that_is_wished(folder: Path) -> None:
    async with Runner("daemons") as runner:
        ending = Ending(escaped="leave", linger=60)
        command = Command(argv=["sh", "-c", f"{DAEMON}; {WHEN_THERE}"], folder=str(folder))
        run = await runner.start(ids.token(), command, ending)
        assert (await run.ended()).code == 0
    daemon = int((folder / "daemon").read_text())
    assert alive(run.id) == [daemon]
    os.kill(daemon, signal.SIGKILL)
    await eventually(lambda: not alive(run.id))


async def test_a_daemon_that_wiped_its_marks_ends_with_the_runner(folder: Path) -> None:
    async with Runner("wiped", grace=0.1) as runner:
        daemon = "sh -c 'echo $$ >daemon; exec sleep 1000'"
        script = f"(env -i setsid {daemon} </dev/null >/dev/null 2>&1 &); {WHEN_THERE}"
        _, ended = await finished(runner, "sh", "-c", script, folder=str(folder), ending=SOON)
        assert ended.code == 0
        left = Path("/proc") / (folder / "daemon").read_text().strip()
        assert left.exists()
    assert not left.exists()


async def test_a_run_whose_lease_is_not_renewed_is_killed(runner: Runner, folder: Path) -> None:
    script = f"trap '' TERM; {DAEMON}; sleep 1000"
    run = await started(runner, "sh", "-c", script, folder=str(folder))
    for _ in range(5):
        run.lease(SYSTEM.monotonic() + 60)
    run.lease(SYSTEM.monotonic() + 0.1)
    ended = await run.ended()
    assert (ended.cause, ended.signal) == (Cause.LAPSED, 9)
    assert not alive(run.id)


async def test_a_run_that_kills_the_warden_is_lost_and_the_next_one_is_not(runner: Runner) -> None:
    others = [await started(runner, "sleep", "1000") for _ in range(3)]
    stubborn = await started(runner, "sh", "-c", "echo ready; exec setsid --wait sleep 1000")
    await anext(stubborn.batches())
    lines, ended = await finished(runner, "sh", "-c", "echo so; kill -9 $PPID; sleep 1000")
    assert (joined(lines), ended.cause, ended.returncode) == (b"so\n", Cause.LOST, None)
    assert {(await run.ended()).cause for run in [*others, stubborn]} == {Cause.LOST}
    await eventually(lambda: not alive())
    lines, ended = await finished(runner, "echo", "again")
    assert (joined(lines), ended.code) == (b"again\n", 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
async def test_a_fork_bomb_is_bounded_and_ended(runner: Runner) -> None:
    """As nobody, since no limit on processes holds for root."""
    wishes = {"user": "nobody", "limits": {"nproc": 60}}
    lines, _ = await finished(runner, "bash", "-c", "ulimit -u", **wishes)
    assert joined(lines) == b"60\n"
    ending = Ending(time_limit=0.5, grace=0.2)
    bomb = "b() { b | b & }; b; sleep 1000"
    _, ended = await finished(runner, "bash", "-c", bomb, ending=ending, **wishes)
    assert ended.cause in {Cause.TIME_LIMIT, Cause.ITSELF}
    lines, _ = await finished(runner, "echo", "alive")
    assert joined(lines) == b"alive\n"
