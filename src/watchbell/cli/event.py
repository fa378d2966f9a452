"""`watchbell event`."""

from typing import Any

import click

from watchbell.alerting.event import from_fields
from watchbell.alerting.intake import submit
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.cli.arguments import length_or_zero, moment
from watchbell.cli.options import Command, with_settings
from watchbell.cli.store_call import with_store
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.settings import Loaded

STATES = ("ok", "warning", "critical", "unknown")

SENDING = {
    "--ttl": "Report the check as unknown after this long without an event.",
    "--initial-failure-delay": "Time a check must fail before the first alert.",
    "--repeat-failure-delay": "Time before a failure that lasts is notified again.",
    "--initial-recovery-delay": "Time a check must be ok before its recovery is notified.",
}
"""What can be set for a check, or sent with an event."""


def _sending(command: Command) -> Command:
    for name, words in reversed(SENDING.items()):
        command = click.option(name, type=length_or_zero, metavar="LENGTH", help=words)(command)
    return command


@click.command
@click.argument("entity")
@click.argument("check")
@click.argument("state", type=click.Choice(STATES, case_sensitive=False))
@click.argument("summary", required=False)
@click.option("--details", metavar="TEXT", help="More output, of any length.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; can be repeated.")
@click.option("--perfdata", metavar="TEXT", help="Measurements, such as 'time=0.2s;1;2 size=5kB'.")
@click.option("--time", type=moment, metavar="TIME", help="When the state was found. Default: now.")
@_sending
@with_settings()
def command(*, loaded: Loaded, **fields: Any) -> None:
    """Report the state of a check, with a summary of one line.

    Example: watchbell event web-1 HTTP critical "connection refused" --tag shop --ttl "5 min"
    """
    event = from_fields({"type": "service", **fields}, int(SYSTEM.now()))
    if isinstance(event, Rejection):
        raise Refused(f"this is not a valid check event: {event.reason}")
    with_store(loaded.settings, lambda store: submit(store, event))
    click.echo(f"sent: {in_words(event)}")


def in_words(event: CheckEvent) -> str:
    summary = f" ({event.summary})" if event.summary else ""
    return f"{event.id} is {event.state}{summary}"
