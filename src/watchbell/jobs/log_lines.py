"""The output of a job in chunks, as its agent sent them, and the lines in them."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from watchbell.runs.output_store import OutputLine

LONGEST = 64 << 10
"""Bytes of a line that are shown; the whole line is in the log that people download."""


class Chunk(Struct, frozen=True, array_like=True):
    at: float
    """When it was read."""
    offset: int
    """Bytes of output before it."""
    line: int
    """Lines that ended before it; it may begin within a line, or end within one."""
    text: bytes

    @property
    def end(self) -> int:
        return self.offset + len(self.text)

    @property
    def following(self) -> int:
        """Lines that ended before the end of it."""
        return self.line + self.text.count(b"\n")


class _Open:
    """A line whose end is not found yet."""

    def __init__(self, number: int, at: float, *, is_whole: bool) -> None:
        self.number, self.at = number, at
        self._is_whole = is_whole
        self._size, self._parts = 0, list[bytes]()

    def add(self, text: bytes) -> None:
        room = LONGEST - self._size
        if room > 0:
            self._parts.append(text[:room])
        self._size += len(text)

    def closed(self) -> OutputLine:
        text = b"".join(self._parts)
        if not self._is_whole:
            text = "… ".encode() + text
        if self._size > LONGEST:
            left = self._size - LONGEST
            text += f" … {left:,} more bytes; download the log to read them\n".encode()
        return OutputLine(self.number, self.at, text)


def lines(chunks: Iterable[Chunk], *, is_begin: bool) -> list[OutputLine]:
    """The lines of consecutive chunks, numbered from 1; the last may not have ended yet.

    Unless the first chunk begins a line (`is_begin`), its first line is marked as incomplete.
    """
    found: list[OutputLine] = []
    open_line: _Open | None = None
    end = -1
    for chunk in chunks:
        if open_line is not None and chunk.offset != end:
            found.append(open_line.closed())  # what came in between was left out
            open_line = None
        number, end = chunk.line, chunk.end
        for piece in _pieces(chunk.text):
            number += 1
            if open_line is None:
                is_whole = is_begin or bool(found)
                open_line = _Open(number, chunk.at, is_whole=is_whole)
            open_line.add(piece)
            if piece.endswith(b"\n"):
                found.append(open_line.closed())
                open_line = None
    if open_line is not None:
        found.append(open_line.closed())
    return found


def _pieces(text: bytes) -> Sequence[bytes]:
    """The text cut after each newline."""
    pieces = [piece + b"\n" for piece in text.split(b"\n")]
    pieces[-1] = pieces[-1][:-1]
    return pieces if pieces[-1] else pieces[:-1]
