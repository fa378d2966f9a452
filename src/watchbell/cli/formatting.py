"""How checks are asked for and told to people: names on one line, times in the reader's zone."""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from watchbell import settings
from watchbell.alerting import history, phrases
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound, Refused
from watchbell.schedule import spoken
from watchbell.store.client import Store

_LOCAL = Path("/etc/localtime")


def storable(value: str) -> str:
    """The text of an argument as a store can keep it, whatever bytes it was typed in."""
    return value.encode(errors="replace").decode()


def length(value: str) -> int:
    """Seconds of an argument such as `4 hours`; at least one."""
    try:
        return phrases.length(value)
    except Refused as refused:
        raise click.BadParameter(str(refused)) from None


def moment(value: str) -> int:
    """Seconds since 1970 of an argument such as `tomorrow 08:00`, in the reader's zone."""
    try:
        found = phrases.moment(value, SYSTEM.now(), zone())
    except Refused as refused:
        raise click.BadParameter(str(refused)) from None
    if remark := spoken.remark(value):
        click.echo(f"watchbell: {remark}", err=True)
    return found


def limited(default: int) -> Callable[[Any], Any]:
    return click.option(
        "--limit",
        type=click.IntRange(0),
        default=default,
        show_default=True,
        metavar="N",
        help="How many rows at most; 0 for all.",
    )


def disabled_too(command: Any) -> Any:
    option = click.option("--all", "show_all", is_flag=True, help="Disabled checks, too.")
    return option(command)


def zone() -> ZoneInfo:
    """The zone of whoever reads: TZ, else the machine's, else UTC."""
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
    """The text on one line, with everything spelled out that a terminal would act on."""
    short = text or ""
    short = short if len(short) <= longest else short[: longest - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in short)


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first(rows: Sequence[list[str]], limit: int) -> tuple[Sequence[list[str]], str]:
    """As many rows as are wanted, and a line about the others."""
    if not limit or len(rows) <= limit:
        return rows, ""
    return rows[:limit], others(len(rows) - limit)


def others(number: int) -> str:
    """A line about rows that are not shown; empty where all are."""
    return f"\n{number:,} more; --limit 0 shows all." if number > 0 else ""


async def meant(store: Store, pattern: str, *, disabled: bool = False) -> list[str]:
    """The checks that a pattern means; NotFound where it means none, and is not simply `*`."""
    ids = await history.find(store, pattern, disabled=disabled)
    if ids or pattern == "*":
        return ids
    if not disabled and await history.find(store, pattern, disabled=True):
        raise NotFound(f"what {plain(pattern)!r} means is disabled; --all shows it")
    raise NotFound(
        f"no check is meant by {plain(pattern)!r}; expected ENTITY, ENTITY:CHECK, or globs or "
        "/expressions/ of these"
    )
