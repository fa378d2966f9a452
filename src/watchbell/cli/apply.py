"""`watchbell apply`."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from watchbell.cli.arguments import confirm, yes_option
from watchbell.cli.audited import operator, record_change
from watchbell.cli.formatting import plain
from watchbell.cli.options import with_settings
from watchbell.cli.store_call import with_store
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.fleet import groups
from watchbell.jobs import definition_files
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.imports import plan
from watchbell.jobs.imports.found import Found, Item
from watchbell.jobs.imports.plan import Planned
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import counted

DIFFERENT = 5
"""The exit code of a dry run that found differences."""


@click.command
@click.option("--file", "-f", required=True, metavar="FILE|-", help="YAML of `events export`.")
@click.option("--dry-run", is_flag=True, help="Show what would be changed, and change nothing.")
@yes_option
@with_settings()
def command(*, loaded: Loaded, file: str, dry_run: bool, yes: bool) -> int:
    """Make events, categories, plugins, channels, tags and server groups as a file says. What the
    file does not name stays as it is. You see the differences before you confirm. With --dry-run,
    the exit code is 5 if there are differences.

    \b
    Examples:
      watchbell events export "Nightly release" > release.yaml
      watchbell apply -f release.yaml
    """
    given, now = definition_files.load(_content(file)), SYSTEM.now()

    async def planned(store: Store) -> tuple[list[Planned], list[str]]:
        catalogue = Catalogue(store)
        await catalogue.load()
        found = [await _unmasked(store, one, catalogue) for one in given.items]
        made = await plan.planned(store, Found(tuple(found)), now)
        return made, [await _difference(store, one, catalogue) for one in made]

    made, differences = with_store(loaded.settings, planned)
    _check(made)
    changed = [one for one in made if one.state != "same"]
    for line in "\n".join(filter(None, differences)).splitlines():
        click.echo(plain(line, 10_000))
    if not changed:
        click.echo("nothing to change")
        return 0
    if dry_run:
        click.echo(f"{counted(len(changed), 'definition')} would be changed")
        return DIFFERENT
    confirm("Apply this?", yes=yes)

    async def applied(store: Store) -> None:
        if await planned(store) != (made, differences):
            raise Refused("definitions were changed meanwhile; run this again to see how")
        await plan.make(store, made, operator().actor, now, replace=True)
        names = ", ".join(f"{one.item.kind} {one.id}" for one in changed)
        await record_change(store, "definitions.apply", "", names[:1_000])

    with_store(loaded.settings, applied)
    click.echo(f"changed {counted(len(changed), 'definition')}")
    return 0


def _check(made: list[Planned]) -> None:
    if wrong := [one for one in made if one.state == "invalid"]:
        reasons = [
            f"{plain(one.item.name)}: {plain(reason)}" for one in wrong for reason in one.problems
        ]
        raise Refused("\n  ".join(["nothing was changed:", *reasons]))


def _content(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text()
    except UnicodeDecodeError as error:
        raise Refused(f"can't read {file}: it is no UTF-8 text ({error})") from None
    except OSError as error:
        raise Refused(f"can't read {file}: {error.strerror}") from None


async def _stored(store: Store, item: Item, catalogue: Catalogue) -> Any:
    if item.kind == "group":
        return next((one for one in await groups.every(store) if one.id == item.values["id"]), None)
    return catalogue.of(item.kind).get(str(item.values["id"]))


async def _unmasked(store: Store, item: Item, catalogue: Catalogue) -> Item:
    stored = await _stored(store, item, catalogue)
    known = {} if stored is None else msgspec.json.decode(msgspec.json.encode(stored))
    return Item(item.kind, definition_files.unmasked(dict(item.values), known))


async def _difference(store: Store, one: Planned, catalogue: Catalogue) -> str:
    if one.state in ("same", "invalid"):
        return ""
    stored = await _stored(store, one.item, catalogue)
    old = None if stored is None else definition_files.values(stored, catalogue)
    if one.record is None:
        new = {**(old or {}), **one.item.values}
    else:
        new = definition_files.values(one.record, catalogue)
    name = f"{one.item.kind} {one.id}"
    return definition_files.difference(old, new, name) or f"{name}: what is masked differs"
