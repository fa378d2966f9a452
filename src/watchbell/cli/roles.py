"""`watchbell roles`."""

from typing import Any

import click

from watchbell.actors import PRIVILEGES, ROLE_PRIVILEGES, ROLES, Privilege
from watchbell.cli.arguments import storable
from watchbell.cli.audited import operator
from watchbell.cli.formatting import plain
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.rights import extras, limits, rights_options
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.settings import Loaded
from watchbell.web.people.rights import CustomRole
from watchbell.web.people.roles import Roles

_id = click.argument("id_", metavar="ID", type=storable)


@click.group
def command() -> None:
    """Manage custom roles: sets of privileges that users and API keys can have on top of the role
    viewer, operator, editor or administrator.

    Example: watchbell roles add backup_operators --privilege run_jobs --category backups
    """


@command.command("list")
@with_settings()
@as_json
def list_(*, loaded: Loaded, as_json: bool) -> None:
    """List custom roles.

    Example: watchbell roles list
    """
    rows = with_store(loaded.settings, lambda store: Roles(store).all())
    if as_json:
        print_json(rows)
        return
    if not rows:
        click.echo("There are no custom roles. Add one with `watchbell roles add ID`.")
        return
    show_table(["id", "title", "enabled", "privileges", "limited to"], [_cells(r) for r in rows])


def _cells(role: CustomRole) -> list[str]:
    enabled = "yes" if role.enabled else "no"
    return [role.id, plain(role.title), enabled, extras(role), limits(role)]


@command.command
@as_json
def privileges(*, as_json: bool) -> None:
    """List all privileges, and the least role that has each.

    Example: watchbell roles privileges
    """
    rows = [(privilege, _least_role(privilege)) for privilege in PRIVILEGES]
    if as_json:
        print_json([{"privilege": privilege, "role": role} for privilege, role in rows])
    else:
        show_table(["privilege", "from role"], rows)


def _least_role(privilege: Privilege) -> str:
    return next(role for role in ROLES if privilege in ROLE_PRIVILEGES[role])


@command.command
@_id
@click.option("--title", type=storable, help="A name for people. Default: the id.")
@click.option("--notes", type=storable, default="", help="What the role is for.")
@rights_options("custom-role")
@with_settings()
def add(
    *, loaded: Loaded, id_: str, title: str | None, notes: str, changes: dict[str, Any]
) -> None:
    """Add a custom role. Without limits of its own, its privileges count wherever its holders have
    access.

    Example: watchbell roles add backup_operators --privilege run_jobs --category backups
    """
    role = CustomRole(id=id_, title=title or id_, notes=notes, **changes)
    with_store(loaded.settings, lambda store: Roles(store).add(role, operator()))
    click.echo(f"added role {id_}; give it with `watchbell users edit NAME --custom-role {id_}`")


@command.command
@_id
@click.option("--title", type=storable, help="A name for people.")
@click.option("--notes", type=storable, help="What the role is for.")
@rights_options("custom-role", clear=True)
@with_settings()
def edit(
    *, loaded: Loaded, id_: str, title: str | None, notes: str | None, changes: dict[str, Any]
) -> None:
    """Change a custom role. Options replace what it had; what you leave out stays. It takes effect
    at once for everybody who has it.

    Example: watchbell roles edit backup_operators --privilege run_jobs --privilege abort_jobs
    """
    texts = {"title": title, "notes": notes}
    changes |= {name: text for name, text in texts.items() if text is not None}
    if not changes:
        raise click.UsageError("say what to change; see `watchbell roles edit --help`")
    _update(loaded, id_, changes)
    click.echo(f"changed role {id_}")


@command.command
@_id
@with_settings()
def enable(*, loaded: Loaded, id_: str) -> None:
    """Enable a custom role.

    Example: watchbell roles enable backup_operators
    """
    _update(loaded, id_, {"enabled": True})
    click.echo(f"enabled role {id_}")


@command.command
@_id
@with_settings()
def disable(*, loaded: Loaded, id_: str) -> None:
    """Disable a custom role. It grants nothing until it is enabled again.

    Example: watchbell roles disable backup_operators
    """
    _update(loaded, id_, {"enabled": False})
    click.echo(f"disabled role {id_}")


@command.command
@_id
@with_settings()
def remove(*, loaded: Loaded, id_: str) -> None:
    """Remove a custom role that no user and no API key has.

    Example: watchbell roles remove backup_operators
    """
    with_store(loaded.settings, lambda store: Roles(store).remove(id_, operator()))
    click.echo(f"removed role {id_}")


def _update(loaded: Loaded, id_: str, changes: dict[str, Any]) -> None:
    with_store(loaded.settings, lambda store: Roles(store).update(id_, changes, operator()))
