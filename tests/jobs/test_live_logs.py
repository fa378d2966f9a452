"""Reading the output of a job while it is in the stream."""

import asyncio
from pathlib import Path

import pytest

from tests.jobs.logs import NOW, Printer, begun, files_in, job
from tests.waiting import eventually
from watchbell.errors import NotFound
from watchbell.jobs import log_lines
from watchbell.jobs.job_log import JobLog
from watchbell.jobs.keys import Jobs
from watchbell.runs.output_store import OutputLine
from watchbell.store.client import Store

KEYS = Jobs()


@pytest.fixture
async def log(store: Store, tmp_path: Path) -> JobLog:
    await begun(store, job())
    return JobLog(store, files_in(tmp_path), "j1")


@pytest.fixture
def printer(store: Store) -> Printer:
    return Printer(store)


async def over(store: Store) -> None:
    await store.call("HSET", KEYS.job("j1"), "state", '"finishing"')


def texts(lines: list[OutputLine]) -> list[bytes]:
    return [line.text for line in lines]


async def test_lines_are_numbered_over_chunks(log: JobLog, printer: Printer) -> None:
    await printer.print(b"one\ntwo\n", NOW + 1)
    await printer.print(b"three\n", NOW + 2)
    found = await log.window(0)
    assert found.lines == [
        OutputLine(1, NOW + 1, b"one\n"),
        OutputLine(2, NOW + 1, b"two\n"),
        OutputLine(3, NOW + 2, b"three\n"),
    ]
    assert (found.total, found.complete, found.asked, found.first) == (3, 3, 0, 0)


@pytest.mark.parametrize("step", [1, 3, 7, 100])
async def test_every_window_shows_the_lines_of_its_places(
    log: JobLog, printer: Printer, step: int
) -> None:
    expected = [b"line %d\n" % n for n in range(100)]
    for first in range(0, 100, step):
        await printer.print(b"".join(expected[first : first + step]))
    for first in range(0, 101, 5):
        for most in (0, 1, 6, 200):
            found = await log.window(first, most)
            assert texts(found.lines) == expected[first : first + most]
            assert (found.first, found.total) == (first, 100)
            found = await log.end(most, first)
            assert texts(found.lines) == expected[max(first - most, 0) : first]
            assert found.first == max(first - most, 0)
            found = await log.newest(OutputLine(first, NOW, b""), most)
            assert texts(found.lines) == expected[max(first, 100 - most) :]
            assert (found.asked, found.first) == (first, max(first, 100 - most))
    assert texts((await log.window(10, 90, 20)).lines) == expected[10:20]
    assert texts((await log.window(200)).lines) == []


async def test_a_line_in_many_chunks_is_one_line(log: JobLog, printer: Printer) -> None:
    await printer.print(b"before\nbe")
    for piece in (b"gin", b"ning", b" and "):
        await printer.print(piece)
    await printer.print(b"end\nafter\n")
    expected = [b"before\n", b"beginning and end\n", b"after\n"]
    assert texts((await log.window(0)).lines) == expected
    for place in range(3):
        assert texts((await log.window(place, 1)).lines) == expected[place : place + 1]
        assert texts((await log.end(1, place + 1)).lines) == expected[place : place + 1]


async def test_a_line_that_has_not_ended_is_shown_when_the_job_is_over(
    store: Store, log: JobLog, printer: Printer
) -> None:
    await printer.print(b"whole\nhal")
    assert texts((await log.window(0)).lines) == [b"whole\n"]
    assert (await log.end()).total == 1
    await printer.print(b"f")
    await over(store)
    assert texts((await log.window(0)).lines) == [b"whole\n", b"half"]
    assert texts((await log.end()).lines) == [b"whole\n", b"half"]


async def test_bytes_that_are_no_text_are_kept(log: JobLog, printer: Printer) -> None:
    raw = bytes(range(256)) * 3 + b"\n\r\n\x00\n\xff\xfe\n"
    await printer.print(raw[:300])
    await printer.print(raw[300:])
    assert b"".join(texts((await log.window(0)).lines)) == raw
    assert b"".join([piece async for piece in log.download()]) == raw


async def test_long_lines_are_shown_in_part_and_downloaded_whole(
    log: JobLog, printer: Printer
) -> None:
    await printer.print(b"short\n")
    for letter in b"abcd":
        for _ in range(16):
            await printer.print(bytes([letter]) * (1 << 16))
        await printer.print(b"\n")
    found = await log.window(0)
    assert found.total == 5
    shown, place = list[OutputLine](), 0
    while place < found.total:
        some = (await log.window(place)).lines
        assert some
        shown += some
        place += len(some)
    assert [line.number for line in shown] == [1, 2, 3, 4, 5]
    for line, letter in zip(shown[1:], b"abcd", strict=True):
        assert line.text.startswith(bytes([letter]) * log_lines.LONGEST)
        assert b"download the log" in line.text
        assert len(line.text) < log_lines.LONGEST + 100
    for stop in range(5, 0, -1):
        last = (await log.end(1, stop)).lines
        assert [line.number for line in last] == [stop]
    assert b"".join([piece async for piece in log.download()]) == printer.printed


async def test_what_was_left_out_is_a_gap_between_numbers(log: JobLog, printer: Printer) -> None:
    await printer.print(b"one\ntwo\n")
    printer.leave_out(1_000, 50)
    await printer.print(b"late\n")
    found = await log.window(0)
    assert [line.number for line in found.lines] == [1, 2, 53]


async def test_a_text_is_found_forward_and_backward(log: JobLog, printer: Printer) -> None:
    for n in range(300):
        await printer.print(b"\x1b[31mERR\x1b[0mor\n" if n % 100 == 7 else b"fine\n")
    assert (await log.search("error", 0)).places == [7, 107, 207]
    assert (await log.search("error", 207, backward=True)).places == [107, 7]


async def test_a_follower_gets_every_line_once(store: Store, log: JobLog, printer: Printer) -> None:
    seen: list[bytes] = []

    async def follow() -> None:
        async for some in log.follow():
            seen.extend(texts(some))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(follow())
        for n in range(20):
            await printer.print(b"%d\n%d-" % (n, n))
            if n % 5 == 0:
                await eventually(lambda n=n: len(seen) > n)  # type: ignore[misc]
        await over(store)
        await task
    assert b"".join(seen) == printer.printed


async def test_a_job_that_prints_nothing_has_an_empty_log(log: JobLog) -> None:
    found = await log.window(0)
    assert (found.total, found.lines) == (0, [])
    assert (await log.end()).lines == []
    assert [piece async for piece in log.download()] == []
    assert await log.tail(5) == ""


async def test_a_job_that_does_not_exist_has_no_log(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no job 'j9'"):
        await JobLog(store, files_in(tmp_path), "j9").window(0)


async def test_entries_of_other_programs_are_skipped(
    store: Store, log: JobLog, printer: Printer
) -> None:
    await printer.print(b"one\n")
    await store.call("XADD", KEYS.log("j1"), "3-0", "something", "else")
    await printer.print(b"two\n")
    assert texts((await log.window(0)).lines) == [b"one\n", b"two\n"]


async def test_a_log_of_a_wrong_type_counts_as_empty(store: Store, log: JobLog) -> None:
    await store.call("SET", KEYS.log("j1"), "nonsense")
    assert (await log.window(0)).lines == []
    await store.call("DEL", KEYS.log("j1"))
