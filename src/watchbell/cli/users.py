"""`watchbell users`."""

import sys

import click
from msgspec import Struct

from watchbell.actors import ROLES, Role
from watchbell.cli.arguments import storable
from watchbell.cli.audited import operator
from watchbell.cli.formatting import when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.web.people import sign_in_links
from watchbell.web.people.sessions import Sessions
from watchbell.web.people.users import Users, role_of
from watchbell.web.server_url import server_url

_name = click.argument("name", metavar="NAME", type=storable)


class Row(Struct, frozen=True, kw_only=True):
    name: str
    role: Role
    created: int
    has_password: bool
    last_sign_in: int | None


@click.group
def command() -> None:
    """Manage users of the web pages and their roles. A viewer can look; an operator can also
    acknowledge and schedule maintenance; an editor can also change contacts, rules and jobs; an
    administrator can also manage users, API keys and settings.

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
    cells = [
        [r.name, r.role, "yes" if r.has_password else "no", when(r.last_sign_in)] for r in rows
    ]
    show_table(["name", "role", "password", "last sign-in"], cells)


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
        )
        for user in await users.all()
    ]


@command.command
@_name
@click.option("--role", type=click.Choice(ROLES), default="viewer", show_default=True)
@with_settings()
def add(*, loaded: Loaded, name: str, role: str) -> None:
    """Add a user, and print a sign-in link. With it they sign in once and set their password.

    Example: watchbell users add bob --role operator
    """

    async def added(store: Store) -> str:
        user = await Users(store).add(name, role_of(role), operator())
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
