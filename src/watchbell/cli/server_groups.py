"""`watchbell groups`."""

from collections import Counter
from typing import Any

import click

from watchbell.cli.arguments import confirm, storable, yes_option
from watchbell.cli.audited import operator, record_change
from watchbell.cli.formatting import plain
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.fleet import groups, servers
from watchbell.fleet.model import Group
from watchbell.settings import Loaded
from watchbell.store.client import Store


@click.group
def command() -> None:
    """Manage groups of servers, on which events run.

    Example: watchbell groups add Databases --id db --match "^db-"
    """


@command.command("list")
@with_settings()
@as_json
def list_(*, loaded: Loaded, as_json: bool) -> None:
    """List groups and how many servers are in each.

    Example: watchbell groups list
    """

    async def read(store: Store) -> tuple[list[Group], Counter[str]]:
        known = await servers.every(store)
        return await groups.every(store), Counter(id_ for one in known for id_ in one.groups)

    found, counts = with_store(loaded.settings, read)
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("There are no groups. Add one with `watchbell groups add TITLE`.")
        return
    rows = [
        [
            one.id,
            plain(one.title),
            plain(one.hostname_match) or "-",
            "-" if one.max_jobs_per_server is None else str(one.max_jobs_per_server),
            str(counts[one.id]),
        ]
        for one in found
    ]
    show_table(["id", "title", "hostnames", "slots", "servers"], rows)


@command.command
@click.argument("id_", metavar="GROUP", type=storable)
@with_settings()
@as_json
def show(*, loaded: Loaded, id_: str, as_json: bool) -> None:
    """Show a group and its servers.

    Example: watchbell groups show db
    """

    async def read(store: Store) -> tuple[Group, list[str]]:
        group = await groups.get(store, id_)
        known = await servers.every(store)
        return group, [one.hostname for one in known if id_ in one.groups]

    group, hostnames = with_store(loaded.settings, read)
    if as_json:
        print_json({"group": group, "servers": hostnames})
        return
    slots = "" if group.max_jobs_per_server is None else str(group.max_jobs_per_server)
    for label, value in (
        ("id", group.id),
        ("title", group.title),
        ("hostnames", group.hostname_match),
        ("slots", slots),
        ("servers", ", ".join(hostnames) or "none"),
        ("notes", group.notes),
    ):
        if value:
            click.echo(f"{label:10}{plain(value, 5_000)}")


def _fields(command: Any) -> Any:
    for option in (
        click.option("--notes", type=storable, help="Notes for people."),
        click.option(
            "--slots",
            "max_jobs_per_server",
            type=click.IntRange(0, 10_000),
            help="Jobs that each server of it runs at the same time.",
        ),
        click.option(
            "--match",
            "hostname_match",
            type=storable,
            help="Servers whose hostname this regular expression matches belong to it.",
        ),
    ):
        command = option(command)
    return command


@command.command
@click.argument("title", metavar="TITLE", type=storable)
@click.option("--id", "id_", type=storable, help="By which events name it. Default: one is made.")
@_fields
@with_settings()
def add(*, loaded: Loaded, title: str, id_: str | None, **given: Any) -> None:
    """Add a group. Servers whose hostname matches belong to it at once.

    Example: watchbell groups add Databases --id db --match "^db-"
    """
    by, fields = operator(), {"title": title, **_given(given)}

    async def act(store: Store) -> Group:
        group = await groups.create(store, fields, by.actor.name, by.now, id_ or "")
        await record_change(store, "group.create", group.id, group.title)
        return group

    click.echo(f"added the group {with_store(loaded.settings, act).id}")


@command.command
@click.argument("id_", metavar="GROUP", type=storable)
@click.option("--title", type=storable, help="The name that pages show.")
@_fields
@with_settings()
def edit(*, loaded: Loaded, id_: str, **given: Any) -> None:
    """Change a group. Servers are assigned anew by their hostnames.

    Example: watchbell groups edit db --match "^(db|sql)-"
    """
    changes = _given(given)
    if not changes:
        raise Refused("nothing to change; see `watchbell groups edit --help`")

    async def act(store: Store) -> None:
        await groups.update(store, id_, changes, int(SYSTEM.now()))
        await record_change(store, "group.change", id_, ", ".join(changes))

    with_store(loaded.settings, act)
    click.echo(f"changed the group {plain(id_)}")


@command.command
@click.argument("id_", metavar="GROUP", type=storable)
@yes_option
@with_settings()
def remove(*, loaded: Loaded, id_: str, yes: bool) -> None:
    """Remove a group. Its servers stay.

    Example: watchbell groups remove db
    """
    confirm(f"Remove the group {plain(id_)}?", yes=yes)

    async def act(store: Store) -> None:
        await groups.remove(store, id_)
        await record_change(store, "group.remove", id_)

    with_store(loaded.settings, act)
    click.echo(f"removed the group {plain(id_)}")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
