"""`watchbell outages`."""

import asyncio

import click
from msgspec import Struct

from watchbell.alerting import history, reports
from watchbell.alerting.reports import Outage
from watchbell.cli.formatting import first, plain
from watchbell.cli.options import print_json
from watchbell.cli.ranges import Asked, outage_row, over_a_range
from watchbell.cli.tables import show_table
from watchbell.store.opening import opened


class Found(Struct, frozen=True):
    check: str
    start: int
    """Of the range."""
    end: int
    outages: list[Outage]


@over_a_range
def command(asked: Asked) -> None:
    """List outages, newest first: every period in which a check was in a state other than ok, in
    maintenance or not.

    Example: watchbell outages 'web-*' --from "yesterday 08:00" --to "yesterday 18:00"
    """
    found = asyncio.run(_found(asked))
    if asked.as_json:
        print_json(found)
        return
    pieces = [(one.check, outage) for one in found for outage in one.outages]
    pieces.sort(key=lambda piece: (-piece[1].start, piece[0]))
    lines = [[plain(check), *outage_row(outage, asked.now)] for check, outage in pieces]
    rows, more = first(lines, asked.limit)
    if not rows:
        click.echo("No outages.")
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
