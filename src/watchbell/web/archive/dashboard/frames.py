"""Log entries as frames of a WebSocket. Each is encoded and compressed once, for all viewers."""

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from watchbell.web.archive.dashboard.job_data import as_text, without_logins

LARGEST = 256 << 10
"""Bytes of a frame, at most. What other programs make larger is left out."""
WINDOW_BITS = 15
_TAIL = b"\x00\x00\xff\xff"
_TEXT, _DEFLATED_TEXT = 0x81, 0xC1
"""First bytes: one frame is the whole message, which is text."""
_SMALLEST = 64
"""Bytes from which on a frame is compressed."""


class _Batch(Struct):
    ident: str
    job_data: dict[str, str]
    entries: list[Any]


class Deflater:
    """Compresses messages so that each can be read without those before it. After a full flush
    nothing refers to what was before, which costs a sixth of a new compressor for each."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(wbits=-WINDOW_BITS)

    def deflate(self, message: bytes) -> bytes:
        whole = self._compressor.compress(message) + self._compressor.flush(zlib.Z_FULL_FLUSH)
        return whole.removesuffix(_TAIL)


class Frame:
    """A text message. It is compressed when the first viewer wants it so."""

    __slots__ = ("_deflated", "_deflater", "_message", "plain")

    def __init__(self, message: bytes, deflater: Deflater) -> None:
        self._message, self._deflater = message, deflater
        self._deflated = b""
        self.plain = _framed(_TEXT, message)

    def __len__(self) -> int:
        return len(self.plain)

    def deflated(self) -> bytes:
        if len(self._message) < _SMALLEST:
            return self.plain
        if not self._deflated:
            packed = self._deflater.deflate(self._message)
            self._deflated = _framed(_DEFLATED_TEXT, packed)
        return self._deflated


def _framed(first: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", first, size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", first, 126, size)
    else:
        head = struct.pack("!BBQ", first, 127, size)
    return head + payload


def messages(body: bytes) -> Iterator[bytes]:
    """A message for each entry of a batch, as it is broadcast; none for a batch that makes no
    sense."""
    try:
        batch = msgspec.json.decode(body.decode(errors="replace"), type=_Batch)
    except (msgspec.MsgspecError, RecursionError):
        return
    job = msgspec.json.encode(as_text(batch.ident, batch.job_data))
    for entry in batch.entries if len(job) < LARGEST else ():
        if isinstance(entry, dict):
            message = _message(batch.ident, job, entry)
            if len(message) < LARGEST:
                yield message


def _message(ident: str, job: bytes, entry: dict[str, Any]) -> bytes:
    whole = {**entry, "job_data": Raw(job), "ident": ident}
    return without_logins(msgspec.json.encode(whole))
