"""The chunked transfer coding: where a body in it ends, and what it carries. Pure."""

import re

from watchbell.archive.fetching.model import FetchFailed

_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]*)?\r*\Z")
_LONGEST_LINE = 4_096
_MOST_TRAILERS = 65_536


class Chunks:
    """Reads the framing of one body, a piece at a time."""

    is_complete = False
    ends_by_closing = False

    def __init__(self) -> None:
        self._left = 0
        """Bytes of the chunk that are still to come."""
        self._line = b""
        """The beginning of a line that goes on in the next piece."""
        self._expects = self._size_line
        self._trailers = 0
        self.carried: list[bytes] | None = None
        """What the chunks of the last piece carry. None: not wanted."""

    def take(self, piece: bytes, start: int) -> int:
        """Where the body ends in a piece that it continues in at `start`. FetchFailed where the
        framing is broken."""
        if self.carried is not None:
            self.carried.clear()
        at = start
        while at < len(piece) and not self.is_complete:
            at = self._data(piece, at) if self._left else self._read_line(piece, at)
        return at

    def _data(self, piece: bytes, at: int) -> int:
        used = min(self._left, len(piece) - at)
        if self.carried is not None:
            self.carried.append(piece[at : at + used])
        self._left -= used
        return at + used

    def _read_line(self, piece: bytes, at: int) -> int:
        end = piece.find(b"\n", at)
        self._line += piece[at:] if end < 0 else piece[at:end]
        if len(self._line) > _LONGEST_LINE:
            raise _broken("a line is too long")
        if end < 0:
            return len(piece)
        line, self._line = self._line, b""
        self._expects(line)
        return end + 1

    def _size_line(self, line: bytes) -> None:
        found = _SIZE.match(line)
        if not found:
            raise _broken(f"{line[:20]!r} is not a size")
        self._left = int(found[1], 16)
        self._expects = self._end_of_data if self._left else self._trailer

    def _end_of_data(self, line: bytes) -> None:
        if line.strip(b"\r"):
            raise _broken("a chunk is longer than its size")
        self._expects = self._size_line

    def _trailer(self, line: bytes) -> None:
        self._trailers += len(line)
        if self._trailers > _MOST_TRAILERS:
            raise _broken("too many trailers")
        self.is_complete = not line.strip(b"\r")


def _broken(why: str) -> FetchFailed:
    return FetchFailed(f"broken chunks: {why}", truncated="unspecified")
