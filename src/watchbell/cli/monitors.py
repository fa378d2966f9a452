"""`watchbell monitors`."""

from collections.abc import Sequence
from typing import Any

import click

from watchbell.cli.arguments import storable
from watchbell.cli.definition_commands import Kind, commands
from watchbell.cli.definitions import find, read_fields, set_option
from watchbell.cli.formatting import plain, since
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.fleet import servers
from watchbell.fleet.model import Monitor, Server
from watchbell.fleet.monitoring import figures, latest
from watchbell.fleet.monitoring.latest import Failures
from watchbell.fleet.monitoring.state import MonitorState
from watchbell.jobs import definitions, monitor_trials
from watchbell.settings import Loaded
from watchbell.store.client import Store


def _cells(monitor: Monitor) -> list[str]:
    return [plain(monitor.source, 60), ", ".join(monitor.groups) or "all servers"]


command = commands(
    Kind(
        kind="monitor",
        summary="Manage monitors: expressions over the samples of servers, kept as series.",
        example="swap_used",
        columns=["source", "groups"],
        cells=_cells,
        options=[
            click.option("--source", type=storable, help="An expression over a sample."),
            click.option(
                "--type",
                "data_type",
                type=click.Choice(["integer", "float", "bytes", "seconds", "milliseconds"]),
                help="What the value is.",
            ),
            click.option("--suffix", type=storable, help="A text after the value."),
        ],
        can_disable=False,
    )
)


@command.command
@click.argument("names", metavar="[SERVER]...", nargs=-1, type=storable)
@with_settings()
@as_json
def values(*, loaded: Loaded, names: tuple[str, ...], as_json: bool) -> None:
    """Show the values of servers at their last sample.

    Example: watchbell monitors values db-1
    """

    async def read(
        store: Store,
    ) -> tuple[list[Server], dict[str, MonitorState], list[Monitor], list[str]]:
        every = await servers.every(store)
        found = [await servers.named(store, name) for name in names] or every
        states = await latest.states(store, [one.id for one in found])
        failures = await latest.failures(store, SYSTEM.now())
        return found, states, await _monitors(store), _in_words(failures, every)

    known, states, monitors, failing = with_store(loaded.settings, read)
    rows = [
        (server, monitor, states[server.id], latest.value(states[server.id], monitor))
        for server in known
        if server.id in states
        for monitor in monitors
    ]
    if as_json:
        print_json(
            [
                {"server": one.id, "monitor": monitor.id, "value": value, "at": state.at}
                for one, monitor, state, value in rows
                if value is not None
            ]
        )
        return
    now = int(SYSTEM.now())
    cells = [
        [
            plain(server.hostname),
            plain(monitor.title, 60),
            figures.in_units(monitor, value),
            f"{since(int(state.at), now)} ago",
        ]
        for server, monitor, state, value in rows
        if value is not None
    ]
    if cells:
        show_table(["server", "monitor", "value", "sampled"], cells, right=["value"])
    else:
        click.echo("There is no sample yet; agents send one each minute.")
    for line in failing:
        click.echo(line)


def _in_words(failures: Failures, known: Sequence[Server]) -> list[str]:
    names = {one.id: one.hostname for one in known}
    return [
        f"The monitor {plain(name)} fails on {plain(names.get(one.server, one.server))}: "
        + plain(one.reason)
        for name, one in sorted(failures.monitors.items())
    ]


async def _monitors(store: Store) -> list[Monitor]:
    found = await definitions.every(store, "monitor")
    known = [one for one in found.values() if isinstance(one, Monitor)]
    return sorted(known, key=lambda one: (one.sort_order, one.id))


@command.command
@click.argument("name", metavar="[ID|TITLE]", required=False, type=storable)
@click.option("--server", required=True, type=storable, help="The server to try it on.")
@click.option("--source", type=storable, help="An expression in place of the monitor's.")
@set_option
@with_settings()
def test(
    *,
    loaded: Loaded,
    name: str | None,
    server: str,
    source: str | None,
    fields: tuple[str, ...],
) -> None:
    """Try a monitor, or an expression, on the last sample of a server.

    Example: watchbell monitors test --server db-1 --source 'memory.swapused'
    """
    given: dict[str, Any] = read_fields(fields) | ({"source": source} if source else {})
    if name is None and not source:
        raise click.UsageError("name a monitor, or give --source")

    async def tried(store: Store) -> tuple[Monitor, float | None]:
        known = definitions.plain_values(await find(store, "monitor", name)) if name else {}
        monitor = monitor_trials.as_monitor({**known, **given})
        on = await servers.named(store, server)
        return monitor, await monitor_trials.try_monitor(store, monitor, on)

    monitor, value = with_store(loaded.settings, tried)
    if value is None:
        click.echo("no value: the last sample has nothing about it")
    else:
        words = " (counted so far; the series has the difference)" if monitor.delta else ""
        click.echo(f"{figures.in_units(monitor, value)}{words}")
