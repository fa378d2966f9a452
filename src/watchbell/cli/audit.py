"""`watchbell audit`."""

import asyncio

import click
from msgspec import Struct

from watchbell.cli.arguments import limited, moment, storable
from watchbell.cli.formatting import plain, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened
from watchbell.web import audit
from watchbell.web.audit import AuditFilter, Entry


@click.group
def command() -> None:
    """Show who changed what: on the pages, through the API, by links and on the command line.

    Example: watchbell audit list --since "1 day ago"
    """


class Row(Struct, frozen=True):
    """An entry with all its fields, for programs."""

    time: int
    who: str
    action: str
    subject: str
    details: str
    address: str


@command.command("list")
@click.option(
    "--who",
    type=storable,
    default="",
    metavar="NAME",
    help="Only changes by this user, or by ACCOUNT@HOST on the command line.",
)
@click.option(
    "--action",
    type=storable,
    default="",
    metavar="ACTION",
    help="Only this action, such as user.add, or all of one kind, such as user.",
)
@click.option(
    "--text", type=storable, default="", metavar="TEXT", help="Only entries that contain this text."
)
@click.option("--since", type=moment, metavar="TIME", help="Only changes from this time on.")
@click.option("--until", type=moment, metavar="TIME", help="Only changes before this time.")
@limited(50)
@with_settings()
@as_json
def list_(
    *,
    loaded: Loaded,
    who: str,
    action: str,
    text: str,
    since: int | None,
    until: int | None,
    limit: int,
    as_json: bool,
) -> None:
    """List changes, newest first.

    \b
    Examples:
      watchbell audit list
      watchbell audit list --who alice --action contact --since "1 week ago"
    """
    wanted = AuditFilter(who=who, action=action, text=text, since=since, until=until)
    found = asyncio.run(_found(loaded.settings, wanted, limit))
    if as_json:
        print_json([Row(*(getattr(one, name) for name in Row.__struct_fields__)) for one in found])
        return
    if not found:
        click.echo(
            "No changes match." if wanted != AuditFilter() else "No changes are recorded yet."
        )
        return
    show_table(
        ["time", "who", "action", "subject", "details", "address"], [_row(one) for one in found]
    )
    if len(found) == limit:
        click.echo(f"\nThese are the newest {limit:,}; --limit 0 shows all.")


async def _found(settings: Settings, wanted: AuditFilter, limit: int) -> list[Entry]:
    async with opened(settings) as store:
        found = await audit.read(store, "", limit or audit.MOST * 2, wanted)
    return [one.entry for one in found]


def _row(entry: Entry) -> list[str]:
    texts = (entry.who or "unknown", entry.action, entry.subject, entry.details, entry.address)
    return [when(entry.time), *(plain(text, 200) for text in texts)]
