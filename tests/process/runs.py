"""Running commands in tests, and looking for what they left."""

from typing import Any

from watchbell import ids
from watchbell.process.command import Command, Ending
from watchbell.process.orphans import marked
from watchbell.process.output import Line, Volume
from watchbell.process.procfs import own_mark
from watchbell.process.run import Ended, Run
from watchbell.process.runner import Runner

AS_USUAL = Ending(grace=5, linger=5)
AS_MUCH_AS_USUAL = Volume()


async def started(
    runner: Runner,
    *argv: str,
    ending: Ending = AS_USUAL,
    volume: Volume = AS_MUCH_AS_USUAL,
    **wishes: Any,
) -> Run:
    return await runner.start(ids.token(), Command(argv=argv, **wishes), ending, volume)


async def finished(runner: Runner, *argv: str, **wishes: Any) -> tuple[list[Line], Ended]:
    run = await started(runner, *argv, **wishes)
    return await taken(run), await run.ended()


async def taken(run: Run) -> list[Line]:
    return [line async for batch in run.batches() for line in batch.lines()]


def joined(lines: list[Line]) -> bytes:
    return b"".join(line.text for line in lines if not line.is_marker)


def alive(*runs: str) -> list[int]:
    """The processes of runs, or of all runs that this process started."""
    ours = own_mark()
    return [one.pid for one in marked() if one.run in runs or (not runs and one.supervisor == ours)]
