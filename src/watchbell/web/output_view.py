"""The output of a run or a job as the API shows it."""

import re

from watchbell.runs.output_store import OutputLine, OutputWindow
from watchbell.web.output_shapes import LineShown, News, OutputShown

LIVE_LINES = 1_000
"""The most lines in one event; if there are more, the newest are sent."""
SOONEST, LATEST = 0.25, 1.0
"""Seconds between two reads of a run that prints, and of one that is silent."""
LINGER = 2.0
"""Seconds for which a finished stream waits for its reader to close it: a browser takes a stream
that the server closes for a lost connection, and connects again."""
_POSITION = re.compile(r"(\d{1,12}\.\d{6})-(\d{1,15})")


def lines(found: list[OutputLine]) -> list[LineShown]:
    return [LineShown(one.number, round(one.at, 3), _text(one.text)) for one in found]


def _text(raw: bytes) -> str:
    text = raw.decode(errors="replace")
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def output(window: OutputWindow) -> OutputShown:
    return OutputShown(
        total=window.total,
        complete=window.complete,
        start=window.first,
        lines=lines(window.lines),
    )


def news(window: OutputWindow) -> News:
    return News(
        total=window.total,
        complete=window.complete,
        start=window.first,
        skipped=window.first - window.asked,
        lines=lines(window.lines),
    )


def position(line: OutputLine) -> str:
    """The position after which a reader continues."""
    return f"{line.at:.6f}-{line.number}"


def line_at(position: str) -> OutputLine | None:
    """None for an invalid position."""
    found = _POSITION.fullmatch(position)
    return OutputLine(int(found[2]), float(found[1]), b"") if found else None
