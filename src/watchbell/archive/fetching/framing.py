"""Where one response of a server begins and ends, byte for byte. Pure.

Servers of the open web break the rules in many ways. This reads what browsers read, and no byte is
changed or left out. A parser that reports only what it understood could not say where a response
ends, and so what belongs to it.
"""

import re
from typing import Protocol

from msgspec import Struct

from watchbell.archive.fetching.chunks import Chunks
from watchbell.archive.fetching.model import FetchFailed

_START = b"HTTP/"
_STATUS = re.compile(
    rb"HTTP/(\d{1,3})(?:\.(\d{1,3}))?[ \t]+(\d{3})(?:[ \t]+([^\r\n]*))?[ \t]*\r*\n"
)
_END = re.compile(rb"\n\r?\n")
_DIGITS = re.compile(r"\d{1,19}", re.ASCII)
_NO_BODY = (101, 204, 304)

Headers = tuple[tuple[str, str], ...]


class Head(Struct, frozen=True):
    """Status line and headers."""

    status: int
    reason: str
    headers: Headers
    size: int
    is_kept_alive: bool


class Body(Protocol):
    is_complete: bool
    ends_by_closing: bool

    def take(self, piece: bytes, start: int) -> int:
        """Where the body ends in a piece that it continues in at `start`."""


class Framing:
    """Reads one response; fed with what arrives, it tells what belongs to it."""

    def __init__(self, head_size: int) -> None:
        self._most = head_size
        self._body: Body = _Counted(0)
        self.pending = b""
        """What arrived and was not given out: an unfinished head, or what a failure stopped at."""
        self.interim = b""
        self.head: Head | None = None
        self.has_more = False
        """Whether the server sent more than this response."""

    @property
    def is_complete(self) -> bool:
        return self.head is not None and self._body.is_complete

    def feed(self, piece: bytes) -> bytes:
        """What is known to belong to the response now. FetchFailed if it can't be read."""
        start = 0
        if self.head is None:
            piece, start = self._after_interim(self.pending + piece if self.pending else piece)
            if not start:
                return b""
        self.pending = piece
        end = self._body.take(piece, start)
        self.pending = b""
        if end < len(piece):
            self.has_more = True
            return piece[:end]
        return piece

    def closed(self, reason: str) -> FetchFailed | None:
        """What it means that the connection has ended. `reason` is empty if the server ended it in
        order."""
        if self.head and (self._body.is_complete or (self._body.ends_by_closing and not reason)):
            return None
        if self.head:
            where = "within the body"
        else:
            where = "within the headers" if self.pending else "without a response"
        error = f"connection closed {where}{reason and ': '}{reason}"
        return FetchFailed(error, is_retryable=True, truncated="disconnect")

    def _after_interim(self, piece: bytes) -> tuple[bytes, int]:
        """Reads heads until one is final. What remains from its start on, and its size, or 0."""
        seen = max(len(self.pending) - 3, 0)
        while end := _END.search(piece, seen):
            self.pending = piece
            head = _head(piece[: end.end()])
            if not 100 <= head.status < 200 or head.status == 101:
                self._check_size(head.size)
                self.head, self._body = head, _body(head)
                return piece, head.size
            self.interim += piece[: head.size]
            self._check_size(len(self.interim))
            piece = piece[head.size :]
            seen = 0
        self.pending = piece
        if piece[:5] != _START[: len(piece)]:
            raise FetchFailed("not an HTTP response")
        self._check_size(len(piece))
        return piece, 0

    def _check_size(self, size: int) -> None:
        if size > self._most:
            raise FetchFailed(f"headers larger than {self._most:,} bytes")


class _Counted:
    ends_by_closing = False

    def __init__(self, size: int) -> None:
        self._left = size
        self.is_complete = not size

    def take(self, piece: bytes, start: int) -> int:
        used = min(self._left, len(piece) - start)
        self._left -= used
        self.is_complete = not self._left
        return start + used


class _UntilClosed:
    is_complete = False
    ends_by_closing = True

    def take(self, piece: bytes, _start: int) -> int:
        return len(piece)


def _head(raw: bytes) -> Head:
    status_line = _STATUS.match(raw)
    if not status_line:
        raise FetchFailed("not an HTTP response")
    major, minor, status, reason = status_line.groups()
    headers = _headers(raw[status_line.end() :])
    words = named(headers, "connection").lower()
    is_old = (int(major), int(minor or 0)) < (1, 1)
    is_kept = "keep-alive" in words if is_old else "close" not in words
    return Head(int(status), (reason or b"").decode("latin-1"), headers, len(raw), is_kept)


def _headers(raw: bytes) -> Headers:
    found: list[tuple[str, str]] = []
    for line in raw.decode("latin-1").split("\n"):
        if line[:1] in (" ", "\t") and found:
            name, value = found[-1]
            found[-1] = (name, f"{value} {line.strip()}".strip())
            continue
        name, colon, value = line.partition(":")
        if colon:
            found.append((name.strip(), value.strip()))
    return tuple(found)


def named(headers: Headers, name: str) -> str:
    """The values of all headers with this name, which is in lower case, separated by commas."""
    return ",".join([value for one, value in headers if one.lower() == name])


def _body(head: Head) -> Body:
    if head.status in _NO_BODY:
        return _Counted(0)
    codings = [one.strip() for one in named(head.headers, "transfer-encoding").lower().split(",")]
    if "chunked" in codings:
        return Chunks()
    lengths = {one.strip() for one in named(head.headers, "content-length").split(",")}
    if len(lengths) == 1 and _DIGITS.fullmatch(length := lengths.pop()):
        return _Counted(int(length))
    return _UntilClosed()
