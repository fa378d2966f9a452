"""Values as people read them: names on one line, times in the reader's zone."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from watchbell import settings
from watchbell.schedule import spoken

_LOCAL = Path("/etc/localtime")


def zone() -> ZoneInfo:
    """The reader's time zone: TZ, else the machine's, else UTC."""
    name = settings.environment().get("TZ", "").removeprefix(":")
    try:
        if name:
            return ZoneInfo(name)
        with _LOCAL.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):  # no such zone, or no zones at all
        return ZoneInfo("UTC")


def when(time: int | None) -> str:
    if time is None:
        return "-"
    try:
        return f"{datetime.fromtimestamp(time, zone()):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"@{time}"  # beyond the year 9999


def briefly(seconds: int) -> str:
    """The two largest parts of a length of time."""
    return ", ".join(spoken.in_words(seconds).split(", ")[:2])


def since(time: int | None, now: int) -> str:
    return "-" if time is None else briefly(max(now - time, 0))


def plain(text: str | None, longest: int = 500) -> str:
    """The text on one line, with control characters escaped."""
    short = text or ""
    short = short if len(short) <= longest else short[: longest - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in short)


def first(rows: Sequence[list[str]], limit: int) -> tuple[Sequence[list[str]], str]:
    """The first rows, and a line about those left out."""
    if not limit or len(rows) <= limit:
        return rows, ""
    return rows[:limit], others(len(rows) - limit)


def others(number: int) -> str:
    """A line about rows that are not shown; empty if there are none."""
    return f"\n{number:,} more; --limit 0 shows all." if number > 0 else ""


def short_id(identifier: str) -> str:
    """The beginning of an id of ours, which commands accept; ids of other programs in full."""
    return identifier[:8] if len(identifier) == 32 else identifier
