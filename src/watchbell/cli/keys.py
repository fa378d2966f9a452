"""`watchbell keys`."""

import asyncio
import sys

import click
import msgspec

from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.settings import Loaded, Settings
from watchbell.store import key_counts
from watchbell.store.families import Channel, Keyspace
from watchbell.store.opening import opened
from watchbell.units import in_bytes
from watchbell.web.system import key_families

KEYSPACES: list[type[Keyspace]] = key_families.KEYSPACES


class Row(msgspec.Struct):
    document: str
    name: str
    pattern: str
    type: str
    keys: int
    bytes: int
    expires: str
    expiring: int


@click.command
@with_settings()
@click.option("--all", "show_all", is_flag=True, help="Include families without keys.")
@as_json
def command(*, loaded: Loaded, show_all: bool, as_json: bool) -> None:
    """List the key families in the store: pattern, type, number of keys, memory (estimated from a
    sample), number of expiring keys, and the document that defines them. The last line counts keys
    of no family.

    Example: watchbell keys --all
    """
    rows = asyncio.run(_rows(loaded.settings))
    if as_json:
        print_json(rows)
        return
    columns = ["from", "family", "pattern", "type", "keys", "memory", "expiring"]
    shown = [row for row in rows if row.keys or show_all]
    cells = [
        [r.document, r.name, r.pattern, r.type, f"{r.keys:,}", in_bytes(r.bytes), _expiry(r)]
        for r in shown
    ]
    show_table(columns, cells, right=["keys", "memory", "expiring"])
    if not show_all and len(shown) < len(rows):
        click.echo(f"\n{len(rows) - len(shown)} families have no keys; --all lists them.")


async def _rows(settings: Settings) -> list[Row]:
    owners = {f: space for space in KEYSPACES for f in space.families()}
    async with opened(settings) as store:
        counts = await key_counts.count(store, list(owners), _progress)
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
    words = {True: "yes", False: "no", "sometimes": "sometimes"}
    rows = [
        Row(
            document=space.document,
            name=family.name,
            pattern=store.prefix + family.pattern,
            type=family.kind,
            keys=counts[family].keys,
            bytes=counts[family].bytes,
            expires=words[family.expires],
            expiring=counts[family].expiring,
        )
        for family, space in owners.items()
        if not isinstance(family, Channel)
    ]
    rest = counts[None]
    other = Row("-", "-", "of no family", "-", rest.keys, rest.bytes, "-", rest.expiring)
    return [*rows, other] if rest.keys else rows


def _progress(seen: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{seen:,} keys examined", err=True, nl=False)


def _expiry(row: Row) -> str:
    return f"{row.expiring:,}" if row.expiring or row.expires != "no" else "-"
