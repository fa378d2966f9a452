"""Options of reports over a time range, and outages as rows of a table."""

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
    """The checks and the time range of a report, and how to show it."""

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
            raise Refused(
                f"the time range ends before it starts: from {when(start)} to {when(end)}"
            )
        if now <= start:
            raise Refused(f"the time range is in the future: from {when(start)} to {when(end)}")
        command(Asked(settings=loaded.settings, start=start, end=min(end, now), now=now, **given))

    made: Any = asked
    for option in (
        as_json,
        with_settings(),
        limited(100),
        disabled_too,
        click.option(
            "--to",
            "end",
            type=moment,
            default="now",
            show_default=True,
            metavar="TIME",
            help="End of the time range.",
        ),
        click.option(
            "--from",
            "start",
            type=moment,
            default="7 days ago",
            show_default=True,
            metavar="TIME",
            help="Start of the time range.",
        ),
        click.argument("pattern", metavar="[ENTITY[:CHECK]]", type=storable, default="*"),
        click.command,
    ):
        made = option(made)
    return made


def outage_row(outage: Outage, now: int) -> list[str]:
    """State, from, to, for and summary of an outage."""
    lasts = outage.end is None or outage.end >= now
    return [
        plain(outage.state),
        when(outage.start),
        "now" if lasts else when(outage.end),
        briefly(outage.duration or 0),
        plain(outage.summary),
    ]
