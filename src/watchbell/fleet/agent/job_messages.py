r"""Separates what a job prints into its log and the messages that it sends us.

A line is a message if it is a JSON object all of whose keys are those of messages, or that has
`"xy": 1`. Works on chunks of many lines: nothing is done for each line, only for those that begin
like a message.
"""

import re
from typing import Any, NamedTuple

import msgspec

from watchbell.fleet.agent.masking import Masker

KEYS = (
    *("progress", "status", "code", "description", "complete", "perf", "table", "html", "text"),
    *("markdown", "label", "data", "files", "push", "update_event"),
    "workflowData",
)
"""What a job may say about itself."""

LONGEST_LINE = 64 << 10
"""Bytes of a line after which it is not waited for its end."""
LONGEST_MESSAGE = 4 << 20
"""Bytes of a message; what is longer is log."""

_KEY = b"|".join(key.encode() for key in KEYS)
# Both begin with a literal, for which the text is searched quickly.
_BEGINNING = re.compile(rb'\{[ \t]*"(?:xy|' + _KEY + rb')"[ \t]*:')
_MARKED = re.compile(rb'"xy"[ \t]*:')
_PERCENT = re.compile(rb"%[ \t]*\r?(?:\n|\Z)")
_INDENT = 64
"""Bytes of white space that may precede a message."""
_ONLY_INDENT = re.compile(rb"(?:\A|\n)[ \t]*\Z")
_PERCENTAGE = re.compile(rb"(?:\A|\n)[ \t]*(\d{1,3})\Z")
_ENDS = b" \t\r\n"
_decode = msgspec.json.Decoder().decode


def is_too_long(broken: bytes) -> bool:
    """Whether a line is only the beginning of one that was not waited for."""
    return len(broken) >= LONGEST_MESSAGE - LONGEST_LINE


class Parsed(NamedTuple):
    text: bytes
    """What belongs to the log."""
    messages: list[dict[str, Any]]
    broken: list[bytes]
    """Lines that begin like a message and are not valid JSON; they are part of the text."""


class JobOutput:
    """Feed it with what the job prints. Of what it has not returned yet, it holds the bytes from
    `position` on."""

    def __init__(
        self,
        masker: Masker,
        *,
        position: int = 0,
        is_within_line: bool = False,
        reads_messages: bool = True,
        reads_percentages: bool = False,
    ) -> None:
        self._masker = masker
        self._reads_messages, self._reads_percentages = reads_messages, reads_percentages
        self._held = b""
        self.position = position
        """Bytes of the output that were returned."""
        self.is_within_line = is_within_line
        """Whether the last text ended before its line did."""

    def feed(self, chunk: bytes) -> Parsed:
        content = self._held + chunk
        cut = self._cut(content, len(self._held))
        self._held = content[cut:]
        return self._parse(content[:cut])

    def finish(self) -> Parsed:
        """A last line without an end counts as a line."""
        content, self._held = self._held, b""
        return self._parse(content)

    def _cut(self, content: bytes, known: int) -> int:
        """Where the part ends that can be returned. `known` bytes contain no end of a line."""
        newline = content.rfind(b"\n", known) + 1
        # A progress bar shows each of its steps. A \r at the end may be half of an ending.
        returned = content.rfind(b"\r", max(newline, known - 1, 0), len(content) - 1) + 1
        cut = newline
        if returned > newline and not self._may_be_message(content, newline):
            cut = returned
        left = len(content) - cut
        if left <= LONGEST_LINE:
            return cut
        if left <= LONGEST_MESSAGE and self._may_be_message(content, cut):
            return cut
        return max(self._masker.safe_cut(content, _character_end(content)), cut)

    def _may_be_message(self, content: bytes, start: int) -> bool:
        begins_line = start > 0 or not self.is_within_line
        beginning = content[start : start + _INDENT].lstrip(b" \t")
        return self._reads_messages and begins_line and beginning.startswith(b"{")

    def _parse(self, raw: bytes) -> Parsed:
        self.position += len(raw)
        content = self._masker.mask(raw)
        if not content:
            return Parsed(b"", [], [])
        found: list[tuple[int, int, dict[str, Any]]] = []
        broken: list[bytes] = []
        if self._reads_messages and b"{" in content:
            self._find_messages(content, found, broken)
        if self._reads_percentages and b"%" in content:
            self._find_percentages(content, found)
        text = _without(content, found) if found else content
        self.is_within_line = not content.endswith((b"\n", b"\r"))
        return Parsed(text, [message for _, _, message in found], broken)

    def _find_messages(
        self,
        content: bytes,
        found: list[tuple[int, int, dict[str, Any]]],
        broken: list[bytes],
    ) -> None:
        starts = {one.start() for one in _BEGINNING.finditer(content)}
        if b'"xy"' in content:
            starts |= _line_braces(content)
        for start in sorted(starts):
            line_start = self._line_start(content, start)
            if line_start is None:
                continue
            end = content.find(b"\n", start) + 1 or len(content)
            line = content[start:end].rstrip(_ENDS)
            message = _message(line) if line.endswith(b"}") else None
            if message:
                found.append((line_start, end, message))
            elif message is None and _BEGINNING.match(line):
                broken.append(line)

    def _line_start(self, content: bytes, start: int) -> int | None:
        """Where the line begins in which only white space precedes `start`; else None."""
        beginning = max(start - _INDENT, 0)
        indent = _ONLY_INDENT.search(content[beginning:start])
        if indent is None:
            return None
        at = beginning + indent.start()
        if content[at : at + 1] == b"\n" and at < start:
            return at + 1
        return 0 if at == 0 and not self.is_within_line else None

    def _find_percentages(
        self, content: bytes, found: list[tuple[int, int, dict[str, Any]]]
    ) -> None:
        for one in _PERCENT.finditer(content):
            beginning = max(one.start() - _INDENT, 0)
            number = _PERCENTAGE.search(content[beginning : one.start()])
            if number is None:
                continue
            line_start = self._line_start(content, beginning + number.start(1))
            if line_start is not None:
                found.append((line_start, one.end(), {"progress": int(number[1]) / 100}))
        found.sort(key=lambda item: item[0])


def _message(line: bytes) -> dict[str, Any] | None:
    """The message in a line; empty if it is another JSON value, None if it is not JSON."""
    try:
        value = _decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    if not isinstance(value, dict):
        return {}
    is_message = value.get("xy") == 1 or all(key in KEYS for key in value)
    return value if is_message else {}


def _line_braces(content: bytes) -> set[int]:
    """The first braces of lines in which `"xy"` is a key."""
    starts = set()
    position = 0
    while marked := _MARKED.search(content, position):
        line_start = content.rfind(b"\n", position, marked.start()) + 1 or position
        brace = content.find(b"{", line_start, line_start + _INDENT + 1)
        if brace >= 0:
            starts.add(brace)
        position = content.find(b"\n", marked.end()) + 1
        if not position:
            break
    return starts


def _without(content: bytes, found: list[tuple[int, int, dict[str, Any]]]) -> bytes:
    parts = []
    position = 0
    for start, end, _ in found:
        parts.append(content[position:start])
        position = end
    parts.append(content[position:])
    return b"".join(parts)


def _character_end(content: bytes) -> int:
    """The length, less the beginning of a character in UTF-8 whose other bytes are missing."""
    length = len(content)
    for back in range(1, min(4, length) + 1):
        byte = content[length - back]
        if byte & 0xC0 == 0x80:
            continue
        size = 1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
        return length - back if size > back else length
    return length
