"""`watchbell outages`."""

import asyncio

import click
from msgspec import Struct

from watchbell.alerting import history, reports
from watchbell.alerting.reports import Outage
from watchbell.cli.formatting import first, plain
from watchbell.cli.options import opened, print_json
from watchbell.cli.ranges import Asked, over_a_range, told
from watchbell.cli.tables import show_table


class Found(Struct, frozen=True):
    check: str
    start: int
    """Of the range."""
    end: int
    outages: list[Outage]


@over_a_range
def command(asked: Asked) -> None:
    """List outages, the latest first: every stretch of time in which a check was in one state
    other than ok, whether or not in maintenance.

    Example: watchbell outages 'web-*' --from "yesterday 08:00" --to "yesterday 18:00"
    """
    found = asyncio.run(_found(asked))
    if asked.as_json:
        print_json(found)
        return
    pieces = [(one.check, outage) for one in found for outage in one.outages]
    pieces.sort(key=lambda piece: (-piece[1].start, piece[0]))
    lines = [[plain(check), *told(outage, asked.now)] for check, outage in pieces]
    rows, more = first(lines, asked.limit)
    if not rows:
        click.echo("There was no outage.")
        return
    show_table(["check", "state", "from", "to", "for", "summary"], rows)
    if more:
        click.echo(more)


async def _found(asked: Asked) -> list[Found]:
    start, end = asked.start, asked.end
    async with opened(asked.settings) as store:
        ids = await history.matching(store, asked.pattern, disabled=asked.show_all)
        return [
            Found(event_id, start, end, outages)
            async for event_id, changes in history.histories(store, ids, start, end)
            if (outages := reports.outages(changes, start, end))
        ]
