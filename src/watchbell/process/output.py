"""The output of a child: bytes in lines, each with the time it was read.

Complete up to a size; from there on, after a marker, the newest lines only. A line ends with
`\\n`, `\\r` (a progress bar shows each of its steps) or `\\r\\n`, and keeps its ending: what is
joined is what was written. A line that is too long comes in pieces, all but the last without one.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

# What is taken at once is bounded, since lines cost far more than the bytes they are made of.
_BATCH = 64 << 10
_ENDING = re.compile(rb"\r\n?|\n")


class Volume(Struct, frozen=True, kw_only=True):
    """How much of an output is kept. All in bytes."""

    complete: int = 10 << 20
    """Kept from the beginning, without a gap."""
    newest: int = 256 << 10
    """Kept of what comes after that."""
    line: int = 64 << 10
    """The longest line that is not cut into pieces."""
    waiting: int = 256 << 10
    """Bytes not yet taken by the caller at which reading pauses, so that the child blocks."""


class Line(NamedTuple):
    number: int
    """Grows by one per line or piece; a gap means that lines were left out."""
    at: float
    text: bytes
    is_marker: bool = False

    @property
    def is_whole(self) -> bool:
        """False for a piece of a line that goes on in the next, or whose end was never written."""
        return self.text.endswith((b"\n", b"\r"))


class Part(NamedTuple):
    """Lines that were read at one time."""

    first: int
    at: float
    texts: list[bytes]
    is_marker: bool = False


class Batch(NamedTuple):
    parts: list[Part]
    newest_from: int
    """After the marker: a log that keeps only the newest lines may drop those between the marker
    and this number. 0 before it."""

    def lines(self) -> Iterator[Line]:
        for first, at, texts, is_marker in self.parts:
            for number, text in enumerate(texts, first):
                yield Line(number, at, text, is_marker)


class Output:
    def __init__(self, volume: Volume) -> None:
        self.size = 0
        """Bytes written by the child so far."""
        self.left_out = 0
        """Bytes that came after the complete part and are not among what was given as the newest,
        as far as that was taken."""
        self._volume = volume
        self._room = volume.complete
        self._complete = 0
        self._waiting: deque[_Chunk] = deque()
        self._waiting_bytes = 0
        self._lines = _Lines(volume.line)
        self._tail = _Tail(volume.newest)
        self._number = 0
        self._is_marked = False
        self._is_at_line_start = True
        self._is_closed = False
        self._given: deque[tuple[int, int]] = deque()  # first number and bytes of each newest part
        self._given_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether to pause reading until something was taken."""
        return self._room > 0 and self._waiting_bytes >= self._volume.waiting

    @property
    def is_waiting(self) -> bool:
        """Whether more of the complete part can be taken."""
        return bool(self._waiting)

    @property
    def is_over(self) -> bool:
        """Whether the complete part has ended, and only the newest output is kept."""
        return self._room <= 0

    def feed(self, chunk: bytes, at: float) -> None:
        self.size += len(chunk)
        complete = chunk[: self._room]
        if complete:
            self._room -= len(complete)
            self._complete += len(complete)
            self._waiting.append(_Chunk(at, complete))
            self._waiting_bytes += len(complete)
        if len(complete) < len(chunk):
            self._tail.add(_Chunk(at, chunk[len(complete) :]))

    def close(self) -> None:
        self._is_closed = True

    def overlook(self) -> None:
        """Ends the complete part here, whatever its limit."""
        self._room = 0

    def take(self, *, newest: bool) -> Batch | None:
        """The next lines, or None. What is kept as the newest is given only where asked for, or at
        the end: the later it is asked for, the less of it there is."""
        parts: list[Part] = []
        taken = 0
        while self._waiting and taken < _BATCH:
            chunk = self._waiting.popleft()
            taken += len(chunk.text)
            self._add(parts, chunk)
        self._waiting_bytes -= taken
        if not self._waiting:
            self._take_tail(parts, newest=newest)
        return Batch(parts, self._newest_from()) if parts else None

    def _take_tail(self, parts: list[Part], *, newest: bool) -> None:
        if self._tail:
            self._mark(parts)
            if newest or self._is_closed:
                self._add_newest(parts)
        if self._is_closed:
            self._append(parts, self._lines.at, self._lines.finish())

    def _mark(self, parts: list[Part]) -> None:
        if self._is_marked:
            return
        self._is_marked = True
        self._append(parts, self._lines.at, self._lines.finish())
        text = f"[the output is complete up to here, {self._complete:,} bytes; from here on only "
        text += "its newest lines are kept]\n"
        # It stands on a line of its own, also after a line that the limit cut in two.
        texts = [text.encode()] if self._is_at_line_start else [b"\n", text.encode()]
        self._append(parts, self._tail.begun, texts, is_marker=True)

    def _add_newest(self, parts: list[Part]) -> None:
        gap, chunks = self._tail.take()
        if gap.size:
            half = b"".join(self._lines.finish())
            end = _ENDING.search(chunks[0].text) if gap.is_within_a_line else None
            other_half, chunks[0] = chunks[0].cut(end.end() if end else 0)
            self.left_out += gap.size + len(half) + len(other_half)
            self._number += gap.lines + _endings(half) + _endings(other_half)
        for chunk in chunks:
            self._given.append((self._number, len(chunk.text)))
            self._given_bytes += len(chunk.text)
            self._add(parts, chunk)

    def _add(self, parts: list[Part], chunk: "_Chunk") -> None:
        self._append(parts, chunk.at, self._lines.split(chunk))

    def _append(
        self, parts: list[Part], at: float, texts: list[bytes], *, is_marker: bool = False
    ) -> None:
        if texts:
            parts.append(Part(self._number, at, texts, is_marker))
            self._number += len(texts)
            self._is_at_line_start = texts[-1].endswith(b"\n")

    def _newest_from(self) -> int:
        while len(self._given) > 1 and self._given_bytes - self._given[0][1] >= self._volume.newest:
            self._given_bytes -= self._given.popleft()[1]
        return self._given[0][0] if self._given else 0


class _Chunk(NamedTuple):
    at: float
    text: bytes

    def cut(self, at: int) -> "tuple[bytes, _Chunk]":
        return self.text[:at], _Chunk(self.at, self.text[at:])


class _Lines:
    """Cuts chunks into lines; what has no end yet waits for the next chunk."""

    def __init__(self, longest: int) -> None:
        self.at = 0.0
        self._longest = longest
        self._rest = b""

    def split(self, chunk: _Chunk) -> list[bytes]:
        self.at = chunk.at
        lines = (self._rest + chunk.text).splitlines(keepends=True)
        self._rest = b""
        if lines and not lines[-1].endswith(b"\n"):  # a \r may be half of an ending
            *pieces, self._rest = self._cut(lines.pop())
            lines += pieces
        if lines and max(map(len, lines)) > self._longest:
            lines = [piece for line in lines for piece in self._cut(line)]
        return lines

    def finish(self) -> list[bytes]:
        rest, self._rest = self._rest, b""
        return [rest] if rest else []

    def _cut(self, line: bytes) -> list[bytes]:
        longest = self._longest
        return [line[start : start + longest] for start in range(0, len(line), longest)]


class _Gap(NamedTuple):
    """What was dropped, and whether it ends in the middle of a line."""

    size: int = 0
    lines: int = 0
    is_within_a_line: bool = False

    def and_(self, text: bytes) -> "_Gap":
        lines = self.lines + _endings(text)
        return _Gap(self.size + len(text), lines, not text.endswith(b"\n"))


class _Tail:
    """The newest chunks; the oldest are dropped, and counted, for as long as enough remain."""

    def __init__(self, most: int) -> None:
        self.begun = 0.0
        self._most = most
        self._size = 0
        self._chunks: deque[_Chunk] = deque()
        self._gap = _Gap()

    def __len__(self) -> int:
        return len(self._chunks)

    def add(self, chunk: _Chunk) -> None:
        if not self._chunks:
            self.begun = chunk.at
        self._chunks.append(chunk)
        self._size += len(chunk.text)
        while self._size - len(self._chunks[0].text) >= self._most:
            text = self._chunks.popleft().text
            self._size -= len(text)
            self._gap = self._gap.and_(text)

    def take(self) -> tuple[_Gap, list[_Chunk]]:
        """What was dropped since the last time, and what was not."""
        taken = self._gap, list(self._chunks)
        self._gap, self._size = _Gap(), 0
        self._chunks.clear()
        return taken


def _endings(text: bytes) -> int:
    returns = text.count(b"\r")
    return text.count(b"\n") + (returns - text.count(b"\r\n") if returns else 0)
