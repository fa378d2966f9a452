"""`watchbell api-keys`."""

from typing import Any, get_args

import click

from watchbell.actors import KeyScope
from watchbell.cli.arguments import days as days_of
from watchbell.cli.arguments import length, storable
from watchbell.cli.audited import operator
from watchbell.cli.formatting import plain, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.rights import limits, rights_options
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.web.people.api_keys import ApiKeys
from watchbell.web.people.rights import Rights
from watchbell.web.ping_check import Ping, ping_of
from watchbell.web.server_url import server_url

SCOPES: tuple[KeyScope, ...] = get_args(KeyScope)


class Row(Rights, frozen=True, kw_only=True):
    id: str
    name: str
    owner: str
    scopes: tuple[KeyScope, ...]
    created: int
    expires: int | None
    last_use: int | None
    ping: Ping | None


@click.group
def command() -> None:
    """Manage the keys with which programs use the API, send check events, or ping.

    Example: watchbell api-keys create prometheus --scope intake
    """


def _keys(store: Store) -> ApiKeys:
    return ApiKeys(store, SYSTEM)


@command.command("list")
@with_settings()
@as_json
def list_(*, loaded: Loaded, as_json: bool) -> None:
    """List API keys: owner, scopes, expiry and last use.

    Example: watchbell api-keys list
    """
    rows = with_store(loaded.settings, _rows)
    if as_json:
        print_json(rows)
        return
    if not rows:
        click.echo("There are no API keys. Create one with `watchbell api-keys create NAME`.")
        return
    columns = ["id", "name", "owner", "may", "limited to", "expires", "last use"]
    show_table(columns, [_cells(row) for row in rows])


async def _rows(store: Store) -> list[Row]:
    keys = _keys(store)
    uses = await keys.uses()
    return [
        Row(
            id=key.id,
            name=key.name,
            owner=key.owner,
            scopes=key.scopes,
            created=key.created,
            expires=key.expires,
            last_use=uses.get(key.id),
            ping=key.ping,
            privileges=key.privileges,
            roles=key.roles,
            categories=key.categories,
            groups=key.groups,
        )
        for key in await keys.all()
    ]


def _cells(row: Row) -> list[str]:
    given = [*row.scopes, *row.roles, *row.privileges]
    may = f"ping {row.ping.entity}:{row.ping.check}" if row.ping else ", ".join(given)
    tail = [plain(may, 80), limits(row), when(row.expires), when(row.last_use)]
    return [row.id, plain(row.name), row.owner or "-", *tail]


@command.command
@click.argument("name", metavar="NAME", type=storable)
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([scope for scope in SCOPES if scope != "ping"]),
    multiple=True,
    help="What the key may do; can be repeated. Default: intake, unless it has privileges.",
)
@rights_options()
@click.option(
    "--days",
    type=days_of,
    metavar="N",
    help="Days until the key expires, such as 90 or '1 year'. Default: never.",
)
@click.option(
    "--ping",
    "check",
    metavar="ENTITY:CHECK",
    type=storable,
    help="Create a ping URL for this check.",
)
@click.option(
    "--ttl", metavar="LENGTH", type=length, help="Time without a ping after which the check fails."
)
@with_settings()
@as_json
def create(
    *,
    loaded: Loaded,
    name: str,
    scopes: tuple[KeyScope, ...],
    days: int | None,
    check: str | None,
    ttl: int | None,
    changes: dict[str, Any],
    as_json: bool,
) -> None:
    """Create an API key and print it; it is not shown again. With --ping, print a URL that a job
    calls when it succeeds; if it does not for longer than --ttl, its check fails.

    \b
    Examples:
      watchbell api-keys create prometheus --scope intake --days 365
      watchbell api-keys create deploy --privilege run_jobs --category deploy
      watchbell api-keys create backup --ping "db-1:nightly backup" --ttl "25 hours"
    """
    actor = operator()
    ping = _ping(check, ttl, scopes, actor.now)
    given = Rights(**changes)
    chosen = ("ping",) if ping else _scopes(scopes, given)
    expires = None if days is None else actor.now + days * 86_400
    secret, key = with_store(
        loaded.settings,
        lambda store: _keys(store).make(
            name, chosen, actor, expires=expires, ping=ping, given=given
        ),
    )
    url = f"{server_url(loaded.settings)}/ping/{secret}" if ping else None
    if as_json:
        print_json({"id": key.id, "secret": secret, "ping_url": url})
    else:
        click.echo(url or secret)


def _scopes(scopes: tuple[KeyScope, ...], given: Rights) -> tuple[KeyScope, ...]:
    if scopes:
        return tuple(dict.fromkeys(scopes))
    return () if given.privileges or given.roles else ("intake",)


def _ping(check: str | None, ttl: int | None, scopes: tuple[str, ...], now: int) -> Ping | None:
    if check is None and ttl is None:
        return None
    if check is None or ttl is None or scopes:
        raise Refused("a ping URL needs --ping ENTITY:CHECK and --ttl LENGTH, and no --scope")
    return ping_of(check, ttl, now)


@command.command
@click.argument("id_", metavar="ID", type=storable)
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([*(scope for scope in SCOPES if scope != "ping"), "none"]),
    multiple=True,
    help="What the key may do; can be repeated, none: clear.",
)
@rights_options(clear=True)
@with_settings()
def edit(*, loaded: Loaded, id_: str, scopes: tuple[str, ...], changes: dict[str, Any]) -> None:
    """Change what an API key may do. Options replace what the key had; what you leave out stays. It
    takes effect within a second.

    \b
    Examples:
      watchbell api-keys edit 0a1b2c3d4e5f --privilege run_jobs --category deploy
      watchbell api-keys edit 0a1b2c3d4e5f --scope read --privilege none
    """
    if scopes:
        changes["scopes"] = tuple(dict.fromkeys(one for one in scopes if one != "none"))
    if not changes:
        raise click.UsageError("say what to change; see `watchbell api-keys edit --help`")
    key = with_store(loaded.settings, lambda store: _keys(store).update(id_, changes, operator()))
    given = ", ".join([*key.scopes, *key.roles, *key.privileges])
    click.echo(f"API key {id_} now has {given}; limited to: {limits(key)}")


@command.command
@click.argument("id_", metavar="ID", type=storable)
@with_settings()
def revoke(*, loaded: Loaded, id_: str) -> None:
    """Revoke an API key. It stops working within a second.

    Example: watchbell api-keys revoke 0a1b2c3d4e5f
    """
    with_store(loaded.settings, lambda store: _keys(store).revoke(id_, operator()))
    click.echo(f"revoked API key {id_}")
