"""`watchbell plugins`."""

import click

from watchbell.cli.arguments import storable
from watchbell.cli.definition_commands import Kind, commands, yes_no
from watchbell.cli.formatting import plain
from watchbell.jobs.model import Plugin


def _cells(plugin: Plugin) -> list[str]:
    params = ", ".join(one.id for one in plugin.params)
    return [yes_no(plugin.enabled), plugin.type, params or "-", plain(plugin.command, 60) or "-"]


command = commands(
    Kind(
        kind="plugin",
        summary="Manage plugins: the programs that jobs run, and the parameters that they ask for.",
        example="pgdump",
        columns=["enabled", "type", "parameters", "command"],
        cells=_cells,
        options=[
            click.option("--command", type=storable, help="The program and its arguments."),
            click.option("--script", type=storable, help="A script for the command to run."),
            click.option("--uid", type=storable, metavar="USER", help="The account to run as."),
            click.option("--cwd", type=storable, metavar="DIR", help="The folder to run in."),
        ],
    )
)
