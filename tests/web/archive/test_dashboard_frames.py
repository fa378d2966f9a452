"""Frames of the dashboard, and the ring that has the newest."""

import asyncio
import zlib

from hypothesis import given
from hypothesis import strategies as some

from watchbell.web.archive.dashboard.frame_ring import FrameRing
from watchbell.web.archive.dashboard.frames import Deflater, Frame, messages

TAIL = b"\x00\x00\xff\xff"


@given(some.lists(some.binary(max_size=3_000), min_size=1, max_size=5))
def test_each_message_is_read_without_those_before_it(texts: list[bytes]) -> None:
    deflater = Deflater()
    for text in texts:
        packed = deflater.deflate(text)
        assert zlib.decompressobj(-15).decompress(packed + TAIL) == text


def test_a_frame_is_compressed_once() -> None:
    frame = Frame(b"x" * 1_000, Deflater())
    assert frame.deflated() is frame.deflated()
    assert len(frame.deflated()) < 100 < len(frame.plain)


@given(some.binary(max_size=200))
def test_no_batch_fails(body: bytes) -> None:
    assert not [*messages(body)]


def ring_of(count: int, size: int = 10, **limits: int) -> FrameRing:
    ring, deflater = FrameRing(**limits), Deflater()
    for number in range(count):
        ring.append(Frame(b"%d" % number + b"x" * size, deflater))
    return ring


def frames_from(ring: FrameRing, number: int) -> list[Frame]:
    chunk = ring.chunk(number)
    return chunk.frames if chunk else []


def test_the_ring_has_the_newest_frames() -> None:
    ring = ring_of(10, most=4)
    assert (ring.first, ring.end) == (6, 10)
    assert [frame.plain[2:3] for frame in frames_from(ring, 6)] == [b"6", b"7", b"8", b"9"]
    assert [frame.plain[2:3] for frame in frames_from(ring, 8)] == [b"8", b"9"]
    assert frames_from(ring, 10) == []


def test_the_ring_gives_as_much_as_is_wanted_and_at_least_one() -> None:
    assert len(frames_from(ring_of(10, at_once=1), 0)) == 1
    assert len(frames_from(ring_of(10, 100, at_once=300), 0)) == 3


def test_viewers_at_the_same_place_share_a_chunk_until_there_is_more() -> None:
    ring = ring_of(3, 100)
    chunk = ring.chunk(0)
    assert chunk is not None
    assert ring.chunk(0) is chunk
    joined = chunk.joined(is_deflated=True)
    assert chunk.joined(is_deflated=True) is joined
    assert len(joined) < len(chunk.joined(is_deflated=False))
    ring.append(Frame(b"more", Deflater()))
    assert len(frames_from(ring, 0)) == 4


def test_the_ring_is_bounded_in_bytes_as_well() -> None:
    ring = ring_of(100, 1_000, most_bytes=20_000)
    assert 15_000 < ring.size <= 20_000
    assert ring.end - ring.first == len(frames_from(ring, ring.first)) == 19
    assert ring_of(3, 1_000, most_bytes=10).size == 0


async def test_all_who_wait_are_woken() -> None:
    ring = ring_of(0)
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(ring.grown()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        ring.wake()
