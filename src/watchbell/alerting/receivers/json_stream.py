"""JSON objects from a stream: one per line, indented, or in an array."""

import re

from msgspec import Struct

from watchbell.alerting.event import MOST_BYTES

# No string of JSON goes beyond its line, so a broken one spoils no more than its object.
# The group is how the string ends; there is none where its end is yet to come.
_STRING = rb'"(?:[^"\\\n]++|\\[^\n])*+(?:("|\\?\n)|\\?\Z)'
_WITHIN = re.compile(_STRING + rb"|[{}\n]")
# Brackets and commas between objects are those of an array.
_BETWEEN = re.compile(_STRING + rb'|[{\n]|[\[\],]|[^\s{"\[\],]+')


class Piece(Struct, frozen=True):
    line: int
    column: int
    raw: bytes
    problem: str = ""
    """Why this is not an object; empty if it looks like one."""


class Cutter:
    """Splits a stream, given in chunks, into objects and what is not an object.

    A brace at the very beginning of a line always begins an object, since events have no objects
    in them: so one that is not closed takes no other with it. After something malformed it goes on
    at the next line whose first character is a brace.
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._at = 0
        self._line, self._line_at = 1, 0
        self._is_line_blank = True
        self._depth = 0
        self._begin = (0, 1, 1)  # of the object: where in the buffer, line, column
        self._is_lost = False  # behind something malformed
        self._is_reported = False  # of what stands between the objects of this line

    def feed(self, chunk: bytes) -> list[Piece]:
        self._buffer += chunk
        pieces: list[Piece] = []
        while token := (_WITHIN if self._depth else _BETWEEN).search(self._buffer, self._at):
            first, last = token[0][:1], token[0][-1:]
            if first == b'"' and token[1] is None:
                self._at = token.start()
                break
            self._at = token.end()
            pieces += self._within(first, token) if self._depth else self._between(first, token)
            self._is_line_blank = last == b"\n"
            if self._is_line_blank:
                self._line, self._line_at, self._is_reported = self._line + 1, self._at, False
        else:
            self._at = len(self._buffer)
        self._forget()
        if len(self._buffer) > MOST_BYTES:
            pieces += self._overflow()
        return pieces

    def end(self) -> list[Piece]:
        """What is left at the end of the stream."""
        if self._depth:
            return [self._malformed("the object is not closed")]
        return self._garbage(self._at) if self._buffer[self._at :].strip() else []

    def _between(self, first: bytes, token: re.Match[bytes]) -> list[Piece]:
        if first == b"{" and (self._is_line_blank or not self._is_lost):
            self._open(token.start())
        elif first not in b"{\n[],":
            return self._garbage(token.start())
        return []

    def _within(self, first: bytes, token: re.Match[bytes]) -> list[Piece]:
        if first == b"{" and token.start() == self._line_at:
            unclosed = self._malformed("the object is not closed")
            self._open(token.start())
            return [unclosed]
        if first == b'"' and token[0].endswith(b"\n"):
            return [self._malformed("a string is not closed")]
        self._depth += (first == b"{") - (first == b"}")
        if not self._depth:
            begin, line, column = self._begin
            return [Piece(line, column, self._buffer[begin : self._at])]
        return []

    def _open(self, begin: int) -> None:
        self._begin = (begin, self._line, begin - self._line_at + 1)
        self._depth, self._is_lost, self._is_reported = 1, False, False

    def _garbage(self, begin: int) -> list[Piece]:
        if self._is_lost or self._is_reported:
            return []
        self._is_reported = True
        return [Piece(self._line, begin - self._line_at + 1, b"", "expected an object")]

    def _malformed(self, problem: str) -> Piece:
        begin, line, column = self._begin
        self._depth, self._is_lost = 0, True
        return Piece(line, column, self._buffer[begin : self._at], problem)

    def _overflow(self) -> list[Piece]:
        pieces = self._garbage(self._at)
        if self._depth:
            pieces = [self._malformed(f"longer than {MOST_BYTES:,} bytes")]
        self._at = len(self._buffer)
        self._is_lost, self._is_line_blank = True, False
        self._forget()
        return pieces

    def _forget(self) -> None:
        """Drops what was read, up to the unfinished object."""
        begin, line, column = self._begin
        done = begin if self._depth else self._at
        self._buffer = self._buffer[done:]
        self._at, self._line_at = self._at - done, self._line_at - done
        self._begin = (begin - done, line, column)
