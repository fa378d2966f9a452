"""Long logs in files, while their jobs are in progress and afterwards."""

import asyncio
import gzip
import subprocess
from collections.abc import Awaitable
from pathlib import Path

import pytest

from tests.jobs.logs import NOW, Printer, begun, files_in, job
from tests.waiting import eventually
from watchbell.files.objects import Files
from watchbell.fleet.messages import Output, Report
from watchbell.jobs import job_packing, log_archive, log_backlog, log_members
from watchbell.jobs.job_log import JobLog
from watchbell.jobs.keys import Jobs
from watchbell.jobs.log_archive import LogArchive
from watchbell.jobs.log_archiver import LogArchiver, LogShortener
from watchbell.jobs.log_lines import Chunk
from watchbell.jobs.log_members import Part, Position
from watchbell.jobs.log_stream import LogStream
from watchbell.store.client import Store

KEYS = Jobs()
LINE = b"x" * 80


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return files_in(tmp_path / "files")


@pytest.fixture
async def archive(store: Store, files: Files, monkeypatch: pytest.MonkeyPatch) -> LogArchive:
    """One that finds a log of some kilobytes long."""
    monkeypatch.setattr(log_archive, "LONG", 8 << 10)
    monkeypatch.setattr(log_archive, "_PART", 4 << 10)
    monkeypatch.setattr(log_members, "MEMBER", 1 << 10)
    await begun(store, job())
    return LogArchive(store, files)


short = pytest.mark.usefixtures("archive")


def numbered(first: int, count: int) -> bytes:
    return b"".join(b"%06d %s\n" % (n, LINE) for n in range(first, first + count))


def zcat(path: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["zcat", path], capture_output=True, check=True)


async def print_some(printer: Printer, count: int, step: int = 3) -> None:
    for first in range(printer.line, printer.line + count, step):
        await printer.print(numbered(first, step), NOW + first)


async def end(store: Store, printer: Printer) -> None:
    """Records the job as the finisher does."""
    over = job(state="complete", log_file_size=printer.offset)
    await store.call("HSET", KEYS.finished(), "j1", job_packing.pack(over))
    await store.call("DEL", KEYS.job("j1"), KEYS.live())
    await store.call("RPUSH", KEYS.archiving(), "j1")


async def archived(store: Store, files: Files) -> None:
    archiver = LogArchiver(store, files)
    while batch := await archiver.taker.take():
        await archiver.process(batch)


async def check(log: JobLog, expected: list[bytes]) -> None:
    """Every way of reading gives the same lines."""
    total = len(expected)
    assert (await log.window(0, 1)).total == total
    for first in {0, 1, total // 3, total // 2, total - 2, total}:
        for most in (1, 7, 40):
            found = await log.window(first, most)
            assert [line.text for line in found.lines] == expected[first : first + most]
            assert found.first == first
            found = await log.end(most, first)
            assert [line.text for line in found.lines] == expected[max(first - most, 0) : first]
            assert found.first == max(first - most, 0)
    found = await log.end(5)
    assert [line.text for line in found.lines] == expected[-5:]
    everything = [piece async for piece in log.download()]
    assert b"".join(everything) == b"".join(expected)


async def test_a_long_log_is_read_as_one_while_half_of_it_is_in_files(
    store: Store, files: Files, archive: LogArchive
) -> None:
    printer = Printer(store)
    await print_some(printer, 300)
    assert await archive.long_logs() == ["j1"]
    await archive.shorten("j1")
    assert await archive.long_logs() == []
    assert await store.call("LLEN", KEYS.log_parts("j1")) > 1
    assert 0 < await store.call("XLEN", KEYS.log("j1")) < 40
    log = JobLog(store, files, "j1")
    await check(log, printer.printed.splitlines(keepends=True))
    numbers = [line.number for line in (await log.window(100, 100)).lines]
    assert numbers == list(range(101, 101 + len(numbers)))
    assert (await log.window(99, 1)).lines[0].at == NOW + 99


async def test_a_finished_log_is_one_file_that_zcat_reads(
    store: Store, files: Files, archive: LogArchive, tmp_path: Path
) -> None:
    printer = Printer(store)
    for _ in range(3):
        await print_some(printer, 150)
        await archive.shorten("j1")
    await end(store, printer)
    log = JobLog(store, files, "j1")
    await check(log, printer.printed.splitlines(keepends=True))
    await archived(store, files)
    left = [KEYS.log("j1"), KEYS.log_parts("j1"), KEYS.archiving()]
    assert await store.call("EXISTS", *left) == 0
    names = sorted([one.name async for one in files.list("jobs/j1")])
    assert names == ["jobs/j1/log.gz", "jobs/j1/log.idx"]
    path = tmp_path / "files/jobs/j1/log.gz"
    shown = await asyncio.to_thread(zcat, path)
    assert (shown.stdout, shown.stderr) == (printer.printed, b"")
    for one in (log, JobLog(store, files, "j1")):
        await check(one, printer.printed.splitlines(keepends=True))
    hits = await log.search("000123", 0)
    assert hits.places == [123]
    assert (await log.search("000123", 400, backward=True)).places == [123]
    assert (await log.window(99, 1)).lines[0].at == NOW + 99


@pytest.mark.parametrize("size", [13, 150, 1_000, 5_000])
async def test_lines_that_are_cut_anywhere_are_put_together(
    store: Store, files: Files, archive: LogArchive, size: int
) -> None:
    raw = b"".join(b"%d:%s\n" % (n, b"y" * (n * 13 % 400)) for n in range(150)) + b"no newline"
    printer = Printer(store)
    for first in range(0, len(raw), size):
        await printer.print(raw[first : first + size])
    await archive.shorten("j1")
    await end(store, printer)
    await archived(store, files)
    await check(JobLog(store, files, "j1"), raw.splitlines(keepends=True))


async def test_binary_output_survives(store: Store, files: Files, archive: LogArchive) -> None:
    raw = bytes(range(256)) * 200
    printer = Printer(store)
    for first in range(0, len(raw), 700):
        await printer.print(raw[first : first + 700])
    await archive.shorten("j1")
    log = JobLog(store, files, "j1")
    assert b"".join([piece async for piece in log.download()]) == raw
    await end(store, printer)
    await archived(store, files)
    log = JobLog(store, files, "j1")
    assert b"".join([piece async for piece in log.download()]) == raw
    assert gzip.decompress(await files.get("jobs/j1/log.gz")) == raw


async def test_lines_of_a_megabyte_are_shown_in_part_and_downloaded_whole(
    store: Store, files: Files
) -> None:
    await begun(store, job())
    printer, archive = Printer(store), LogArchive(store, files)
    for letter in b"abcdefgh":
        for _ in range(16):
            await printer.print(bytes([letter]) * (1 << 16))
        await printer.print(b"\nshort\n")
    await archive.shorten("j1")
    assert await store.call("LLEN", KEYS.log_parts("j1")) > 0
    for state in ("live", "archived"):
        if state == "archived":
            await end(store, printer)
            await archived(store, files)
        log = JobLog(store, files, "j1")
        seen: list[int] = []
        while len(seen) < 16:
            some = await log.window(len(seen))
            assert (some.total, some.first) == (16, len(seen))
            assert some.lines
            seen += [line.number for line in some.lines]
        assert seen == list(range(1, 17))
        assert (await log.window(9, 1)).lines[0].text == b"short\n"
        assert (await log.window(8, 1)).lines[0].text.startswith(b"eeee")
        assert [line.number for line in (await log.end(2, 10)).lines][-1] == 10
        assert b"".join([piece async for piece in log.download()]) == printer.printed


async def test_lines_that_were_left_out_are_no_places(
    store: Store, files: Files, archive: LogArchive
) -> None:
    printer = Printer(store)
    await print_some(printer, 120)
    await printer.print(b"cut")
    printer.leave_out(10_000, 500)
    await print_some(printer, 120)
    await archive.shorten("j1")
    await end(store, printer)
    await archived(store, files)
    log = JobLog(store, files, "j1")
    found = await log.window(118, 5)
    assert found.total == 241
    assert [line.number for line in found.lines] == [119, 120, 121, 621, 622]
    assert found.lines[2].text == b"cut"
    following = await log.following(found.lines[3])
    assert following.lines[0].number == 622
    assert [line.number for line in (await log.end(2)).lines] == [739, 740]


async def test_a_reader_sees_every_line_once_while_the_log_is_moved(
    store: Store, files: Files, archive: LogArchive
) -> None:
    printer, seen, texts = Printer(store), list[int](), list[bytes]()

    async def follow() -> None:
        async for some in JobLog(store, files, "j1").follow():
            seen.extend(line.number for line in some)
            texts.extend(line.text for line in some)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(follow())
        for _ in range(30):
            await print_some(printer, 30)
            await archive.shorten("j1")
        await store.call("HSET", KEYS.job("j1"), "state", '"finishing"')
        await end(store, printer)
        await archived(store, files)
        await task
    assert seen == list(range(1, 901))
    assert b"".join(texts) == printer.printed


@short
@pytest.mark.parametrize("is_archived", [False, True])
@pytest.mark.parametrize("read", ["window", "end", "download"])
async def test_what_is_moved_between_two_reads_is_neither_missed_nor_repeated(
    store: Store, files: Files, monkeypatch: pytest.MonkeyPatch, is_archived: bool, read: str
) -> None:
    printer, parts, moved = Printer(store), LogStream.parts, list[bool]()
    await print_some(printer, 150)
    await LogArchive(store, files).shorten("j1")
    before = printer.printed.splitlines(keepends=True)

    async def parts_later(stream: LogStream) -> list[Part]:
        """Reads the parts once more was moved than when the stream was read."""
        if not moved:
            moved.append(True)
            await print_some(printer, 90)
            await LogArchive(store, files).shorten("j1")
            if is_archived:
                await end(store, printer)
                await archived(store, files)
        return await parts(stream)

    monkeypatch.setattr(LogStream, "parts", parts_later)
    log = JobLog(store, files, "j1")
    if read == "window":
        found = [line.text for line in (await log.window(10, 1_000)).lines]
        assert found[:140] == before[10:]
    elif read == "end":
        numbers = [line.number for line in (await log.end(140)).lines]
        assert numbers == list(range(numbers[0], numbers[0] + 140))
        assert numbers[-1] in (150, 240)
    else:
        assert b"".join([piece async for piece in log.download()]) == printer.printed
    assert moved


@short
async def test_two_that_move_the_same_log_lose_nothing(store: Store, files: Files) -> None:
    printer = Printer(store)
    for _ in range(10):
        await print_some(printer, 240)
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(LogArchive(store, files).shorten("j1"))
    await check(JobLog(store, files, "j1"), printer.printed.splitlines(keepends=True))
    await end(store, printer)
    await store.call("RPUSH", KEYS.archiving(), "j1", "j1")
    await archived(store, files)
    await check(JobLog(store, files, "j1"), printer.printed.splitlines(keepends=True))


async def test_entries_of_other_programs_are_dropped_with_the_rest(
    store: Store, files: Files, archive: LogArchive
) -> None:
    printer = Printer(store)
    await store.call("XADD", KEYS.log("j1"), "1-0", "something", "else")
    await print_some(printer, 300)
    await archive.shorten("j1")
    await check(JobLog(store, files, "j1"), printer.printed.splitlines(keepends=True))


@short
async def test_many_small_chunks_are_moved_as_well(
    store: Store, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_archive, "MANY", 50)
    printer = Printer(store)
    for n in range(200):
        await printer.print(b"%d\n" % n)
    await LogShortener(store, files).look()
    assert await store.call("XLEN", KEYS.log("j1")) <= 50
    await check(JobLog(store, files, "j1"), printer.printed.splitlines(keepends=True))


@short
async def test_a_log_that_can_not_be_archived_stays_and_stops_no_other(
    store: Store, files: Files, tmp_path: Path
) -> None:
    printer = Printer(store)
    await print_some(printer, 30)
    await end(store, printer)
    await store.call("RPUSH", KEYS.archiving(), "j2")
    await Printer(store, "j2").print(b"other\n")
    (tmp_path / "files/jobs").mkdir()
    (tmp_path / "files/jobs/j1").write_text("in the way")
    archiver = LogArchiver(store, files)
    batch = await archiver.taker.take()
    assert batch
    await archiver.process(batch)
    assert await store.call("LRANGE", KEYS.archiving(), 0, -1) == [b"j1"]
    assert await store.call("EXISTS", KEYS.log("j1"), KEYS.log("j2")) == 1
    await check(JobLog(store, files, "j1"), printer.printed.splitlines(keepends=True))
    (tmp_path / "files/jobs/j1").unlink()
    await archived(store, files)
    await check(JobLog(store, files, "j1"), printer.printed.splitlines(keepends=True))


@short
async def test_files_of_a_job_that_was_deleted_meanwhile_are_deleted(
    store: Store, files: Files
) -> None:
    printer = Printer(store)
    await print_some(printer, 300)
    await end(store, printer)
    await store.call("DEL", KEYS.finished())
    await archived(store, files)
    assert [one.name async for one in files.list("jobs/j1")] == []


def test_members_keep_the_times_of_their_chunks() -> None:
    chunks = [Chunk(NOW + n / 4, n * 5, n, b"line\n") for n in range(1_000)]
    members, data, end = log_members.written(chunks, Position())
    assert end == Position(1_000, 1_000, 5_000, False)
    [member] = members
    assert log_members.read(data, member) == chunks


def test_very_many_times_are_thinned_out() -> None:
    at, chunks = NOW, list[Chunk]()
    for n in range(50_000):
        at += (n * 7919 % 1_000_003) / 1_000
        chunks.append(Chunk(at, n * 2, n, b"\n "[:1] + b"z"))
    members, data, _ = log_members.written(chunks, Position())
    [member] = members
    found = log_members.read(data, member)
    assert 1_000 < len(found) < 5_000
    assert b"".join(one.text for one in found) == b"".join(one.text for one in chunks)
    assert gzip.decompress(data) == b"".join(one.text for one in chunks)
    assert found[-1].at == pytest.approx(at, abs=at - NOW)


@short
async def test_an_agent_waits_until_there_is_room_for_more_of_a_log(
    store: Store, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_backlog, "FULL", 16 << 10)
    monkeypatch.setattr(log_backlog, "_CHECKED_AFTER", 8 << 10)
    monkeypatch.setattr(log_backlog, "_LOOKS", 1_000_000)
    printer, backlog = Printer(store), log_backlog.LogBacklog(store)
    await print_some(printer, 300)
    few = Report("j1", 1, Output(at=NOW, offset=0, line=0, text=b"x"))
    await backlog.wait([few])
    many = Report("j1", 2, Output(at=NOW, offset=0, line=0, text=b"x" * (8 << 10)))
    looks, size = list[str](), backlog._size

    def counted(job_id: str) -> Awaitable[int]:
        looks.append(job_id)
        return size(job_id)

    monkeypatch.setattr(backlog, "_size", counted)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(backlog.wait([many]))
        await eventually(lambda: len(looks) >= 3)
        assert not waiting.done()
        await LogShortener(store, files).look()
    await backlog.wait([many])


@short
async def test_an_agent_does_not_wait_for_ever(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_backlog, "FULL", 16 << 10)
    monkeypatch.setattr(log_backlog, "_CHECKED_AFTER", 1)
    monkeypatch.setattr(log_backlog, "_PAUSE", 0.001)
    await print_some(Printer(store), 300)
    await log_backlog.LogBacklog(store).wait(
        [Report("j1", 1, Output(at=NOW, offset=0, line=0, text=b"xx"))]
    )
