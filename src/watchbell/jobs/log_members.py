"""Archived output: gzip members, each readable alone, with the times of its chunks in the header.

One after the other, the members are a file that zcat reads.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from watchbell.errors import FilesUnavailable
from watchbell.jobs.log_lines import Chunk

MEMBER = 1 << 20
"""Bytes of output in a member, at most, unless a single chunk is longer."""
_HEAD = struct.Struct("<2sBBIBBH2sH")
_MAGIC, _DEFLATED, _HAS_EXTRA, _UNIX, _TIMES = b"\x1f\x8b", 8, 4, 3, b"WB"
_MOST_TIMES = 60_000
"""Bytes of times, at most; the format has room for 64 KiB."""
_FEWER_TIMES = 4_000
"""So many times have fewer bytes in any case."""


class Member(Struct, frozen=True, array_like=True):
    place: int
    """Stored lines that ended before it."""
    line: int
    """Lines that ended before it, with those that were left out."""
    offset: int
    """Bytes of output before it, likewise."""
    size: int
    """Bytes of output in it."""
    start: int
    """Bytes before it in its file."""
    length: int
    """Bytes of it in its file."""
    is_begin: bool
    """Whether a line begins with it."""


class Position(Struct, frozen=True):
    """Where the output ends so far."""

    place: int = 0
    line: int = 0
    offset: int = 0
    is_open: bool = False
    """Whether its last line has not ended."""


class Part(Struct, frozen=True, kw_only=True):
    """Some of the output of a job in progress, in a file of its own."""

    name: str
    offset: int
    line: int
    size: int
    members: tuple[Member, ...]
    end_place: int
    end_line: int
    end_offset: int
    is_open: bool = False

    @property
    def end(self) -> Position:
        return Position(self.end_place, self.end_line, self.end_offset, self.is_open)


class Index(Struct, frozen=True, array_like=True):
    """The members of an archived log."""

    members: tuple[Member, ...]
    end: Position

    def packed(self) -> bytes:
        return zlib.compress(msgspec.msgpack.encode(self), 9)


def index(raw: bytes) -> Index:
    try:
        return msgspec.msgpack.decode(zlib.decompress(raw), type=Index)
    except (zlib.error, msgspec.MsgspecError) as error:
        raise FilesUnavailable(f"the index of a log is damaged: {error}") from error


def written(chunks: Iterable[Chunk], before: Position) -> tuple[list[Member], bytes, Position]:
    """Chunks as members: the members, the bytes of all of them, and where the output then ends."""
    members: list[Member] = []
    texts: list[bytes] = []
    start, position = 0, before
    for group in _groups(chunks):
        place = position.place
        is_begin = not position.is_open
        if position.is_open and group[0].offset != position.offset:
            place, is_begin = place + 1, True  # the rest of the open line was left out
        text = _compressed(group)
        size = sum(len(chunk.text) for chunk in group)
        members.append(
            Member(place, group[0].line, group[0].offset, size, start, len(text), is_begin)
        )
        texts.append(text)
        start += len(text)
        last = group[-1]
        position = Position(
            place + last.following - group[0].line,
            last.following,
            last.end,
            not last.text.endswith(b"\n"),
        )
    return members, b"".join(texts), position


def _groups(chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    """Chunks of one member each: without a gap between them, and not too many."""
    group: list[Chunk] = []
    size = 0
    for chunk in chunks:
        if not chunk.text:
            continue
        if group and (chunk.offset != group[-1].end or size + len(chunk.text) > MEMBER):
            yield group
            group, size = [], 0
        group.append(chunk)
        size += len(chunk.text)
    if group:
        yield group


def _compressed(group: Sequence[Chunk]) -> bytes:
    text = b"".join(chunk.text for chunk in group)
    times = _times(group)
    head = _HEAD.pack(
        *(_MAGIC, _DEFLATED, _HAS_EXTRA, 0, 0, _UNIX, len(times) + 4, _TIMES, len(times))
    )
    squeezer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = squeezer.compress(text) + squeezer.flush()
    return head + times + body + struct.pack("<II", zlib.crc32(text), len(text) & 0xFFFFFFFF)


def _times(group: Sequence[Chunk]) -> bytes:
    """For each chunk how many bytes it has and when it was read; of very many, only some."""
    packed = _packed_times(group, 0)
    if len(packed) <= _MOST_TIMES:
        return packed
    return _packed_times(group, (max(one.at for one in group) - group[0].at) / _FEWER_TIMES)


def _packed_times(group: Sequence[Chunk], apart: float) -> bytes:
    pairs = list[tuple[int, float]]()
    for chunk in group:
        if pairs and chunk.at - pairs[-1][1] < apart:
            pairs[-1] = (pairs[-1][0] + len(chunk.text), pairs[-1][1])
        else:
            pairs.append((len(chunk.text), chunk.at))
    return zlib.compress(msgspec.msgpack.encode(_deltas(pairs)))


def _deltas(pairs: Sequence[tuple[int, float]]) -> list[int]:
    found, before = list[int](), 0
    for size, at in pairs:
        milliseconds = round(at * 1000)
        found += (size, milliseconds - before)
        before = milliseconds
    return found


def read(raw: bytes, member: Member) -> list[Chunk]:
    """The chunks of a member."""
    try:
        *_, extra, _, size = _HEAD.unpack_from(raw)
        times = zlib.decompress(raw[_HEAD.size : _HEAD.size + size])
        text = zlib.decompress(raw[_HEAD.size + extra - 4 : -8], -15)
        deltas = msgspec.msgpack.decode(times, type=list[int])
    except (struct.error, zlib.error, msgspec.MsgspecError) as error:
        raise FilesUnavailable(f"a part of a log is damaged: {error}") from error
    chunks: list[Chunk] = []
    offset, line, milliseconds = 0, member.line, 0
    for i in range(0, len(deltas), 2):
        milliseconds += deltas[i + 1]
        is_last = i + 2 >= len(deltas)
        piece = text[offset:] if is_last else text[offset : offset + deltas[i]]
        chunks.append(Chunk(milliseconds / 1000, member.offset + offset, line, piece))
        offset += len(piece)
        line += piece.count(b"\n")
    return chunks
