"""Commands as they were wished for, and what they write."""

import asyncio
import os
import pwd
import signal
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.process.runs import alive, finished, joined, started, taken
from tests.waiting import eventually
from watchbell import ids
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.process.command import Command, Ending, Terms
from watchbell.process.output import Volume
from watchbell.process.run import Cause
from watchbell.process.runner import Runner

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")


async def test_every_line_of_a_long_output_comes_in_order(runner: Runner) -> None:
    begun = SYSTEM.now()
    lines, ended = await finished(runner, "seq", "1", "100000")
    assert [line.text for line in lines] == [b"%d\n" % number for number in range(1, 100_001)]
    assert [line.number for line in lines] == list(range(100_000))
    assert begun <= lines[0].at <= lines[-1].at <= SYSTEM.now()
    assert (ended.cause, ended.code, ended.signal) == (Cause.ITSELF, 0, None)


async def test_any_bytes_come_as_they_were_written(runner: Runner, folder: Path) -> None:
    script = "head -c 3000000 /dev/urandom | tee written"
    lines, _ = await finished(runner, "sh", "-c", script, folder=str(folder))
    assert joined(lines) == (folder / "written").read_bytes()


async def test_output_and_errors_come_in_one_order(runner: Runner) -> None:
    lines, _ = await finished(runner, "sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2")
    assert joined(lines) == b"1\n2\n3\n4\n"


async def test_a_progress_bar_shows_each_of_its_steps(runner: Runner) -> None:
    lines, _ = await finished(runner, "printf", r"10%%\r50%%\r100%%\ndone")
    assert [line.text for line in lines] == [b"10%\r", b"50%\r", b"100%\n", b"done"]


async def test_a_line_of_100_mb_takes_little_memory(runner: Runner) -> None:
    tracemalloc.start()
    try:
        script = "head -c 100000000 /dev/zero | tr '\\0' x"
        lines, ended = await finished(runner, "sh", "-c", script)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert ended.code == 0
    assert peak < 30 << 20
    markers = [line.text for line in lines if line.is_marker]
    assert len(markers) == 2
    assert markers[0] == b"\n"  # the marker begins a line of its own
    assert max(len(line.text) for line in lines) <= Volume().line
    assert joined(lines)[: 10 << 20] == b"x" * (10 << 20)
    assert not any(line.is_whole for line in lines if not line.is_marker)


async def test_past_the_limit_the_newest_lines_go_on_while_it_runs(runner: Runner) -> None:
    script = "seq 1 2000; read -r _ </dev/null; echo newest; exec sleep 1000"
    run = await started(runner, "sh", "-c", script, volume=Volume(complete=100, newest=100))
    batches = run.batches()
    while (last := list((await anext(batches)).lines())[-1]).text != b"newest\n":
        pass
    assert last.number > 2000
    run.kill()
    await run.ended()


async def test_a_child_whose_output_nobody_takes_waits_and_no_other_does(runner: Runner) -> None:
    volume = Volume(complete=1 << 40, waiting=100_000)
    run = await started(runner, "yes", volume=volume)
    batches = run.batches()
    await anext(batches)
    await eventually(lambda: run.output.is_full)
    lines, _ = await finished(runner, "seq", "1", "100000")
    assert len(lines) == 100_000
    size = run.output.size
    assert size < 400_000
    await anext(batches)
    await anext(batches)
    await eventually(lambda: run.output.size > size, why="it goes on once some was taken")
    run.kill()
    left = b"".join([line.text async for batch in batches for line in batch.lines()])
    assert set(left) == set(b"y\n")


async def test_a_run_that_is_only_waited_for_does_not_wait_for_a_taker(runner: Runner) -> None:
    run = await started(runner, "seq", "1", "1000000")
    assert (await run.ended()).code == 0
    lines = await taken(run)
    assert lines[0].text == b"1\n"
    assert lines[-1].text == b"1000000\n"


async def test_a_taker_that_leaves_early_does_not_hold_the_run(runner: Runner) -> None:
    run = await started(runner, "seq", "1", "1000000")
    async for _ in run.batches():
        break
    assert (await run.ended()).code == 0


async def test_lines_are_gathered_for_a_while_on_request(runner: Runner) -> None:
    run = await started(runner, "sh", "-c", "echo 1; sleep 0.05; echo 2; exec >&- 2>&-; sleep 0.1")
    batches = [[line.text for line in batch.lines()] async for batch in run.batches(every=30)]
    assert batches == [[b"1\n", b"2\n"]]
    assert (await run.ended()).code == 0


async def test_lines_are_not_gathered_while_the_command_waits(runner: Runner) -> None:
    run = await started(runner, "seq", "1", "100000", volume=Volume(waiting=1))
    async with asyncio.timeout(60):
        lines = [line async for batch in run.batches(every=30) for line in batch.lines()]
    assert len(lines) == 100_000


async def test_a_command_is_held_until_its_time_and_no_other_waits_for_it(runner: Runner) -> None:
    begins = SYSTEM.monotonic() + 0.4
    clock = Command(argv=["cat", "/proc/uptime"])
    held = asyncio.create_task(runner.start(ids.token(), clock, terms=Terms(not_before=begins)))
    await finished(runner, "true")
    assert not held.done() or SYSTEM.monotonic() > begins
    run = await held
    assert SYSTEM.monotonic() >= begins
    assert (await run.ended()).code == 0
    [line] = await taken(run)
    assert float(line.text.split()[0]) >= begins - 0.01  # it counts hundredths of a second


async def test_a_command_that_is_to_end_before_its_time_is_never_begun(
    runner: Runner, folder: Path
) -> None:
    command = Command(argv=["touch", str(folder / "begun")])
    terms = Terms(not_before=SYSTEM.monotonic() + 600)
    held = asyncio.create_task(runner.start(ids.token(), command, terms=terms))
    [run] = await eventually(lambda: runner.runs)
    run.terminate()
    with pytest.raises(Refused, match="told to end before its time came"):
        await held
    assert not (folder / "begun").exists()


async def test_a_first_lease_comes_with_the_start(runner: Runner) -> None:
    await finished(runner, "true")  # the warden is there, so the next start comes in time
    command = Command(argv=["sleep", "1000"])
    terms = Terms(lease_until=SYSTEM.monotonic() + 3)
    run = await runner.start(ids.token(), command, terms=terms)
    assert (await run.ended()).cause is Cause.LAPSED


async def test_a_lease_ends_in_time_while_another_command_is_held(runner: Runner) -> None:
    run = await started(runner, "sleep", "1000")
    command, terms = Command(argv=["true"]), Terms(not_before=SYSTEM.monotonic() + 600)
    held = asyncio.create_task(runner.start(ids.token(), command, terms=terms))
    await eventually(lambda: len(runner.runs) == 2)
    run.lease(SYSTEM.monotonic() + 0.1)
    assert (await run.ended()).cause is Cause.LAPSED
    [other] = runner.runs
    other.kill()
    with pytest.raises(Refused):
        await held


async def test_a_command_whose_lease_has_ended_before_its_time_is_never_begun(
    runner: Runner, folder: Path
) -> None:
    command = Command(argv=["touch", str(folder / "begun")])
    now = SYSTEM.monotonic()
    terms = Terms(not_before=now + 0.2, lease_until=now + 0.1)
    with pytest.raises(Refused, match="its lease ended before it could be started"):
        await runner.start(ids.token(), command, terms=terms)
    assert not (folder / "begun").exists()


async def test_there_is_nothing_to_read_unless_it_was_given(runner: Runner) -> None:
    lines, _ = await finished(runner, "cat")
    assert lines == []
    big = b"\0Alice\n" * 100_000
    lines, _ = await finished(runner, "cat", stdin=big)
    assert joined(lines) == big


async def test_the_environment_is_added_to_ours_or_is_all_there_is(runner: Runner) -> None:
    lines, _ = await finished(runner, "env", environment={"NAME": "Bob \udcff", "HOME": "/x"})
    added = joined(lines).split(b"\n")
    assert b"NAME=Bob \xff" in added
    assert b"HOME=/x" in added
    assert any(line.startswith(b"PATH=") for line in added)
    lines, _ = await finished(runner, "/usr/bin/env", environment={"A": "b"}, inherit=False)
    names = {line.text.partition(b"=")[0] for line in lines}
    assert names == {b"A", b"WB_RUN", b"WB_OWNER", b"WB_SUPERVISOR"}


async def test_a_program_is_found_on_the_path_of_its_own_environment(
    runner: Runner, folder: Path
) -> None:
    program = folder / "hello"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o700)
    lines, _ = await finished(runner, "hello", environment={"PATH": str(folder)})
    assert joined(lines) == b"hello\n"


async def test_folder_umask_nice_and_limits_are_as_wished(runner: Runner, folder: Path) -> None:
    script = "pwd; umask; nice; ulimit -n; ulimit -c; ulimit -t"
    lines, _ = await finished(
        *(runner, "bash", "-c", script),
        folder=str(folder),
        umask=0o27,
        nice=7,
        limits={"nofile": 99, "core": 0, "cpu": 5},
    )
    assert joined(lines).decode().split() == [str(folder), "0027", "7", "99", "0", "5"]


@as_root
async def test_user_and_group_are_as_wished(runner: Runner) -> None:
    script = "id -un; id -gn; echo $HOME $USER $LOGNAME"
    lines, _ = await finished(runner, "sh", "-c", script, user="nobody", group="daemon")
    home = pwd.getpwnam("nobody").pw_dir
    assert joined(lines).decode() == f"nobody\ndaemon\n{home} nobody nobody\n"
    lines, _ = await finished(runner, "sh", "-c", "id -u; id -G", user="65534", nice=-3)
    assert joined(lines).decode().split()[0] == "65534"


async def test_children_are_free_of_what_their_supervisor_has_set(runner: Runner) -> None:
    """No descriptor of ours, no blocked or ignored signal; they lead a session and a group."""
    script = "ls /proc/self/fd; exec cat /proc/self/status"
    lines, _ = await finished(runner, "sh", "-c", script)
    words = joined(lines).decode().split()
    assert words[:4] == ["0", "1", "2", "3"]  # the last is `ls` looking at its own folder
    masks = {words[words.index(name) + 1] for name in ("SigBlk:", "SigIgn:", "SigCgt:")}
    assert masks == {"0" * 16}
    run = await started(runner, "sleep", "1000")
    assert os.getsid(run.pid) == os.getpgid(run.pid) == run.pid
    run.kill()
    await run.ended()


async def test_children_heed_what_a_shell_told_their_supervisor_to_ignore() -> None:
    """As `nohup` and `&` do."""
    ignored = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    try:
        async with Runner("in the background") as runner:
            lines, _ = await finished(runner, "grep", "SigIgn", "/proc/self/status")
    finally:
        for number, heeds in before.items():
            signal.signal(number, heeds)
    assert joined(lines).split() == [b"SigIgn:", b"0" * 16]


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"argv": ["/no/such/program"]}, "/no/such/program: No such file or directory"),
        ({"argv": ["no-such-program"]}, "no-such-program: No such file or directory"),
        ({"argv": ["/tmp"]}, "Permission denied"),
        ({"argv": ["true"], "folder": "/no/such"}, "/no/such: No such file or directory"),
        ({"argv": ["true"], "user": "nosuchuser"}, "user nosuchuser: there is no such user"),
        ({"argv": ["true"], "group": "nosuchgroup"}, "group nosuchgroup: there is no such group"),
        ({"argv": ["true", "x" * 200_000]}, "its arguments and environment are too long"),
        (
            {"argv": ["true"], "environment": {f"A{n}": "x" * 100_000 for n in range(30)}},
            "its arguments and environment are too long",
        ),
    ],
)
async def test_what_can_not_be_started_is_told_in_words(
    runner: Runner, wishes: dict[str, Any], words: str
) -> None:
    with pytest.raises(Refused) as refused:
        await runner.start(ids.token(), Command(**wishes))
    assert words in str(refused.value)
    assert not runner.runs


@pytest.mark.parametrize(
    ("content", "words"),
    [("#!/no/such/interpreter\n", "interpreter"), ("\0\0", "Exec format error")],
)
async def test_a_file_that_is_no_program_is_told_in_words(
    runner: Runner, folder: Path, content: str, words: str
) -> None:
    program = folder / "program"
    program.write_text(content)
    program.chmod(0o700)
    with pytest.raises(Refused, match=words):
        await finished(runner, str(program))


async def test_a_change_that_is_not_allowed_is_named(runner: Runner) -> None:
    with pytest.raises(Refused, match="limit nofile: Operation not permitted"):
        await finished(runner, "true", limits={"nofile": 1 << 50})


WITHOUT_RIGHTS = """
import asyncio
from tests.process.runs import finished
from watchbell.errors import Refused
from watchbell.process.runner import Runner

async def main():
    async with Runner("inner") as runner:
        for wish in ({"user": "nobody"}, {"nice": -5}):
            try:
                await finished(runner, "true", **wish)
            except Refused as refused:
                print(refused)

asyncio.run(main())
"""


async def test_what_only_root_may_do_is_refused_to_others(runner: Runner) -> None:
    taken_away = ["setpriv", "--bounding-set=-setuid,-setgid,-sys_nice"]
    prefix = taken_away if os.geteuid() == 0 else []
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [*prefix, sys.executable, "-c", WITHOUT_RIGHTS]
    lines, _ = await finished(runner, *command, environment=environment)
    assert [line.text for line in lines] == [
        b"'true' can't be started: groups of user nobody: Operation not permitted\n",
        b"'true' can't be started: nice -5: Permission denied\n",
    ]


async def test_time_and_memory_that_were_used_are_told(runner: Runner) -> None:
    script = "x = b'x' * 60_000_000\nfor _ in range(1_000_000): pass"
    _, ended = await finished(runner, "sh", "-c", f'{sys.executable} -c "{script}"; true')
    assert ended.user + ended.system > 0
    assert ended.user + ended.system < ended.seconds * os.cpu_count()  # type: ignore[operator]
    assert 60_000_000 < ended.peak < 200_000_000


async def test_memory_of_the_warden_is_not_counted_for_a_small_command(runner: Runner) -> None:
    _, ended = await finished(runner, "sh", "-c", "echo hi")
    assert ended.peak < 4_000_000  # what a shell uses, or 0 where it ended before it was seen


async def test_memory_of_a_small_command_is_seen_while_it_runs(
    runner: Runner, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    run = await started(runner, "sh", "-c", f"echo ready; read line <{gate}")
    batches = run.batches()
    await anext(batches)
    run.lease(SYSTEM.monotonic() + 600)
    await finished(runner, "true")  # the warden has come to the lease before
    gate.write_text("go\n")
    async for _ in batches:
        pass
    ended = await run.ended()
    assert 0 < ended.peak < 8_000_000


async def test_a_thousand_run_at_once_and_the_loop_goes_on(runner: Runner) -> None:
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            begun = time.thread_time()  # what we take ourselves; a busy machine takes more
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - begun)

    async def one(number: int) -> None:
        lines, ended = await finished(
            *(runner, "sh", "-c", f"echo {number}; read -r line; exit $line"), stdin=b"7"
        )
        assert (joined(lines), ended.code) == (b"%d\n" % number, 7)

    async with asyncio.TaskGroup() as group:
        watcher = group.create_task(watch())
        async with asyncio.TaskGroup() as runs:
            for number in range(1000):
                runs.create_task(one(number))
        watcher.cancel()
    assert longest < 1


async def test_a_thousand_that_stay_are_all_there_and_all_end(runner: Runner) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(1000):
            group.create_task(started(runner, "sleep", "1000"))
    assert len(runner.runs) == 1000
    assert len(alive()) == 1000
    runs = runner.runs
    for run in runs:
        run.terminate()
    assert {(await run.ended()).signal for run in runs} == {15}
    assert not runner.runs


async def test_a_start_that_is_given_up_leaves_nothing(runner: Runner) -> None:
    for _ in range(5):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await started(runner, "sleep", "1000")
    await eventually(lambda: not runner.runs)
    assert not alive()


async def test_leaving_the_runner_ends_all_runs() -> None:
    async with Runner("leaving") as runner:
        runs = [await started(runner, "sleep", "1000") for _ in range(5)]
        stubborn = await started(
            *(runner, "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"),
            ending=Ending(grace=0.2),
        )
        await anext(stubborn.batches())
    assert not alive()
    assert {(await run.ended()).cause for run in runs} == {Cause.TERMINATED}
    assert (await stubborn.ended()).signal == 9


async def test_nothing_is_started_any_more_while_all_runs_are_being_ended() -> None:
    async with asyncio.TaskGroup() as group:
        async with Runner("closing") as runner:
            script = "trap 'echo ending; sleep 0.2; exit 0' TERM; sleep 1000 & echo ready; wait"
            run = await started(runner, "sh", "-c", script)
            batches = run.batches()
            await anext(batches)

            async def start_late() -> None:
                await anext(batches)
                with pytest.raises(Refused, match="are being ended"):
                    await started(runner, "true")

            late = group.create_task(start_late())
        assert late.done()
    assert (await run.ended()).code == 0
