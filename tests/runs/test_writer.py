"""Output and results on their way, into a sink that is no store."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.waiting import eventually
from watchbell.process.output import Output, Volume
from watchbell.runs import unwritten_results
from watchbell.runs.output_lines import Lines, OutputLines
from watchbell.runs.writer import RunWriter, Unwritten


class Ended(NamedTuple):
    run: str
    code: int

    @property
    def size(self) -> int:
        return 10


class Link:
    """Stands for a connection: what is sent while it is closed waits."""

    def __init__(self) -> None:
        self.is_open = asyncio.Event()
        self.batches: list[Sequence[Unwritten[Ended]]] = []

    async def send(self, batch: Sequence[Unwritten[Ended]]) -> list[str]:
        await self.is_open.wait()
        self.batches.append(batch)
        return [f"{one.final.run} exits with {one.final.code}" for one in batch if one.final]

    @property
    def items(self) -> list[Unwritten[Ended]]:
        return [one for batch in self.batches for one in batch]


@asynccontextmanager
async def writing(link: Link) -> AsyncIterator[RunWriter[Ended, str]]:
    writer = RunWriter[Ended, str](link.send)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(writer.run())
        yield writer
        task.cancel()


def lines(number: int) -> Lines:
    return Lines(number - 1, [(number, b"%d\tline\n" % number)])


async def test_a_result_is_sent_after_the_lines_before_it_and_its_outcome_returned() -> None:
    link = Link()
    link.is_open.set()
    async with writing(link) as writer:
        writer.print("r", lines(1))
        writer.print("r", lines(2))
        assert await writer.finish(Ended("r", 3)) == "r exits with 3"
    assert link.items == [
        Unwritten("r", lines(1)),
        Unwritten("r", lines(2)),
        Unwritten("r", final=Ended("r", 3)),
    ]
    assert writer.unwritten == 0


async def test_what_waits_for_a_closed_link_is_counted_and_kept_in_order() -> None:
    link = Link()
    async with writing(link) as writer:
        writer.print("r", lines(1))
        async with asyncio.TaskGroup() as group:
            done = group.create_task(writer.finish(Ended("r", 0)))
            await eventually(lambda: len(writer.left()) == 2)
            assert writer.unwritten > 10
            link.is_open.set()
        assert done.result() == "r exits with 0"
    assert [one.final for one in link.items] == [None, Ended("r", 0)]


async def test_many_lines_come_in_batches_of_bounded_size() -> None:
    link, text = Link(), b"1\t" + b"x" * (600 << 10)
    link.is_open.set()
    async with writing(link) as writer:
        for number in range(5):
            writer.print("r", Lines(number, [(number + 1, text)]))
        await writer.finish(Ended("r", 0))
    assert [len(batch) for batch in link.batches] == [2, 2, 2]


async def test_lines_that_were_numbered_for_a_run_reach_any_sink() -> None:
    output, numbered = Output(Volume()), OutputLines(5, as_list=False)
    output.feed(b"one\ntwo\n", 1000.0)
    batch = output.take(newest=False)
    assert batch is not None
    link = Link()
    link.is_open.set()
    async with writing(link) as writer:
        writer.print("r", numbered.add(batch))
        await writer.finish(Ended("r", 0))
    assert link.items[0].lines is not None
    assert [text for _, text in link.items[0].lines.scored] == [b"1\tone\n", b"2\ttwo\n"]


def test_what_was_not_sent_is_found_by_the_next_process(folder: Path) -> None:
    items = [Unwritten[Ended]("r", lines(1)), Unwritten("r", final=Ended("r", 1))]
    file = unwritten_results.save(folder / "spool", "agent-1", items)
    (folder / "spool" / "damaged.results").write_bytes(b"\xc1")
    assert unwritten_results.load(folder / "spool", Ended) == [(file, items)]
    assert (folder / "spool" / "damaged.unreadable").exists()
