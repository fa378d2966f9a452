"""What reports over a range of time have in common: their options, and outages as rows."""

import functools
from collections.abc import Callable
from typing import Any

import click
from msgspec import Struct

from watchbell.alerting.reports import Outage
from watchbell.cli.arguments import disabled_too, limited, moment, storable
from watchbell.cli.formatting import briefly, plain, when
from watchbell.cli.options import as_json, with_settings
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings


class Asked(Struct, frozen=True, kw_only=True):
    """Which checks a report is about, from when to when, and how it is to be shown."""

    settings: Settings
    pattern: str
    show_all: bool
    start: int
    end: int
    now: int
    limit: int
    as_json: bool


def over_a_range(command: Callable[[Asked], None]) -> Any:
    """A command with a pattern of checks, --from, --to, --all, --limit and --json."""

    @functools.wraps(command)
    def asked(*, loaded: Loaded, start: int, end: int, **given: Any) -> None:
        now = int(SYSTEM.now())
        if end <= start:
            raise Refused(f"the range ends before it begins: from {when(start)} to {when(end)}")
        if now <= start:
            raise Refused(f"the range is yet to come: from {when(start)} to {when(end)}")
        command(Asked(settings=loaded.settings, start=start, end=min(end, now), now=now, **given))

    made: Any = asked
    for option in (
        as_json,
        with_settings(),
        limited(100),
        disabled_too,
        click.option("--to", "end", type=moment, default="now", show_default=True, metavar="TIME"),
        click.option(
            "--from", "start", type=moment, default="7 days ago", show_default=True, metavar="TIME"
        ),
        click.argument("pattern", metavar="[ENTITY[:CHECK]]", type=storable, default="*"),
        click.command,
    ):
        made = option(made)
    return made


def told(outage: Outage, now: int) -> list[str]:
    """State, from, to, for and summary of an outage."""
    lasts = outage.end is None or outage.end >= now
    return [
        plain(outage.state),
        when(outage.start),
        "still so" if lasts else when(outage.end),
        briefly(outage.duration or 0),
        plain(outage.summary),
    ]
