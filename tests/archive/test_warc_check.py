import gzip
import hashlib
import re
import tempfile
from base64 import b32encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.archive.exchanges import AT, FileBody, chunked, exchange, http, noise, writer
from tests.archive.test_warc_writer import members
from tests.archive.warc_gate import gate
from watchbell.archive.warc.cdxj import index_files
from watchbell.archive.warc.check import Progress, check
from watchbell.archive.warc.reader import WarcDamaged, WarcReader, complete_until

Change = Callable[[list[bytes]], list[bytes]]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    out = writer(tmp_path)
    page = noise(3000)
    out.write_exchange(exchange("", http(page)))
    out.write_exchange(exchange("chunked", http(chunked(page), "Transfer-Encoding: chunked")))
    out.write_exchange(exchange("again", http(page)))
    out.write_resource("urn:X-watchbell:log", AT, b"fetched\n", "text/plain")
    [path] = out.finish()
    return path


def packed(records: Sequence[bytes]) -> bytes:
    return b"".join(gzip.compress(record) for record in records)


def edited(number: int, pattern: bytes, text: bytes) -> Change:
    """In one record, as a careless program would have written it: digests stay as they are."""

    def change(records: list[bytes]) -> list[bytes]:
        new, count = re.subn(pattern, text, records[number], count=1)
        assert count
        return [*records[:number], new, *records[number + 1 :]]

    return change


def without_end(records: list[bytes]) -> list[bytes]:
    return [*records[:2], records[2][:-2], *records[3:]]


def with_longer_length(records: list[bytes]) -> list[bytes]:
    found = re.search(rb"Content-Length: (\d+)\r\n\r\n", records[2])
    assert found
    longer = b"Content-Length: %d\r\n\r\n" % (int(found[1]) + 3)
    return [*records[:2], records[2].replace(found[0], longer), *records[3:]]


def with_changed_payload(records: list[bytes]) -> list[bytes]:
    return [*records[:2], records[2][:-9] + b"x" + records[2][-8:], *records[3:]]


def with_repeated_id(records: list[bytes]) -> list[bytes]:
    first, third = (re.search(rb"<urn:uuid:[^>]+>", records[n]) for n in (1, 3))
    assert first
    assert third
    # What is concurrent to the third record must go on naming one.
    rest = [record.replace(third[0], first[0]) for record in records[3:]]
    return [*records[:3], *rest]


def one_member(records: list[bytes]) -> list[bytes]:
    return [b"".join(records)]


def write(path: Path, change: Change) -> None:
    path.write_bytes(packed(change(list(members(path)))))


FAULTS = [
    (with_changed_payload, 2, "WARC-Block-Digest is"),
    (with_longer_length, 2, "does not end with CRLF CRLF"),
    (without_end, 2, "does not end with CRLF CRLF"),
    (edited(2, rb"WARC-Record-ID: [^\r]+\r\n", b""), 2, "WARC-Record-ID is missing"),
    (with_repeated_id, 3, "WARC-Record-ID is that of an earlier record"),
    (edited(2, rb"WARC-Date: [^\r]+\r\n", b""), 2, "WARC-Date is missing"),
    (edited(2, rb"WARC-Date: 2026-11", b"WARC-Date: 2026-13"), 2, "which is no date"),
    (edited(2, rb"WARC-Target-URI: [^\r]+\r\n", b""), 2, "WARC-Target-URI is missing"),
    (
        edited(2, rb"Concurrent-To: <urn:uuid:.{4}", b"Concurrent-To: <urn:uuid:----"),
        2,
        "no record",
    ),
    (edited(2, rb"sha1:[^\r]+", b"sha1:" + b"A" * 32), 2, "WARC-Payload-Digest is AAAA"),
    (edited(2, rb"Content-Length: \d+", b"Content-Length: ten"), 2, "Content-Length is 'ten'"),
    (edited(2, rb"Content-Length: \d+", b"Content-Length: " + b"9" * 5000), 2, "Content-Length is"),
    (edited(2, rb"WARC/1.1", b"WORC/1.1"), 2, "begins with 'WORC/1.1'"),
    (edited(2, rb"Content-Length: \d+", b"Content-Length: 99999"), 2, "before its Content-Length"),
    (edited(6, rb"WARC-Profile: [^\r]+\r\n", b""), 6, "WARC-Profile is missing"),
]


@pytest.mark.parametrize(("change", "number", "reason"), FAULTS, ids=[one[2] for one in FAULTS])
def test_a_fault_is_found_in_its_record(
    good: Path, change: Change, number: int, reason: str
) -> None:
    records = change(list(members(good)))
    good.write_bytes(packed(records))
    found = check([good])
    assert found.records >= 7
    assert any(reason in fault.reason for fault in found.faults), found.faults
    assert {fault.offset for fault in found.faults} == {len(packed(records[:number]))}
    assert str(good) in str(found.faults[0])


@pytest.mark.parametrize(
    ("change", "number"), [one[:2] for one in FAULTS], ids=[one[2] for one in FAULTS]
)
def test_a_fault_is_found_in_a_plain_file(good: Path, change: Change, number: int) -> None:
    records = change(list(members(good)))
    good.write_bytes(b"".join(records))
    faults = check([good]).faults
    assert faults[0].offset == len(b"".join(records[:number]))


@pytest.mark.parametrize(
    ("change", "program"),
    [
        (without_end, "warcat"),
        (with_changed_payload, "warcio"),
        (one_member, "warcio"),
        (edited(2, rb"WARC-Date: 2026-11", b"WARC-Date: 2026-13"), "cdxj-indexer"),
    ],
)
async def test_the_gate_rejects_a_fault(good: Path, change: Change, program: str) -> None:
    """Each of its programs finds something that another one does not."""
    write(good, change)
    with pytest.raises(AssertionError, match=f"{program} rejects the files"):
        await gate([good])


def index_without(path: Path, url_part: str) -> Path:
    index = path.with_name("index.cdxj")
    index_files([path], index)
    index.write_text(index.read_text().replace(f"example)/{url_part} ", "example)/other "))
    return index


async def test_the_gate_compares_what_pywb_replays(good: Path) -> None:
    index = index_without(good, "chunked")
    with pytest.raises(AssertionError, match="pywb gives"):
        await gate([good], index=index)


def test_good_files_have_no_faults(good: Path) -> None:
    found = check([good])
    assert (found.records, found.faults) == (8, ())
    plain = good.with_name("plain.warc")
    plain.write_bytes(b"".join(members(good)))
    assert check([plain]).faults == ()
    assert check([plain]).records == 8


def test_one_gzip_stream_for_all_records_is_a_fault(good: Path) -> None:
    good.write_bytes(gzip.compress(b"".join(members(good))))
    found = check([good])
    assert found.records == 8
    assert found.faults[0].reason == "its gzip member does not end with it"


def test_a_file_that_was_cut_short_is_a_fault_at_every_length(good: Path) -> None:
    whole = good.read_bytes()
    with WarcReader(good) as reader:
        request, answer, last = [record.offset for record in reader][-3:]
    for length in range(answer - 40, len(whole)):
        good.write_bytes(whole[:length])
        found = check([good])
        if length in (answer, last):
            assert found.faults == ()
        else:
            cut = [offset for offset in (request, answer, last) if offset < length]
            assert found.faults[0].offset == cut[-1]
            assert "ends within a record" in found.faults[0].reason
        is_answered = length >= last
        assert complete_until(good) == (last if is_answered else request)
    good.write_bytes(whole)
    assert complete_until(good) == len(whole)


def test_a_damaged_gzip_member_is_a_fault_and_ends_the_check(good: Path) -> None:
    whole = bytearray(good.read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    good.write_bytes(whole)
    [*_, fault] = check([good]).faults
    assert "gzip member is damaged" in fault.reason or "Digest" in fault.reason


def test_a_fault_does_not_hide_the_ones_after_it(good: Path) -> None:
    records = list(members(good))
    records[1] = records[1].replace(b"WARC/1.1", b"nonsense", 1)
    records[4] = records[4].replace(b"WARC-Date", b"WARC-Data")
    good.write_bytes(packed(records))
    reasons = [fault.reason for fault in check([good]).faults]
    assert "begins with 'nonsense'" in reasons[0]
    assert reasons[1] == "WARC-Date is missing"
    assert "which no record has" in reasons[2]


def test_a_record_may_refer_to_one_of_another_part(tmp_path: Path) -> None:
    out = writer(tmp_path, part_size=9000)
    [_, first] = out.write_exchange(exchange("", http(noise(6000))))
    out.write_metadata(
        "https://www.example.com/", AT, noise(5000), "text/plain", concurrent_to=first.id
    )
    paths = out.finish()
    assert len(paths) == 2
    assert check(paths).faults == ()
    assert check(paths[::-1]).faults == ()
    assert len(check(paths[1:]).faults) == 1


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256", "sha512"])
@pytest.mark.parametrize("notation", ["base 16", "base 32"])
def test_digests_by_other_programs_are_checked(good: Path, algorithm: str, notation: str) -> None:
    *records, last = members(good)
    digest = hashlib.new(algorithm, b"fetched\n").digest()
    text = digest.hex() if notation == "base 16" else b32encode(digest).decode()
    for value, faults in ((text, 0), (text[::-1], 1)):
        changed = re.sub(rb"sha1:[^\r]+", f"{algorithm}:{value}".encode(), last)
        good.write_bytes(packed([*records, changed]))
        assert check([good]).fault_count == faults


def test_progress_is_reported_up_to_the_end(good: Path) -> None:
    seen: list[Progress] = []
    check([good, good], seen.append)
    assert [one.read for one in seen] == sorted(one.read for one in seen)
    assert seen[-1].read == seen[-1].size == 2 * good.stat().st_size
    assert seen[-1].records == 16


def test_a_reader_can_start_at_a_record(good: Path) -> None:
    with WarcReader(good) as reader:
        records = [(record, reader.block()) for record in reader]
    for record, block in records:
        with WarcReader(good, record.offset) as reader:
            assert reader.next() == record
            assert reader.block() == block
            assert reader.finish() == []


def test_a_bomb_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "zeros"
    path.write_bytes(http(bytes(64 << 20)))
    out = writer(tmp_path)
    out.write_exchange(exchange("zeros", FileBody(path)))
    [found] = out.finish()
    assert found.stat().st_size < 1 << 20
    with WarcReader(found) as reader:
        assert max(len(piece) for _ in reader for piece in reader.pieces()) <= 1 << 18
    assert check([found]).faults == ()


def test_what_is_no_warc_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<p>hello</p>" * 9)
    with WarcReader(path) as reader, pytest.raises(WarcDamaged, match="has no end"):
        reader.next()
    path.write_bytes(b"")
    assert check([path]).records == 0


def fuzzed(content: bytes, changes: list[tuple[int, int]]) -> bytes:
    changed = bytearray(content)
    for place, value in changes:
        changed[place % len(changed)] = value
    return bytes(changed)


@hypothesis.given(
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=5),
    st.booleans(),
)
@hypothesis.settings(max_examples=150)
def test_no_damage_makes_a_reader_fail_in_another_way(
    changes: list[tuple[int, int]], is_packed: bool
) -> None:
    records = SMALL_FILE
    content = packed(records) if is_packed else b"".join(records)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.warc.gz")
        path.write_bytes(fuzzed(content, changes))
        assert check([path]).records <= len(records) + 1
        complete_until(path)
        with suppress(WarcDamaged):
            index_files([path], Path(folder, "index.cdxj"))


def small_file() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        out = writer(Path(folder))
        out.write_exchange(exchange("", http(b"hello " * 60)))
        out.write_exchange(exchange("again", http(b"hello " * 60)))
        [path] = out.finish()
        return list(members(path))


SMALL_FILE = small_file()
