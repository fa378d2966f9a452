"""The content of a response, for reading links and showing pages. What is archived stays as it was
sent.

A few kilobytes can expand to terabytes, so every step gives out small pieces and ends at a limit.
"""

import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, cast

import brotli  # type: ignore[import-untyped]
import zstandard
from msgspec import Struct

from watchbell.archive.fetching.chunks import Chunks
from watchbell.archive.fetching.framing import Headers, named
from watchbell.archive.fetching.model import Fetched, FetchFailed

MOST = 10 << 20
_MOST_CODINGS = 3
_PIECE = 1 << 16
_MOST_WINDOW = 1 << 23
"""Bytes that a zstd stream may ask us to remember, as RFC 9659 has it."""

Pieces = Iterator[bytes]
_Decoder = Callable[[Pieces], Pieces]


class Decoded(Struct, frozen=True):
    body: bytes
    is_whole: bool
    """False: the body is longer, or broken from here on."""
    problem: str = ""


class _Broken(Exception):
    """The rest can't be decoded. Its text says why."""


def decoded(fetched: Fetched, most: int = MOST) -> Decoded:
    """The body of a response, at most this many bytes."""
    response, start = fetched.response, fetched.head_size
    codings = _codings(fetched.headers)
    if not codings:
        body = response.read(start, start + most)
        return Decoded(body, start + len(body) == response.size and not fetched.truncated)
    found = decode(fetched.headers, response.pieces(start), most)
    return Decoded(found.body, found.is_whole and not fetched.truncated, found.problem)


def decode(headers: Headers, pieces: Iterable[bytes], most: int = MOST) -> Decoded:
    """The same for a body that comes in pieces, as it was sent after these headers."""
    codings = _codings(headers)
    if len(codings) > _MOST_CODINGS + 1:
        return Decoded(b"", False, f"more than {_MOST_CODINGS} codings")  # noqa: FBT003
    budget = _Budget(most)
    stream = budget.limit(iter(pieces))
    for coding in codings:
        decoder = _DECODERS.get(coding)
        if not decoder:
            return Decoded(b"", False, f"unknown coding {coding[:20]}")  # noqa: FBT003
        stream = budget.limit(decoder(stream))
    body = bytearray()
    try:
        for piece in stream:
            body += piece
    except (_Broken, FetchFailed) as error:
        return Decoded(bytes(body), False, str(error))  # noqa: FBT003
    return Decoded(bytes(body), not budget.is_spent)


class _Budget:
    """Ends each step after the same number of bytes: one that expands nothing at the end may have
    expanded a lot in between."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.is_spent = False

    def limit(self, pieces: Pieces) -> Pieces:
        left = self._most
        for piece in pieces:
            yield piece[:left]
            if len(piece) > left:
                self.is_spent = True
                return
            left -= len(piece)


def _codings(headers: Headers) -> list[str]:
    """What to undo, first things first."""
    names = [
        coding.strip().lower().removeprefix("x-")
        for name in ("content-encoding", "transfer-encoding")
        for coding in named(headers, name).split(",")
    ]
    return [name for name in reversed(names) if name not in ("", "identity")]


def _unchunked(pieces: Pieces) -> Pieces:
    chunks = Chunks()
    chunks.carried = []
    for piece in pieces:
        chunks.take(piece, 0)
        yield from chunks.carried
    if not chunks.is_complete:
        raise _Broken("the chunks end early")


def _gunzipped(pieces: Pieces) -> Pieces:
    """Some servers say gzip and send plain text."""
    first, pieces = _peeked(pieces)
    if first[:2] != b"\x1f\x8b":
        yield from pieces
        return
    yield from _inflated(pieces, zlib.MAX_WBITS | 16)


def _undeflated(pieces: Pieces) -> Pieces:
    """With zlib's header, as the standard says, or without, as some servers send it."""
    first, pieces = _peeked(pieces)
    has_header = len(first) > 1 and first[0] & 15 == 8 and (first[0] << 8 | first[1]) % 31 == 0
    yield from _inflated(pieces, zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)


def _inflated(pieces: Pieces, wbits: int) -> Pieces:
    stream = zlib.decompressobj(wbits)
    rest = b""
    for piece in pieces:
        rest += piece
        while len(rest) > (1 if stream.eof else 0):
            if stream.eof:
                if rest[:2] != b"\x1f\x8b":
                    return  # something follows that is not another member
                stream = zlib.decompressobj(wbits)
            try:
                yield stream.decompress(rest, _PIECE)
            except zlib.error as error:
                raise _Broken(str(error)) from None
            rest = stream.unused_data if stream.eof else stream.unconsumed_tail
    if not stream.eof:
        yield stream.flush()
        raise _Broken("the compressed data ends early")


def _unbrotlied(pieces: Pieces) -> Pieces:
    stream = brotli.Decompressor()
    try:
        for piece in pieces:
            output: bytes = stream.process(piece, output_buffer_limit=_PIECE)
            while output and not stream.is_finished():
                yield output
                output = stream.process(b"", output_buffer_limit=_PIECE)
            yield output
            if stream.is_finished():
                return
    except brotli.error as error:
        raise _Broken(str(error)) from None
    if not stream.is_finished():
        raise _Broken("the compressed data ends early")


class _File(io.RawIOBase):
    """What zstandard reads from."""

    def __init__(self, pieces: Pieces) -> None:
        super().__init__()
        self._pieces = pieces

    def read(self, _size: int = -1) -> bytes:
        return next(self._pieces, b"")


def _unzstded(pieces: Pieces) -> Pieces:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
    source = cast("IO[bytes]", _File(piece for piece in pieces if piece))
    try:
        with decompressor.stream_reader(source, read_across_frames=True) as reader:
            while piece := reader.read(_PIECE):
                yield piece
    except zstandard.ZstdError as error:
        raise _Broken(str(error)) from None


def _peeked(pieces: Pieces) -> tuple[bytes, Pieces]:
    """The beginning, at least two bytes if there are as many, and everything."""
    first = b""
    for piece in pieces:
        first += piece
        if len(first) > 1:
            break

    def whole() -> Pieces:
        yield first
        yield from pieces

    return first, whole()


_DECODERS: dict[str, _Decoder] = {
    "chunked": _unchunked,
    "gzip": _gunzipped,
    "deflate": _undeflated,
    "br": _unbrotlied,
    "zstd": _unzstded,
}
