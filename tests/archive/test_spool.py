"""Bytes of responses: in memory while they are few, then in a file that leaves nothing behind."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchbell.archive.fetching.spool import Spool


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(st.binary(max_size=40), max_size=10),
    in_memory=st.integers(0, 100),
    start=st.integers(0, 200),
    length=st.none() | st.integers(0, 300),
)
def test_what_is_written_is_read(
    folder: Path, pieces: list[bytes], in_memory: int, start: int, length: int | None
) -> None:
    spool = Spool(folder, in_memory)
    for piece in pieces:
        spool.write(piece)
    whole = b"".join(pieces)
    stop = None if length is None else start + length
    assert spool.size == len(whole)
    assert spool.is_in_memory == (len(whole) <= in_memory)
    assert spool.read(start, stop) == whole[start:stop]
    assert b"".join(spool.pieces(start, stop)) == whole[start:stop]
    assert spool.read() == whole
    spool.close()


def test_a_large_response_comes_in_pieces(folder: Path) -> None:
    content = bytes(range(256)) * 1_000
    spool = Spool.of(content, folder, in_memory=1_000)
    assert [len(piece) for piece in spool.pieces()] == [65_536, 65_536, 65_536, 59_392]
    assert b"".join(spool.pieces(100, 100_000)) == content[100:100_000]
    spool.close()


@pytest.mark.parametrize("size", [100, 10_000])
def test_nothing_is_left_of_a_spool(folder: Path, size: int) -> None:
    """Not even while it is in use: its file has no name, so a kill leaves nothing."""
    spool = Spool.of(b"x" * size, folder, in_memory=1_000)
    assert list(folder.iterdir()) == []
    spool.close()
    spool.close()
    assert spool.size == 0
