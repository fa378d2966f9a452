"""`watchbell event`."""

import asyncio
from typing import Any

import click

from watchbell.alerting.event import from_fields
from watchbell.alerting.intake import submit
from watchbell.alerting.model import LARGEST, CheckEvent, Rejection
from watchbell.cli.options import opened, with_settings
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings

STATES = ("ok", "warning", "critical", "unknown")
_SECONDS = click.IntRange(0, LARGEST)


@click.command
@click.argument("entity")
@click.argument("check")
@click.argument("state", type=click.Choice(STATES, case_sensitive=False))
@click.argument("summary", required=False)
@click.option("--details", metavar="TEXT", help="The long output.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be repeated.")
@click.option("--perfdata", metavar="TEXT", help="Measurements: key=value;… separated by spaces.")
@click.option("--time", type=_SECONDS, metavar="EPOCH", help="When it was found; now without it.")
@click.option(
    "--ttl",
    type=_SECONDS,
    metavar="SECONDS",
    help="After so much silence the check becomes unknown.",
)
@click.option(
    "--initial-failure-delay",
    type=_SECONDS,
    metavar="SECONDS",
    help="How long a failure lasts before anybody is told.",
)
@click.option(
    "--repeat-failure-delay",
    type=_SECONDS,
    metavar="SECONDS",
    help="How long until the same failure is told again.",
)
@click.option(
    "--initial-recovery-delay",
    type=_SECONDS,
    metavar="SECONDS",
    help="How long a recovery lasts before anybody is told.",
)
@with_settings()
def command(*, loaded: Loaded, **fields: Any) -> None:
    """Report the state of a check: ok, warning, critical or unknown, with a line that says more.

    Example: watchbell event web-1 HTTP critical "connection refused" --tag shop --ttl 300
    """
    event = from_fields({"type": "service", **fields}, int(SYSTEM.now()))
    if isinstance(event, Rejection):
        raise Refused(f"this is no check event: {event.reason}")
    asyncio.run(_sent(loaded.settings, event))
    click.echo(f"sent: {told(event)}")


def told(event: CheckEvent) -> str:
    summary = f" ({event.summary})" if event.summary else ""
    return f"{event.id} is {event.state}{summary}"


async def _sent(settings: Settings, event: CheckEvent) -> None:
    async with opened(settings) as store:
        await submit(store, event)
