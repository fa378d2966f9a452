"""Log entries as the API shows them. Pure: other programs write these, too."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from watchbell.web.archive.log_shapes import Kind, LogLine, ResponsePoint, Responses

_CLASSES = ("r1xx", "r2xx", "r3xx", "r4xx", "r5xx", "runk")
_STEP = 60
_KINDS: dict[str, Kind] = {"download": "download", "ignore": "ignore"}


def lines(entries: Iterable[bytes]) -> list[LogLine]:
    found = []
    for entry in entries:
        try:
            found.append(line(msgspec.json.decode(entry.decode(errors="replace"))))
        except msgspec.MsgspecError:
            found.append(LogLine(index=0, type="stdout", ts=0, message=_text(entry)))
    return found


def _text(entry: bytes) -> str:
    return entry[:4_096].decode(errors="replace")


def line(entry: Any) -> LogLine:
    """Fields that make no sense count as absent."""
    if not isinstance(entry, dict):
        return LogLine(index=0, type="stdout", ts=0, message=str(entry)[:4_096])
    code = entry.get("response_code")
    return LogLine(
        index=int(_number(entry.get("index"))),
        type=_KINDS.get(_word(entry.get("type")), "stdout"),
        ts=_number(entry.get("ts")),
        url=_word(entry.get("url")),
        response_code=int(code) if isinstance(code, int) and 0 < code < 1_000 else None,
        wget_code=_word(entry.get("wget_code")),
        is_error=entry.get("is_error") is True,
        is_warning=entry.get("is_warning") is True,
        pattern=_word(entry.get("pattern")),
        message=_word(entry.get("message")),
    )


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e15 else 0


def _word(value: Any) -> str:
    return value[:8_192] if isinstance(value, str) else ""


def responses(counts: Mapping[str, int]) -> Responses:
    """Of fields `TIMESTAMP CLASS`, and `step`."""
    points: dict[int, dict[str, int]] = {}
    for name, count in counts.items():
        at, _, kind = name.partition(" ")
        if kind in _CLASSES and at.isascii() and at.isdigit() and len(at) < 12:
            points.setdefault(int(at), {})[kind] = count
    return Responses(
        step=counts.get("step", 0) or _STEP,
        items=[ResponsePoint(at=at, **found) for at, found in sorted(points.items())],
    )
