"""`watchbell channels`."""

import click

from watchbell.cli.arguments import storable
from watchbell.cli.definition_commands import Kind, commands, yes_no
from watchbell.cli.formatting import plain
from watchbell.jobs.model import Channel


def _cells(channel: Channel) -> list[str]:
    parts = {
        "users": ", ".join(channel.users),
        "mail": channel.email,
        "web hook": channel.url,
        "run": channel.run_event,
    }
    does = "; ".join(f"{word} {plain(value, 80)}" for word, value in parts.items() if value)
    return [yes_no(channel.enabled), does or "-"]


command = commands(
    Kind(
        kind="channel",
        summary="Manage channels: who is notified, and what else happens, when an action of an "
        "event names one.",
        example="oncall",
        columns=["enabled", "does"],
        cells=_cells,
        options=[
            click.option(
                "--user", "users", multiple=True, type=storable, help="A contact; can be repeated."
            ),
            click.option(
                "--email", type=storable, metavar="ADDRESSES", help="Addresses, by commas."
            ),
            click.option("--url", type=storable, help="A web hook to call."),
            click.option("--run", "run_event", type=storable, metavar="ID", help="Event to run."),
            click.option(
                "--max-per-day",
                type=click.IntRange(0),
                help="Messages a day, at most; 0: no limit.",
            ),
        ],
    )
)
