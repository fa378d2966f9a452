import gzip
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard

from tests.archive.exchanges import (
    AT,
    FileBody,
    chunked,
    exchange,
    http,
    noise,
    writer,
)
from tests.archive.warc_gate import ROOT, gate
from watchbell.archive.warc.part_file import WarcCut
from watchbell.archive.warc.record_journal import lines
from watchbell.archive.warc.writer import Position


def members(path: Path) -> Iterator[bytes]:
    """The records of a file, each unpacked, read by the standard library."""
    packed = path.read_bytes()
    starts = [start for start in range(len(packed)) if packed[start : start + 3] == b"\x1f\x8b\x08"]
    at = 0
    while at < len(packed):
        for end in [start for start in starts if start > at] + [len(packed)]:
            try:
                with gzip.open(io.BytesIO(packed[at:end])) as file:
                    text = file.read()
            except EOFError:
                continue
            yield text
            at = end
            break


def fields_of(record: bytes) -> dict[str, str]:
    head = record.partition(b"\r\n\r\n")[0].decode()
    version, *fields = head.split("\r\n")
    assert version == "WARC/1.1"
    return dict(field.split(": ", 1) for field in fields)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_other_programs_accept_every_kind_of_record(tmp_path: Path) -> None:
    out = writer(tmp_path)
    page = b"<p>" + b"hello " * 100
    first = out.write_exchange(exchange("", http(page)))
    out.write_exchange(exchange("chunked", http(chunked(page), "Transfer-Encoding: chunked")))
    out.write_exchange(exchange("packed", http(gzip.compress(page), "Content-Encoding: gzip")))
    out.write_exchange(exchange("br", http(brotli.compress(page), "Content-Encoding: br")))
    packed = zstandard.compress(page)
    out.write_exchange(exchange("zstd", http(packed, "Content-Encoding: zstd")))
    out.write_exchange(exchange("gone", http(b"", status="404 Not Found")))
    out.write_exchange(exchange("odd", b"HTTP/1.0 200\nA: b\n\nbody", head_size=19))
    out.write_exchange(exchange("moved", http(b"", "Location: /", status="301 Moved")))
    out.write_exchange(exchange("again", http(page)))
    out.write_exchange(exchange("cut", http(noise(900)), truncated="length"))
    out.write_metadata("https://www.example.com/", AT, {"via": "x"}, concurrent_to=first[1].id)
    out.write_resource("urn:X-watchbell:log", AT, b"fetched\n", "text/plain")
    out.write_resource("ftp://ftp.example.com/a", AT, noise(500), "application/octet-stream")
    paths = out.finish()
    assert [path.name for path in paths] == ["example.com-inf-00000.warc.gz"]
    assert await gate(paths) == 10


def test_records_have_the_fields_of_the_standard(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write_exchange(exchange("a b", http(b"hello"), truncated="time"))
    [path] = out.finish()
    info, request, response = [fields_of(record) for record in members(path)]
    assert info["WARC-Type"] == "warcinfo"
    assert info["WARC-Filename"] == path.name
    assert request["WARC-Type"] == "request"
    assert request["Content-Type"] == "application/http; msgtype=request"
    assert response["WARC-Concurrent-To"] == request["WARC-Record-ID"]
    assert response["WARC-Warcinfo-ID"] == info["WARC-Record-ID"]
    assert response["WARC-Date"] == "2026-11-16T19:50:51.000250Z"
    assert response["WARC-IP-Address"] == "192.0.2.7"
    assert response["WARC-Target-URI"] == "https://www.example.com/a%20b"
    assert response["WARC-Truncated"] == "time"
    assert response["WARC-Payload-Digest"] == "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"
    assert response["Content-Type"] == "application/http; msgtype=response"


def test_a_field_cannot_be_smuggled_in_by_a_value(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write_exchange(exchange("", http(b""), url="http://x/\r\nWARC-Type: evil"))
    out.write_resource("urn:x", AT, b"", "text/plain\r\nWARC-Type: evil")
    [path] = out.finish()
    assert [fields_of(one)["WARC-Type"] for one in members(path)] == [
        "warcinfo",
        "request",
        "response",
        "resource",
    ]


def test_a_repeated_payload_becomes_a_revisit_of_its_first_record(tmp_path: Path) -> None:
    out = writer(tmp_path)
    page = http(noise(2000))
    [_, first] = out.write_exchange(exchange("first", page, at=AT - 60))
    [_, second] = out.write_exchange(exchange("second", page))
    [_, third] = out.write_exchange(exchange("third", page, may_be_revisit=False))
    [_, small] = out.write_exchange(exchange("small", http(b"hello")))
    [_, small_again] = out.write_exchange(exchange("small again", http(b"hello")))
    kinds = [one.type for one in (first, second, third, small, small_again)]
    assert kinds == ["response", "revisit", "response", "response", "response"]
    [path] = out.finish()
    revisit = [one for one in members(path) if b"\r\nWARC-Type: revisit\r\n" in one]
    [record] = revisit
    fields = fields_of(record)
    assert fields["WARC-Refers-To"] == f"<urn:uuid:{first.id}>"
    assert fields["WARC-Refers-To-Target-URI"] == first.url
    assert fields["WARC-Refers-To-Date"] == "2026-11-16T19:49:51.000250Z"
    assert fields["WARC-Profile"].endswith("/revisit/identical-payload-digest")
    assert record.endswith(page[: page.index(b"\r\n\r\n")] + b"\r\n\r\n\r\n\r\n")


def test_a_truncated_payload_is_no_original(tmp_path: Path) -> None:
    out = writer(tmp_path)
    page = http(noise(2000))
    out.write_exchange(exchange("cut", page, truncated="length"))
    [_, whole] = out.write_exchange(exchange("whole", page))
    [_, cut] = out.write_exchange(exchange("cut again", page, truncated="length"))
    assert (whole.type, cut.type) == ("response", "response")


def test_no_payload_digest_is_claimed_after_an_interim_response(tmp_path: Path) -> None:
    out = writer(tmp_path)
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    page = http(noise(2000))
    head_size = len(interim) + page.index(b"\r\n\r\n") + 4
    [_, response] = out.write_exchange(exchange("", interim + page, head_size=head_size))
    assert response.digest == ""
    [path] = out.finish()
    assert "WARC-Payload-Digest" not in fields_of(list(members(path))[-1])


async def test_parts_keep_to_their_size_and_exchanges_are_never_divided(tmp_path: Path) -> None:
    out = writer(tmp_path, part_size=20_000)
    pages = [http(noise(3000, seed)) for seed in range(30)]
    for number, page in enumerate([*pages, http(noise(50_000)), *pages]):
        out.write_exchange(exchange(str(number), page))
    paths = out.finish()
    assert [path.name for path in paths] == [
        f"example.com-inf-{number:05}.warc.gz" for number in range(len(paths))
    ]
    large = [path for path in paths if path.stat().st_size > 20_000]
    assert len(large) == 1
    assert len(list(members(large[0]))) == 3
    for path in paths:
        kinds = [fields_of(record)["WARC-Type"] for record in members(path)]
        assert kinds[0] == "warcinfo"
        assert kinds[1::2] == ["request"] * (len(kinds) // 2)
    assert await gate(paths) == 61


def test_a_body_on_disk_is_never_whole_in_memory(tmp_path: Path) -> None:
    content = http(noise(9 << 20))
    path = tmp_path / "body"
    path.write_bytes(content)
    body = FileBody(path)
    out = writer(tmp_path)
    [_, response] = out.write_exchange(exchange("large", body))
    assert body.longest_read <= 1 << 20
    [_, same] = out.write_exchange(exchange("same", content, may_be_revisit=False))
    assert same.digest == response.digest
    [found] = out.finish()
    records = list(members(found))
    assert records[2].partition(b"\r\n\r\n")[2] == content + b"\r\n\r\n"
    assert fields_of(records[2])["WARC-Block-Digest"] == fields_of(records[4])["WARC-Block-Digest"]


def test_a_body_that_can_not_be_read_leaves_no_trace(tmp_path: Path) -> None:
    class Broken(FileBody):
        def read(self, start: int = 0, stop: int | None = None) -> bytes:
            if start:
                raise OSError("the disk is gone")
            return super().read(start, stop)

    path = tmp_path / "body"
    path.write_bytes(http(noise(3 << 20)))
    out = writer(tmp_path)
    out.write_exchange(exchange("first", http(b"hello")))
    before = out.position
    with pytest.raises(OSError, match="the disk is gone"):
        out.write_exchange(exchange("x", Broken(path), head_size=0))
    assert out.position == before
    out.write_exchange(exchange("last", http(b"hello")))
    [found] = out.finish()
    assert len(list(members(found))) == 5


def test_an_unfinished_file_is_called_open(tmp_path: Path) -> None:
    out = writer(tmp_path, part_size=0)
    out.write_exchange(exchange("", http(b"hello")))
    assert (tmp_path / "example.com-inf.warc.gz.open").exists()
    assert not out.path(0).exists()
    assert out.finish() == [tmp_path / "example.com-inf.warc.gz"]
    assert not (tmp_path / "example.com-inf.warc.gz.open").exists()


def test_a_finished_series_can_be_taken_up_again_where_it_ended(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write_exchange(exchange("", http(b"hello")))
    end = out.position
    out.finish()
    assert out.position == end
    again = writer(tmp_path)
    again.recover(end)
    again.write_exchange(exchange("more", http(b"hello")))
    [path] = again.finish()
    assert len(list(members(path))) == 5


def test_a_full_disk_loses_one_exchange_and_no_record_before_it(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], cwd=ROOT, check=True)
    out = writer(tmp_path)
    part = out.path(0).with_name(out.path(0).name + ".open")
    kinds = [fields_of(record)["WARC-Type"] for record in members(part)]
    assert kinds == ["warcinfo", *["request", "response"] * 3]


def test_a_complete_file_is_not_written_again(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write_exchange(exchange("", http(b"hello")))
    out.finish()
    with pytest.raises(FileExistsError):
        writer(tmp_path).write_exchange(exchange("", http(b"hello")))


def test_nothing_written_is_no_file(tmp_path: Path) -> None:
    out = writer(tmp_path)
    assert out.position == Position()
    assert out.finish() == []
    assert list(tmp_path.iterdir()) == []


def test_recovery_cuts_at_the_committed_record_wherever_the_file_was_cut(tmp_path: Path) -> None:
    """Every length that a killed process may have left after the last committed record."""
    out = writer(tmp_path)
    page = http(noise(400))
    out.write_exchange(exchange("kept", page))
    committed = out.position
    out.write_exchange(exchange("lost", http(noise(300, 1))))
    out.close()
    part, journal = out.path(0).with_name(out.path(0).name + ".open"), out.journal_path
    whole, journal_lines = part.read_bytes(), journal.read_bytes()
    for end in range(committed.offset, len(whole) + 1):
        part.write_bytes(whole[:end])
        journal.write_bytes(journal_lines[: len(journal_lines) - (len(whole) - end) % 90])
        again = writer(tmp_path)
        again.recover(committed)
        assert again.position == committed
        [_, revisit] = again.write_exchange(exchange("again", page))
        assert revisit.type == "revisit"
        again.close()
        assert part.read_bytes()[: committed.offset] == whole[: committed.offset]
        kinds = [fields_of(record)["WARC-Type"] for record in members(part)]
        assert kinds == ["warcinfo", "request", "response", "request", "revisit"]
        assert [line.record.url[-5:] for line in lines(journal)] == ["/kept", "again"]


async def test_recovery_takes_back_parts_that_were_not_committed(tmp_path: Path) -> None:
    out = writer(tmp_path, part_size=8000)
    for number in range(2):
        out.write_exchange(exchange(str(number), http(noise(2000, number))))
    committed = out.position
    for number in range(20):
        out.write_exchange(exchange(f"more {number}", http(noise(3000, number + 9))))
    assert out.position.part > 3
    out.close()
    again = writer(tmp_path, part_size=8000)
    again.recover(committed)
    assert names(tmp_path) == [
        "example.com-inf-00000.warc.gz.open",
        "example.com-inf.records.open",
    ]
    for number in range(5):
        again.write_exchange(exchange(f"again {number}", http(noise(3000, number + 9))))
    paths = again.finish()
    assert len(paths) > 1
    assert await gate(paths) == 7


def test_recovery_to_the_start_removes_everything(tmp_path: Path) -> None:
    out = writer(tmp_path, part_size=4000)
    for number in range(3):
        out.write_exchange(exchange(str(number), http(noise(3000, number))))
    out.close()
    again = writer(tmp_path, part_size=4000)
    again.recover(Position())
    assert list(tmp_path.iterdir()) == []
    again.write_exchange(exchange("", http(b"hello")))
    assert again.position.part == 0


def test_recovery_reports_a_file_that_lost_committed_records(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write_exchange(exchange("", http(b"hello")))
    committed = out.position
    out.close()
    part = out.path(0).with_name(out.path(0).name + ".open")
    os.truncate(part, committed.offset - 1)
    with pytest.raises(WarcCut, match=f"{committed.offset} were committed"):
        writer(tmp_path).recover(committed)


def test_recovery_reports_a_journal_that_lost_committed_lines(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write_exchange(exchange("", http(b"hello")))
    committed = out.position
    out.close()
    out.journal_path.write_bytes(b"\0" * (committed.journal - 1) + b"\n")
    with pytest.raises(WarcCut, match=f"ends at 0, but {committed.journal} bytes were committed"):
        writer(tmp_path).recover(committed)


@pytest.mark.parametrize("lost", ["part", "journal", "both", "all of the journal"])
async def test_what_a_power_failure_has_left_is_whole_and_indexed(
    tmp_path: Path, lost: str
) -> None:
    out = writer(tmp_path, part_size=10_000)
    ends = []
    for number in range(6):
        out.write_exchange(exchange(str(number), http(noise(3_000, number))))
        ends.append(out.position)
    out.close()
    assert [end.part for end in ends] == [0, 0, 1, 1, 2, 2]
    if lost in ("part", "both"):
        os.truncate(out.path(2).with_name(out.path(2).name + ".open"), ends[5].offset - 1)
    if lost in ("journal", "both"):
        with out.journal_path.open("r+b") as journal:
            journal.seek(ends[1].journal + 10)
            journal.write(b"\0" * 100)
    if lost == "all of the journal":
        out.journal_path.unlink()
    again = writer(tmp_path, part_size=10_000)
    left = again.surviving(ends[5])
    kept = {"part": 5, "journal": 2, "both": 2, "all of the journal": 0}[lost]
    assert (left.part, left.offset) == (
        (ends[kept - 1].part, ends[kept - 1].offset) if kept else (0, 0)
    )
    again.recover(left)
    for number in range(kept, 6):
        again.write_exchange(exchange(str(number), http(noise(3_000, number))))
    paths = again.finish()
    urls = [line.record.url for line in lines(again.journal_path)]
    assert urls == [exchange(str(number), b"").url for number in range(6)]
    assert await gate(paths) == 6


# A limit on the size of files stands for a full disk: the write that exceeds it fails half-way.
FULL = """
import resource, sys
from pathlib import Path
from tests.archive.exchanges import exchange, http, noise, writer

out = writer(Path(sys.argv[1]))
out.write_exchange(exchange("first", http(noise(5000))))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
out.write_exchange(exchange("second", http(noise(5000, 1))))
before = out.position
try:
    out.write_exchange(exchange("lost", http(noise(30_000, 2))))
except OSError:
    assert out.position == before
    out.write_exchange(exchange("third", http(b"hello")))
else:
    sys.exit("the limit was not reached")
"""

WRITING = """
import sys
from pathlib import Path
from tests.archive.exchanges import exchange, http, noise, writer
from watchbell import probes
from watchbell.archive.warc.writer import Position

folder, part, offset = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
if sys.argv[4]:
    probes.arm(sys.argv[4])
out = writer(folder, part_size=300_000)
out.recover(Position(part, offset))
for number in range(100_000):
    out.write_exchange(exchange(f"{offset}-{number}", http(noise(number % 40 * 1000, number))))
    out.sync() if number % 50 == 0 else None
    position = out.position
    print(position.part, position.offset, flush=True)
"""


def killed(folder: Path, position: Position, *, after_lines: int = 0, fault: str = "") -> Position:
    """Runs a writing process from a position until it is killed, after so many lines or by a
    fault of its own; gives the last position that it reported."""
    start = [str(position.part), str(position.offset), fault]
    command = [sys.executable, "-c", WRITING, str(folder), *start]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout
        reported = [process.stdout.readline() for _ in range(after_lines)]
        if not fault:
            process.send_signal(signal.SIGKILL)
        reported += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    whole = [line for line in reported if line.endswith(b"\n")]
    return Position(*map(int, whole[-1].split())) if whole else position


async def test_a_killed_writer_loses_nothing_that_it_reported(tmp_path: Path) -> None:
    position = Position()
    for _ in range(4):
        position = killed(tmp_path, position, after_lines=40)
    out = writer(tmp_path, part_size=300_000)
    out.recover(position)
    paths = out.finish()
    urls = [line.record.url for line in lines(out.journal_path)]
    assert len(set(urls)) == len(urls) >= 160
    records = [fields_of(record) for path in paths for record in members(path)]
    found = [
        one["WARC-Target-URI"] for one in records if one["WARC-Type"] in ("response", "revisit")
    ]
    assert found == urls
    await gate(paths, replays=50)


def test_a_writer_killed_between_the_records_of_an_exchange_is_cut_before_it(
    tmp_path: Path,
) -> None:
    position, count = Position(), 0
    for nth in (1, 2, 3, 6):
        position = killed(tmp_path, position, fault=f"warc.record:{nth}")
        count += (nth - 1) // 2
    out = writer(tmp_path, part_size=300_000)
    out.recover(position)
    [path] = out.finish()
    kinds = [fields_of(record)["WARC-Type"] for record in members(path)]
    assert kinds == ["warcinfo", *["request", "response"] * count]
