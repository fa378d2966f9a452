"""`watchbell alert-defs`."""

from typing import Any

import click
import msgspec

from watchbell.cli.arguments import storable
from watchbell.cli.definition_commands import Kind, commands, yes_no
from watchbell.cli.definitions import find, read_fields, set_option
from watchbell.cli.formatting import plain
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.fleet import servers
from watchbell.jobs import definitions, monitor_trials
from watchbell.jobs.model import AlertDef
from watchbell.jobs.monitor_trials import AlertTrial
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import counted


def _cells(alert: AlertDef) -> list[str]:
    return [
        yes_no(alert.enabled),
        plain(alert.expression, 60),
        str(alert.samples),
        ", ".join(alert.groups) or "all servers",
    ]


command = commands(
    Kind(
        kind="alert",
        summary="Manage alert definitions: when a server has an alert, and what is done then.",
        example="swap_high",
        columns=["enabled", "expression", "samples", "groups"],
        cells=_cells,
        options=[
            click.option("--expression", type=storable, help="True while the alert holds."),
            click.option("--message", type=storable, help="A text with {{expressions}}."),
            click.option("--samples", type=int, help="Samples that must be true. Default: 1."),
            click.option("--monitor", "monitor_id", type=storable, help="The monitor it is about."),
        ],
    )
)


@command.command
@click.argument("name", metavar="[ID|TITLE]", required=False, type=storable)
@click.option("--server", required=True, type=storable, help="The server to try it on.")
@click.option("--expression", type=storable, help="An expression in place of the definition's.")
@click.option("--message", type=storable, help="A message in place of the definition's.")
@set_option
@with_settings()
@as_json
def test(
    *,
    loaded: Loaded,
    name: str | None,
    server: str,
    expression: str | None,
    message: str | None,
    fields: tuple[str, ...],
    as_json: bool,
) -> None:
    """Try a definition or an expression on the last sample of a server.

    Example: watchbell alert-defs test --server db-1 --expression 'cpu.currentLoad > 90'
    """
    given: dict[str, Any] = read_fields(fields)
    texts = {"expression": expression, "message": message}
    given |= {field: text for field, text in texts.items() if text is not None}
    if name is None and not expression:
        raise click.UsageError("name an alert definition, or give --expression")

    async def tried(store: Store) -> AlertTrial:
        found = await find(store, "alert", name) if name else None
        known = {"id": found.id, **definitions.plain_values(found)} if found else {}
        rule = monitor_trials.as_alert({**known, **given})
        return await monitor_trials.try_alert(store, rule, await servers.named(store, server))

    found = with_store(loaded.settings, tried)
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    click.echo("true" if found.is_true else "false")
    if found.message:
        click.echo(f"message: {plain(found.message, 2_000)}")
    click.echo(_verdict(found))


def _verdict(found: AlertTrial) -> str:
    if not found.concerns_server:
        return "The server is in none of its groups, so it would have no such alert."
    if found.would_clear:
        return "The alert is active; a sample like this would clear it."
    if found.is_active and not found.is_true:
        return f"The alert is active; {found.count + 1} samples like this would clear it."
    if found.is_active:
        return "The alert is active; a sample like this would not clear it."
    if found.would_fire:
        return "A sample like this would make the alert active."
    of = f"{found.count} of {counted(found.samples, 'sample')}"
    return f"A sample like this would not make the alert active: it would count {of}."
