"""`watchbell downtime`."""

import asyncio

import click
from msgspec import Struct

from watchbell.alerting import history, reports
from watchbell.alerting.reports import Outage
from watchbell.cli.options import as_json, opened, print_json, with_settings
from watchbell.cli.outages import limits, told
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
from watchbell.settings import Loaded, Settings

_STATES = ("critical", "warning", "unknown")


class Found(Struct, frozen=True):
    check: str
    start: int
    """Of the range."""
    end: int
    total_seconds: dict[str, int]
    percentages: dict[str, float | None]
    downtime: list[Outage]


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
    """Add up how long checks were down within a range, outside planned maintenance, the worst
    first. Of one check the pieces are listed, too.

    Example: watchbell downtime 'web-*:HTTP' --from 2026-10-01 --to 2026-11-01
    """
    now = int(SYSTEM.now())
    start, end = limits(start, end, now)
    found = asyncio.run(_found(loaded.settings, pattern, show_all, start, end))
    found.sort(key=lambda one: (one.percentages["ok"] or 0, one.check))
    if as_json:
        print_json(found)
        return
    click.echo(f"from {when(start)} to {when(end)}\n")
    rows, more = first([_row(one) for one in found], limit)
    numbers = ["ok", *_STATES, "pieces"]
    show_table(["check", *numbers], rows, right=numbers)
    if more:
        click.echo(more)
    if len(found) == 1 and found[0].downtime:
        click.echo()
        pieces, _ = first([told(outage, now) for outage in found[0].downtime], limit)
        show_table(["state", "from", "to", "for", "summary"], pieces)


def _row(one: Found) -> list[str]:
    seconds = [one.total_seconds.get(state, 0) for state in _STATES]
    return [
        plain(one.check),
        f"{one.percentages['ok']:.3f} %",
        *(briefly(found) if found else "-" for found in seconds),
        str(len(one.downtime)),
    ]


async def _found(
    settings: Settings, pattern: str, show_all: bool, start: int, end: int
) -> list[Found]:
    found = []
    async with opened(settings) as store:
        ids = await meant(store, pattern, disabled=show_all)
        planned = {i: windows async for i, windows in history.windows_of(store, ids, "scheduled")}
        async for event_id, changes in history.histories(store, ids, start, end):
            outages = reports.outages(changes, start, end)
            down = reports.downtime(outages, planned.get(event_id, []), start, end)
            found.append(Found(event_id, start, end, down.seconds, down.percentages, down.pieces))
    return found
