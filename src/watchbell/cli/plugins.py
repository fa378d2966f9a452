"""`watchbell plugins`."""

import click

from watchbell.cli.arguments import storable
from watchbell.cli.audited import record_change
from watchbell.cli.definition_commands import Kind, commands, yes_no
from watchbell.cli.formatting import plain
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.fleet import command_requests, servers
from watchbell.fleet.model import CommandOutcome
from watchbell.jobs import command_tries
from watchbell.jobs.model import Plugin
from watchbell.settings import Loaded
from watchbell.store.client import Store

_LONGEST_LINE = 10_000


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


@command.command("try")
@click.argument("id_", metavar="ID", type=storable)
@click.argument("name", metavar="SERVER", type=storable)
@with_settings()
@as_json
def try_(*, loaded: Loaded, id_: str, name: str, as_json: bool) -> None:
    """Run a monitor plugin on a server now, and show its output.

    Example: watchbell plugins try open_files db-1
    """

    async def act(store: Store) -> CommandOutcome:
        plugin = await command_tries.saved(store, id_)
        server = await servers.named(store, name)
        after = loaded.settings.jobs.down_after
        command = await command_tries.ready(store, server, plugin, after)
        await record_change(store, "server.command", server.hostname, plugin.id)
        return await command_requests.run(store, server.id, command, SYSTEM)

    outcome = with_store(loaded.settings, act)
    if as_json:
        print_json(outcome)
        return
    for line in outcome.text.splitlines():
        click.echo(plain(line, _LONGEST_LINE))
    if outcome.error:
        raise Refused(outcome.error)
