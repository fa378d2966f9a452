"""Cuts the text of an expression into tokens, one at a time."""

import re
from typing import Literal

from msgspec import Struct

from watchbell.expressions.errors import ExpressionError

LONGEST = 10_000
"""Most characters of an expression."""
Kind = Literal["number", "text", "name", "symbol", "end"]

_SPACE = re.compile(r"\s*")
_TOKEN = re.compile(
    r"""(?P<number>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<name>(?:[^\W\d]|\$)[\w$]*)
    |(?P<text>'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")
    |(?P<symbol>//|==|!=|<=|>=|&&|\|\||\?:|[-+*/%^<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_SLASHES = re.compile(r"\[((?:/[\w$-]+|[^\W\d][\w$-]*)(?:/[\w$.-]+)*)\]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}


class Token(Struct, frozen=True):
    kind: Kind
    text: str
    start: int
    """Where it is in the text, from 0."""

    @property
    def position(self) -> int:
        return self.start + 1

    @property
    def shown(self) -> str:
        if self.kind == "end":
            return "the end"
        return f"'{self.text}'" if len(self.text) <= 40 else f"'{self.text[:40]}…'"


def token_at(text: str, start: int, first: int) -> Token:
    """The next token from `start`, of an expression that begins at `first`."""
    blank = _SPACE.match(text, start)
    start = blank.end() if blank else start
    if start == len(text):
        return Token("end", "", start)
    found = _TOKEN.match(text, start)
    if found is None:
        raise ExpressionError(text, start + 1, _unknown(text[start]))
    if found.end() - first > LONGEST:
        raise ExpressionError(
            text, first + 1, f"the expression is longer than {LONGEST:,} characters"
        )
    kind: Kind = found.lastgroup  # type: ignore[assignment]
    return Token(kind, found.group(), start)


def _unknown(char: str) -> str:
    if char in "'\"":
        return f"expected a closing {char}"
    if char in "=&|":
        return f"expected '{char}{char}', found '{char}'"
    return f"expected a value or an operator, found {char!r}"


def slashes_at(text: str, start: int) -> tuple[list[str], int] | None:
    """The names of `[path/to/value]` at `start`, and where it ends."""
    found = _SLASHES.match(text, start)
    if found is None or "/" not in found[1] or found.end() - start > LONGEST:
        return None
    return found[1].removeprefix("/").split("/"), found.end()


def unquoted(quoted: str) -> str:
    """The text between quotes. An unknown escape stays as it is, so that `'\\d+'` is a pattern."""
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    text = _ESCAPE.sub(_unescaped, inner)
    # Two escapes can be one character; one alone is no text.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return _ESCAPES.get(found[2], found[0])
