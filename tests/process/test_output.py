"""Lines out of chunks: nothing lost, nothing added, and the limits where they were set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.process.output import Batch, Line, Output, Volume

texts_of_lines = st.text("ab\r\n", min_size=1).map(str.encode)
chunks = st.lists(st.binary(min_size=1, max_size=40) | texts_of_lines)
SMALL = Volume(complete=30, newest=20, line=8, waiting=10)


def all_of(output: Output) -> list[Batch]:
    batches = []
    while batch := output.take(newest=True):
        batches.append(batch)
    return batches


def lines_of(batches: list[Batch]) -> list[Line]:
    return [line for batch in batches for line in batch.lines()]


def fed(volume: Volume, *chunks: bytes) -> list[Line]:
    output = Output(volume)
    for at, chunk in enumerate(chunks):
        output.feed(chunk, at)
    output.close()
    return lines_of(all_of(output))


def texts(lines: list[Line]) -> list[bytes]:
    return [line.text for line in lines if not line.is_marker]


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"a\nb\n"], [b"a\n", b"b\n"]),
        ([b"a", b"b\nc"], [b"ab\n", b"c"]),
        ([b"10%\r20%\r", b"done\n"], [b"10%\r", b"20%\r", b"done\n"]),
        ([b"a\r", b"\nb\r\n"], [b"a\r\n", b"b\r\n"]),
        ([b"\n\n"], [b"\n", b"\n"]),
        ([b"\0\xff\n"], [b"\0\xff\n"]),
        ([b"0123456789\n"], [b"01234567", b"89\n"]),
        ([b"\x0b\x0c\x1c\x85\n"], [b"\x0b\x0c\x1c\x85\n"]),
        ([], []),
    ],
)
def test_a_line_ends_at_a_newline_or_a_return(chunks: list[bytes], lines: list[bytes]) -> None:
    assert texts(fed(Volume(line=8), *chunks)) == lines


def test_a_line_has_the_time_at_which_its_end_was_read() -> None:
    assert [line.at for line in fed(Volume(), b"a\nb", b"c\n", b"d")] == [0, 1, 2]


def test_only_a_line_with_its_end_is_whole() -> None:
    lines = fed(Volume(line=2), b"abc\nd\re")
    assert [line.is_whole for line in lines] == [False, True, True, False]


@given(chunks)
def test_what_is_joined_is_what_was_written(written: list[bytes]) -> None:
    lines = fed(Volume(line=8), *written)
    assert b"".join(texts(lines)) == b"".join(written)
    assert [line.number for line in lines] == list(range(len(lines)))
    assert all(1 <= len(line.text) <= 8 for line in lines)


@given(chunks, st.lists(st.booleans()))
def test_when_it_is_taken_changes_no_line(written: list[bytes], takes: list[bool]) -> None:
    output = Output(Volume(line=8))
    batches = []
    for at, chunk in enumerate(written):
        output.feed(chunk, at)
        if at < len(takes) and takes[at]:
            batches += all_of(output)
    output.close()
    assert lines_of(batches + all_of(output)) == fed(Volume(line=8), *written)


@given(chunks, st.lists(st.booleans()))
def test_past_the_limit_every_byte_is_among_the_newest_or_counted(
    written: list[bytes], takes: list[bool]
) -> None:
    output = Output(SMALL)
    batches = []
    for at, chunk in enumerate(written):
        output.feed(chunk, at)
        if at < len(takes) and takes[at]:
            batches += all_of(output)
    output.close()
    batches += all_of(output)
    whole = b"".join(written)
    lines = lines_of(batches)
    kept = b"".join(texts(lines))
    assert len(kept) + output.left_out == len(whole) == output.size
    assert kept[:30] == whole[:30]
    assert kept[30:] == b"" or whole.endswith(kept[-1:])
    markers = [line.text for line in lines if line.is_marker and line.text != b"\n"]
    assert len(markers) == (len(whole) > 30)
    numbers = [line.number for line in lines]
    assert numbers == sorted(set(numbers))


def test_the_newest_begin_with_a_whole_line_and_are_numbered_past_what_was_left_out() -> None:
    written = [f"line {number:02}\n".encode() for number in range(50)]
    chunks = [b"".join(written[first : first + 3]) for first in range(0, 50, 3)]
    lines = fed(Volume(complete=16, newest=24), *chunks)
    head, marker, *newest = lines[:2], lines[2], *lines[3:]
    assert [line.text for line in head] == written[:2]
    assert marker.is_marker
    assert b"16 bytes" in marker.text
    assert [line.text for line in newest] == written[-len(newest) :]
    assert len(newest) >= 3
    assert newest[-1].number == 50  # all lines, and the marker


@pytest.mark.parametrize(
    ("chunks", "head"),
    [
        ([b"one\ntwo\n", b"three\n"], [b"one\n", b"two\n"]),
        ([b"one\ntwo", b" three\n"], [b"one\n", b"two", b" ", b"\n"]),
        ([b"10%\r20%\r", b"done\n"], [b"10%\r", b"20%\r", b"\n"]),
        ([b"x" * 100], [b"xxxxx", b"xxx", b"\n"]),
    ],
)
def test_the_marker_stands_on_a_line_of_its_own(chunks: list[bytes], head: list[bytes]) -> None:
    lines = [line.text for line in fed(Volume(complete=8, newest=6, line=5), *chunks)]
    place = next(n for n, text in enumerate(lines) if text.startswith(b"[the output is complete"))
    assert b"".join(lines[:place]) == b"".join(head)
    assert lines[place].endswith(b"]\n")


def test_an_output_of_just_the_limit_has_no_marker() -> None:
    assert not any(line.is_marker for line in fed(Volume(complete=4), b"ab\n", b"c"))


def test_a_log_of_the_newest_is_told_what_it_may_drop() -> None:
    output = Output(Volume(complete=0, newest=20))
    stored: dict[int, Line] = {}
    for at in range(100):
        output.feed(b"123456789\n", at)
        batch = output.take(newest=True)
        assert batch
        stored |= {line.number: line for line in batch.lines()}
        marker = min(stored)
        stored = {n: line for n, line in stored.items() if n == marker or n >= batch.newest_from}
        assert len(stored) <= 3
    assert [line.at for line in stored.values()][1:] == [98, 99]


@pytest.mark.parametrize(("waits", "is_full"), [(9, False), (10, True), (29, True)])
def test_reading_pauses_while_much_waits_to_be_taken(waits: int, is_full: bool) -> None:
    output = Output(SMALL)
    output.feed(b"x" * waits, 0)
    assert output.is_full == is_full


def test_reading_goes_on_once_something_was_taken() -> None:
    output = Output(SMALL)
    output.feed(b"x" * 20, 0)
    all_of(output)
    assert not output.is_full


def test_reading_never_pauses_once_only_the_newest_are_kept() -> None:
    output = Output(SMALL)
    output.feed(b"x" * 100, 0)
    assert output.is_over
    assert not output.is_full


def test_an_output_that_is_overlooked_keeps_its_beginning_and_its_newest() -> None:
    output = Output(Volume(newest=4))
    output.feed(b"one\n", 0)
    output.overlook()
    for _ in range(10):
        output.feed(b"two\n", 1)
    output.close()
    assert texts(lines_of(all_of(output)))[:2] == [b"one\n", b"two\n"]
    assert output.left_out > 0
