"""`watchbell outages`."""

import asyncio

import click
from msgspec import Struct

from watchbell.alerting import history, reports
from watchbell.alerting.reports import Outage
from watchbell.cli.options import as_json, opened, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.cli.telling import (
    briefly,
    disabled_too,
    first,
    limited,
    meant,
    moment,
    plain,
    storable,
    when,
)
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings


class Found(Struct, frozen=True):
    check: str
    start: int
    """Of the range."""
    end: int
    outages: list[Outage]


@click.command
@click.argument("pattern", metavar="[ENTITY[:CHECK]]", type=storable, default="*")
@click.option(
    "--from", "start", type=moment, default="7 days ago", show_default=True, metavar="TIME"
)
@click.option("--to", "end", type=moment, default="now", show_default=True, metavar="TIME")
@disabled_too
@limited(100)
@with_settings()
@as_json
def command(
    *,
    loaded: Loaded,
    pattern: str,
    start: int,
    end: int,
    show_all: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List outages, the latest first: every stretch of time in which a check was in one state
    other than ok, whether or not in maintenance.

    Example: watchbell outages 'web-*' --from "yesterday 08:00" --to "yesterday 18:00"
    """
    now = int(SYSTEM.now())
    found = asyncio.run(_found(loaded.settings, pattern, show_all, *limits(start, end, now)))
    if as_json:
        print_json(found)
        return
    pieces = [(one.check, outage) for one in found for outage in one.outages]
    pieces.sort(key=lambda piece: (-piece[1].start, piece[0]))
    rows, more = first([[plain(check), *told(outage, now)] for check, outage in pieces], limit)
    if not rows:
        click.echo("There was no outage.")
        return
    show_table(["check", "state", "from", "to", "for", "summary"], rows)
    if more:
        click.echo(more)


def limits(start: int, end: int, now: int) -> tuple[int, int]:
    """The range of a report, which ends now at the latest."""
    if min(end, now) <= start:
        raise Refused(f"the range ends before it begins: from {when(start)} to {when(end)}")
    return start, min(end, now)


def told(outage: Outage, now: int) -> list[str]:
    lasts = outage.end is None or outage.end >= now
    return [
        plain(outage.state),
        when(outage.start),
        "still so" if lasts else when(outage.end),
        briefly(outage.duration or 0),
        plain(outage.summary),
    ]


async def _found(
    settings: Settings, pattern: str, show_all: bool, start: int, end: int
) -> list[Found]:
    async with opened(settings) as store:
        ids = await meant(store, pattern, disabled=show_all)
        return [
            Found(event_id, start, end, outages)
            async for event_id, changes in history.histories(store, ids, start, end)
            if (outages := reports.outages(changes, start, end))
        ]
