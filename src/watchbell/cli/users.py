"""`watchbell users`."""

import sys
from typing import Any

import click

from watchbell.actors import ROLES, Role
from watchbell.cli.arguments import storable
from watchbell.cli.audited import operator
from watchbell.cli.formatting import when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.rights import extras, limits, rights_options
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.web.people import sign_in_links
from watchbell.web.people.rights import Rights
from watchbell.web.people.sessions import Sessions
from watchbell.web.people.users import User, Users, role_of
from watchbell.web.server_url import server_url

_name = click.argument("name", metavar="NAME", type=storable)


class Row(Rights, frozen=True, kw_only=True):
    name: str
    role: Role
    created: int
    has_password: bool
    last_sign_in: int | None


@click.group
def command() -> None:
    """Manage users of the web pages and their roles. A viewer can look; an operator can also
    acknowledge, schedule maintenance and run jobs; an editor can also change contacts, rules and
    jobs; an administrator can also manage users, API keys and settings. On top of that a user can
    have privileges and custom roles, and be limited to some categories and server groups.

    Example: watchbell users add alice --role editor
    """


@command.command("list")
@with_settings()
@as_json
def list_(*, loaded: Loaded, as_json: bool) -> None:
    """List users, their roles and their last sign-in.

    Example: watchbell users list
    """
    rows = with_store(loaded.settings, _rows)
    if as_json:
        print_json(rows)
        return
    if not rows:
        click.echo(
            "There are no users. Add one with `watchbell users add NAME --role administrator`."
        )
        return
    columns = ["name", "role", "also", "limited to", "password", "last sign-in"]
    show_table(columns, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    password = "yes" if row.has_password else "no"
    return [row.name, row.role, extras(row), limits(row), password, when(row.last_sign_in)]


async def _rows(store: Store) -> list[Row]:
    users = Users(store)
    seen = await users.sign_ins()
    return [
        Row(
            name=user.name,
            role=user.role,
            created=user.created,
            has_password=bool(user.password),
            last_sign_in=seen.get(user.name),
            privileges=user.privileges,
            roles=user.roles,
            categories=user.categories,
            groups=user.groups,
        )
        for user in await users.all()
    ]


@command.command
@_name
@click.option("--role", type=click.Choice(ROLES), default="viewer", show_default=True)
@rights_options()
@with_settings()
def add(*, loaded: Loaded, name: str, role: str, changes: dict[str, Any]) -> None:
    """Add a user, and print a sign-in link. With it they sign in once and set their password.

    \b
    Examples:
      watchbell users add bob --role operator
      watchbell users add charlie --privilege run_jobs --category backups
    """

    async def added(store: Store) -> str:
        user = await Users(store).add(name, role_of(role), operator(), Rights(**changes))
        return await sign_in_links.make(store, user, operator())

    click.echo(server_url(loaded.settings) + with_store(loaded.settings, added))


@command.command
@_name
@click.argument("role", type=click.Choice(ROLES), metavar="ROLE")
@with_settings()
def role(*, loaded: Loaded, name: str, role: str) -> None:
    """Change the role of a user. It takes effect at once.

    Example: watchbell users role bob editor
    """
    with_store(
        loaded.settings, lambda store: Users(store).set_role(name, role_of(role), operator())
    )
    click.echo(f"{name} is now {role}")


@command.command
@_name
@click.option("--role", type=click.Choice(ROLES), help="The new role.")
@rights_options(clear=True)
@with_settings()
def edit(*, loaded: Loaded, name: str, role: str | None, changes: dict[str, Any]) -> None:
    """Change what a user may do. Options replace what the user had; what you leave out stays. It
    takes effect at once.

    \b
    Examples:
      watchbell users edit bob --custom-role backup_operators
      watchbell users edit bob --category backups --category reports
      watchbell users edit bob --category none
    """
    if role:
        changes["role"] = role_of(role)
    if not changes:
        raise click.UsageError("say what to change; see `watchbell users edit --help`")
    user = with_store(loaded.settings, lambda store: Users(store).update(name, changes, operator()))
    click.echo(f"{name} is now {_described(user)}")


def _described(user: User) -> str:
    parts = [str(user.role)]
    parts += [f"with {extras(user)}"] if user.roles or user.privileges else []
    parts += [f"limited to {limits(user)}"] if user.categories or user.groups else []
    return ", ".join(parts)


@command.command
@_name
@with_settings()
def password(*, loaded: Loaded, name: str) -> None:
    """Set the password of a user. It is read from standard input or a prompt; their sessions end.

    Example: watchbell users password alice < /run/secrets/alice
    """
    given = _asked() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if not given:
        raise Refused("the password is empty; nothing was changed")
    with_store(loaded.settings, lambda store: _set_password(store, loaded.settings, name, given))
    click.echo(f"changed the password of {name} and ended their sessions")


async def _set_password(store: Store, settings: Settings, name: str, given: str) -> None:
    by = operator()
    await Users(store).set_password(name, storable(given), by)
    await Sessions(store, settings.web).end_all(name, by, "password changed")


def _asked() -> str:
    text: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    return text


@command.command
@_name
@with_settings()
def remove(*, loaded: Loaded, name: str) -> None:
    """Remove a user, with their sessions and API keys.

    Example: watchbell users remove bob
    """
    with_store(loaded.settings, lambda store: Users(store).remove(name, operator()))
    click.echo(f"removed user {name}")


@command.command
@_name
@with_settings()
def link(*, loaded: Loaded, name: str) -> None:
    """Print a sign-in link for a user, valid once and for a day.

    Example: watchbell users link alice
    """

    async def made(store: Store) -> str:
        return await sign_in_links.make(store, await Users(store).get(name), operator())

    click.echo(server_url(loaded.settings) + with_store(loaded.settings, made))
