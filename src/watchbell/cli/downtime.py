"""`watchbell downtime`."""

import asyncio

import click
from msgspec import Struct

from watchbell.alerting import history, reports
from watchbell.alerting.reports import Outage
from watchbell.cli.formatting import briefly, first, plain, when
from watchbell.cli.options import print_json
from watchbell.cli.ranges import Asked, outage_row, over_a_range
from watchbell.cli.tables import show_table
from watchbell.store.opening import opened

_STATES = ("critical", "warning", "unknown")


class Found(Struct, frozen=True):
    check: str
    start: int
    """Of the range."""
    end: int
    total_seconds: dict[str, int]
    percentages: dict[str, float | None]
    downtime: list[Outage]


@over_a_range
def command(asked: Asked) -> None:
    """Add up the downtime of checks outside scheduled maintenance, worst first. If only one check
    matches, list its outages, too.

    Example: watchbell downtime 'web-*:HTTP' --from 2026-10-01 --to 2026-11-01
    """
    found = asyncio.run(_found(asked))
    found.sort(key=lambda one: (one.percentages["ok"] or 0, one.check))
    if asked.as_json:
        print_json(found)
        return
    click.echo(f"from {when(asked.start)} to {when(asked.end)}\n")
    rows, more = first([_row(one) for one in found], asked.limit)
    numbers = ["ok", *_STATES, "pieces"]
    show_table(["check", *numbers], rows, right=numbers)
    if more:
        click.echo(more)
    if len(found) == 1 and found[0].downtime:
        click.echo()
        pieces, _ = first(
            [outage_row(outage, asked.now) for outage in found[0].downtime], asked.limit
        )
        show_table(["state", "from", "to", "for", "summary"], pieces)


def _row(one: Found) -> list[str]:
    seconds = [one.total_seconds.get(state, 0) for state in _STATES]
    return [
        plain(one.check),
        f"{one.percentages['ok']:.3f} %",
        *(briefly(found) if found else "-" for found in seconds),
        str(len(one.downtime)),
    ]


async def _found(asked: Asked) -> list[Found]:
    start, end = asked.start, asked.end
    found = []
    async with opened(asked.settings) as store:
        ids = await history.matching(store, asked.pattern, disabled=asked.show_all)
        planned = {i: windows async for i, windows in history.windows_of(store, ids, "scheduled")}
        async for event_id, changes in history.histories(store, ids, start, end):
            outages = reports.outages(changes, start, end)
            down = reports.downtime(outages, planned.get(event_id, []), start, end)
            found.append(Found(event_id, start, end, down.seconds, down.percentages, down.pieces))
    return found
