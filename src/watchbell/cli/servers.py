"""`watchbell servers`."""

from typing import Any

import click

from watchbell.cli.arguments import confirm, length, storable, yes_option
from watchbell.cli.audited import operator, record_change
from watchbell.cli.formatting import plain, since, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.fleet import servers, tokens
from watchbell.fleet.model import Server
from watchbell.jobs import server_status
from watchbell.jobs.server_status import ServerStatus
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import in_bytes
from watchbell.web.server_url import server_url

_DAY = 86_400


@click.group
def command() -> None:
    """Manage servers: machines with an agent, which run jobs.

    Example: watchbell servers token db-1
    """


@command.command("list")
@with_settings()
@as_json
def list_(*, loaded: Loaded, as_json: bool) -> None:
    """List servers: state, groups, jobs and load.

    Example: watchbell servers list
    """
    after = loaded.settings.jobs.down_after
    found = with_store(loaded.settings, lambda store: server_status.every(store, after))
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("There are no servers. `watchbell servers token` makes a token to join with.")
        return
    now = int(SYSTEM.now())
    columns = ["id", "hostname", "title", "state", "groups", "jobs", "cpu", "memory", "seen"]
    show_table(columns, [_cells(one, now) for one in found])


def _cells(one: ServerStatus, now: int) -> list[str]:
    server, sample = one.server, one.sample if one.is_online else None
    return [
        server.id,
        plain(server.hostname),
        plain(server.title) or "-",
        one.state,
        plain(", ".join(server.groups)),
        f"{one.jobs} of {one.slots}",
        f"{sample.cpu:.0f} %" if sample else "-",
        f"{in_bytes(sample.memory)} of {in_bytes(sample.memory_total)}" if sample else "-",
        f"{since(int(one.seen), now)} ago" if one.seen else "never",
    ]


@command.command
@click.argument("name", metavar="SERVER", type=storable)
@with_settings()
@as_json
def show(*, loaded: Loaded, name: str, as_json: bool) -> None:
    """Show a server, by its id or hostname.

    Example: watchbell servers show db-1
    """

    async def read(store: Store) -> ServerStatus:
        server = await servers.named(store, name)
        return await server_status.one(store, server.id, loaded.settings.jobs.down_after)

    found = with_store(loaded.settings, read)
    if as_json:
        print_json(found)
        return
    server, info = found.server, found.server.info
    for label, value in (
        ("id", server.id),
        ("hostname", server.hostname),
        ("title", server.title),
        ("state", found.state),
        ("address", server.ip),
        ("groups", ", ".join(server.groups) + (" (by hostname)" if server.auto_group else "")),
        ("jobs", f"{found.jobs} of {found.slots}"),
        ("seen", when(int(found.seen)) if found.seen else "never"),
        ("system", " ".join(filter(None, (*info.os.values(), info.arch)))),
        ("agent", info.agent),
        ("notes", server.notes),
    ):
        if value:
            click.echo(f"{label:10}{plain(value)}")


@command.command
@click.argument("hostname", metavar="[HOST]", type=storable, required=False)
@click.option(
    "--group", "groups", multiple=True, type=storable, help="A group to join; can be repeated."
)
@click.option(
    "--valid",
    type=length,
    default=_DAY,
    metavar="LENGTH",
    help="How long it is valid. Default: 1 day.",
)
@with_settings()
@as_json
def token(
    *, loaded: Loaded, hostname: str | None, groups: tuple[str, ...], valid: int, as_json: bool
) -> None:
    """Create a token with which one server joins. The command that joins is printed, and not shown
    again. With HOST, only that host can join with it, also in place of a server of that name.

    Example: watchbell servers token db-1 --valid "2 hours"
    """
    by = operator()

    async def make(store: Store) -> tuple[str, str]:
        text, made = await tokens.create_join(
            store,
            by.actor.name,
            by.now,
            hostname=hostname or "",
            groups=groups,
            expires=by.now + valid,
        )
        await record_change(store, "server.token", made.id, made.hostname)
        return text, made.id

    text, id_ = with_store(loaded.settings, make)
    joining = f"watchbell agent --join {server_url(loaded.settings)} --token {text}"
    if as_json:
        print_json({"id": id_, "secret": text, "command": joining})
    else:
        click.echo(joining)


@command.command
@click.argument("name", metavar="SERVER", type=storable)
@with_settings()
def enable(*, loaded: Loaded, name: str) -> None:
    """Let a server run jobs again.

    Example: watchbell servers enable db-1
    """
    _change(loaded, name, {"enabled": True}, "server.enable", "enabled")


@command.command
@click.argument("name", metavar="SERVER", type=storable)
@with_settings()
def disable(*, loaded: Loaded, name: str) -> None:
    """Disable a server: it gets no more jobs. Those that it runs go on.

    Example: watchbell servers disable db-1
    """
    _change(loaded, name, {"enabled": False}, "server.disable", "disabled")


@command.command
@click.argument("name", metavar="SERVER", type=storable)
@click.option("--title", type=storable, help="The name that pages show.")
@click.option("--hostname", type=storable, help="The hostname, after the machine was renamed.")
@click.option(
    "--group",
    "groups",
    multiple=True,
    type=storable,
    help="A group of the server; can be repeated.",
)
@click.option("--auto-group", is_flag=True, help="Let the hostname decide about its groups.")
@click.option("--slots", type=click.IntRange(0, 10_000), help="Jobs that it runs at the same time.")
@click.option("--auto-slots", is_flag=True, help="Let its groups or its agent decide about that.")
@click.option("--notes", type=storable, help="Notes for people.")
@with_settings()
def edit(
    *,
    loaded: Loaded,
    name: str,
    groups: tuple[str, ...],
    auto_group: bool,
    slots: int | None,
    auto_slots: bool,
    **given: str | None,
) -> None:
    """Change a server. Groups that are given replace those it has, and stay whatever its hostname
    is.

    Example: watchbell servers edit db-1 --title "Main database" --slots 4
    """
    if (groups and auto_group) or (slots is not None and auto_slots):
        raise Refused("--group and --auto-group, or --slots and --auto-slots, exclude each other")
    changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if groups:
        changes["groups"] = groups
    if auto_group:
        changes["autoGroup"] = True
    if slots is not None or auto_slots:
        changes["maxJobs"] = slots
    if not changes:
        raise Refused("nothing to change; see `watchbell servers edit --help`")
    _change(loaded, name, changes, "server.change", "changed")


@command.command
@click.argument("name", metavar="SERVER", type=storable)
@yes_option
@with_settings()
def remove(*, loaded: Loaded, name: str, yes: bool) -> None:
    """Remove a server that runs no jobs. Its agent can't come back without a new token.

    Example: watchbell servers remove db-1
    """
    confirm(f"Remove the server {plain(name)}?", yes=yes)

    async def act(store: Store) -> Server:
        server = await servers.named(store, name)
        await server_status.remove(store, server.id)
        await record_change(store, "server.remove", server.hostname)
        return server

    server = with_store(loaded.settings, act)
    click.echo(f"removed {plain(server.hostname)}")


def _change(loaded: Loaded, name: str, changes: dict[str, Any], action: str, done: str) -> None:
    async def act(store: Store) -> Server:
        server = await servers.named(store, name)
        changed = await servers.update(store, server.id, changes, int(SYSTEM.now()))
        await record_change(store, action, server.hostname, ", ".join(changes))
        return changed

    server = with_store(loaded.settings, act)
    click.echo(f"{done} {plain(server.hostname)}")
