"""Lines of IRC: read from a server, and written so that they fit and carry no control characters.

Pure."""

import re
from collections.abc import Iterator

from msgspec import Struct

LONGEST = 512
"""Bytes of a line, its end included."""
_OWN_PREFIX = 120
"""Bytes that a server puts before a line of ours as it passes it on, if it has not told us yet."""
_NARROW = 40
_FORMATS = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|[\x02\x04\x0f\x11\x16\x1d\x1e\x1f]")
_FOLDED = str.maketrans("[]\\~", "{}|^")
_CHANNEL = re.compile(r"[#&+!][^\s,\x00-\x1f\x7f]{1,49}")
_NICK = re.compile(r"[A-Za-z\[\]\\`_^{|}][A-Za-z0-9\[\]\\`_^{|}-]{0,29}")


class Line(Struct, frozen=True):
    command: str
    """In capitals, or three digits."""
    words: tuple[str, ...] = ()
    source: str = ""
    """`NICK!USER@HOST`, or a server."""

    @property
    def nick(self) -> str:
        return self.source.partition("!")[0]

    def word(self, number: int) -> str:
        """Empty where there are fewer."""
        return self.words[number] if number < len(self.words) else ""


def read(raw: bytes) -> Line | None:
    """None for what is no line of the protocol."""
    text = raw.decode(errors="replace").strip("\r\n")
    if text.startswith("@"):  # tags
        text = text.partition(" ")[2]
    text, source = text.lstrip(" "), ""
    if text.startswith(":"):
        source, _, text = text[1:].partition(" ")
    head, mark, rest = text.lstrip(" ").partition(" :")
    command, *words = head.split(" ") if head else [""]
    if not re.fullmatch(r"[A-Za-z]+|[0-9]{3}", command):
        return None
    found = [word for word in words if word]
    return Line(command.upper(), (*found, rest) if mark else tuple(found), source)


def command(*words: str) -> bytes:
    """A line for the server; the last word may have blanks."""
    *first, last = [_clean(word) for word in words]
    mark = ":" if not last or " " in last or last.startswith(":") else ""
    text = " ".join([*(one.replace(" ", "") for one in first), mark + last])
    return _cut(text.encode(errors="replace"), LONGEST - 2) + b"\r\n"


def messages(to: str, text: str, prefix: int = _OWN_PREFIX, most: int = 5) -> list[bytes]:
    """The text as lines to a person or channel, at most so many. `prefix`: bytes of our own
    `NICK!USER@HOST`."""
    head = f"PRIVMSG {_clean(to).replace(' ', '')} :".encode()
    room = LONGEST - 2 - len(head) - (prefix + 2)
    pieces = _pieces(_clean(text).strip().encode(errors="replace"), max(_NARROW, room))
    return [head + piece + b"\r\n" for _, piece in zip(range(most), pieces, strict=False)]


def _pieces(text: bytes, room: int) -> Iterator[bytes]:
    while text:
        piece = _cut(text, room)
        if len(piece) < len(text):
            blank = piece.rfind(b" ")
            piece = piece[:blank] if blank > room // 2 else piece
        yield piece
        text = text[len(piece) :].lstrip(b" ")


def _cut(text: bytes, room: int) -> bytes:
    """No more bytes than there is room for, without a part of a character at the end."""
    return text[:room].decode(errors="ignore").encode()


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def without_formats(text: str) -> str:
    """What somebody wrote, without colours and other formats."""
    return _FORMATS.sub("", text)


def folded(name: str) -> str:
    """Names that differ only in case are the same; `[` is the capital of `{`."""
    return name.lower().translate(_FOLDED)


def is_channel(name: str) -> bool:
    return _CHANNEL.fullmatch(name) is not None


def is_nick(name: str) -> bool:
    return _NICK.fullmatch(name) is not None
