"""Output that is read in chunks, from the file that the kernel moves it to."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.process.runs import alive
from tests.waiting import eventually
from watchbell import ids
from watchbell.process.command import Command, Ending
from watchbell.process.run import Cause, Run
from watchbell.process.runner import Runner


@pytest.fixture
async def keeper(folder: Path) -> AsyncIterator[Runner]:
    async with Runner("tests", keep=folder / "wardens") as runner:
        yield runner
    assert list((folder / "wardens").iterdir()) == []


async def started(runner: Runner, script: str, **ending: object) -> Run:
    command = Command(argv=["sh", "-c", script])
    chosen = Ending(grace=5, linger=5, **ending)  # type: ignore[arg-type]
    return await runner.start(ids.token(), command, chosen, None)


async def everything(run: Run) -> bytes:
    content = b""
    while chunk := await run.chunks.take(64 << 10):
        content += chunk
    return content


def used(folder: Path) -> int:
    """Bytes of disk."""
    files = [one for one in folder.glob("wardens/*/*") if one.is_file()]
    return sum(file.stat().st_blocks * 512 for file in files)


async def test_chunks_are_what_the_command_wrote(keeper: Runner) -> None:
    run = await started(keeper, "printf 'a\\0b'; seq 100000 >&2; printf end")
    content = await everything(run)
    numbers = "".join(f"{number}\n" for number in range(1, 100_001)).encode()
    assert content == b"a\0b" + numbers + b"end"
    assert (await run.ended()).code == 0
    run.forget()


async def test_a_command_waits_while_nobody_takes_its_output(keeper: Runner) -> None:
    run = await started(keeper, "head -c 5000000 /dev/zero; echo end")
    await eventually(lambda: run.chunks.size >= 1 << 20)
    assert run.chunks.size < 2 << 20
    assert (await everything(run)).endswith(b"end\n")
    await run.ended()
    run.forget()


async def test_what_was_discarded_uses_no_disk(keeper: Runner, folder: Path) -> None:
    run = await started(keeper, "head -c 20000000 /dev/urandom; read line")
    taken = 0
    while taken < 20_000_000:
        taken += len(await run.chunks.take(256 << 10))
        run.chunks.discard(taken)
        assert used(folder) < 6 << 20
    assert await everything(run) == b""
    await run.ended()
    run.forget()


async def test_a_leaver_loses_no_output(folder: Path) -> None:
    gate = folder / "gate"
    async with Runner("tests", keep=folder / "wardens") as first:
        script = f"echo one; until test -e {gate}; do sleep 0.02; done; echo two"
        run = await started(first, script)
        run.lease(None, float("1e12"))
        assert await run.chunks.take(100) == b"one\n"
        await first.leave()
    assert alive(run.id)
    async with Runner("tests", keep=folder / "wardens") as second:
        [(adopted, _)], _ = await second.adopt(folder / "wardens")
        adopted.chunks.position = 4
        gate.touch()
        assert await everything(adopted) == b"two\n"
        assert (await adopted.ended()).code == 0
        adopted.forget()


async def test_a_released_run_goes_on_without_us(keeper: Runner, folder: Path) -> None:
    file = folder / "pid"
    script = f"echo $$ > {file}; exec sleep 1000 > /dev/null"
    run = await started(keeper, script, escaped="leave")
    await eventually(lambda: file.exists() and file.read_text().strip())
    run.release()
    assert (await run.ended()).cause is Cause.RELEASED
    run.forget()
    pid = int(file.read_text())
    assert pid in alive(run.id)
    os.kill(pid, 9)
    await eventually(lambda: not alive(run.id))


async def test_the_main_process_can_end_its_own_children(keeper: Runner, folder: Path) -> None:
    script = f"""
    trap 'echo cleaning; kill $child; wait $child; echo "child: $?"; exit 7' TERM
    (trap 'exit 3' TERM; touch {folder}/ready; while :; do sleep 0.01; done) & child=$!
    while :; do sleep 0.01; done
    """
    run = await started(keeper, script, first="main")
    await eventually((folder / "ready").exists)
    run.terminate()
    assert await everything(run) == b"cleaning\nchild: 3\n"
    ended = await run.ended()
    assert (ended.cause, ended.code) == (Cause.TERMINATED, 7)
    run.forget()


async def test_what_the_main_process_leaves_is_ended_with_it(keeper: Runner) -> None:
    run = await started(keeper, "sleep 1000 & echo ready; wait", first="main")
    assert await run.chunks.take(100) == b"ready\n"
    run.terminate()
    ended = await run.ended()
    assert ended.cause is Cause.TERMINATED
    assert not alive(run.id)
    run.forget()


async def test_a_file_that_is_used_again_begins_empty(keeper: Runner) -> None:
    for text in ("a long first output", "second"):
        run = await started(keeper, f"printf '{text}'")
        assert await everything(run) == text.encode()
        await run.ended()
        run.forget()
