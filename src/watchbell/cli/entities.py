"""`watchbell entities`."""

import asyncio
from collections.abc import Sequence
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting import contacts, entities, json_items
from watchbell.alerting.entities import Entity
from watchbell.alerting.json_items import EntityItem, Item
from watchbell.cli.audited import record_change
from watchbell.cli.items import export_to, imported, items_of
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.errors import NotFound
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened


@click.group
def command() -> None:
    """Manage entities: the machines and services that are watched. The first event about an
    entity creates it; here you give it an id, contacts and tags.

    \b
    Examples:
      watchbell entities show 'web-*'
      watchbell entities set web-1 --tag eu --contact alice
      watchbell entities import entities.json
    """


@command.command("import")
@click.argument("file")
@with_settings()
def import_(*, loaded: Loaded, file: str) -> None:
    """Import entities from a JSON array. The format is that of Flapjack; FILE can be - for standard
    input. An entity with the same id is replaced, and renamed if the name differs. Invalid items
    are reported by position and field; all others are imported, and the exit code is 1.

    Example: watchbell entities import entities.json
    """
    asyncio.run(_import(loaded.settings, items_of(file)))


async def _import(settings: Settings, given: Sequence[Any]) -> None:
    async with opened(settings) as store:
        seen = await entities.survey(store)

        async def one(item: Item) -> None:
            with_checks = item.get("check_contacts") is not None
            await entities.save(store, json_items.entity(item), with_checks=with_checks, seen=seen)

        await imported(store, given, EntityItem, "entities", one)


@command.command
@click.argument("file", default="-")
@with_settings()
def export(*, loaded: Loaded, file: str) -> None:
    """Export all entities as a JSON array. It goes to FILE or standard output and can be imported
    again. The entity ALL lists the contacts that are alerted about everything.

    Example: watchbell entities export entities.json
    """
    found = with_store(loaded.settings, entities.find)
    export_to(file, [msgspec.to_builtins(entity) for entity in found])


@command.command
@click.argument("pattern", default="*")
@with_settings()
@as_json
def show(*, loaded: Loaded, pattern: str, as_json: bool) -> None:
    """List entities. PATTERN can contain * and ?, or be a regular expression between slashes.

    Example: watchbell entities show 'web-*'
    """
    found = with_store(loaded.settings, lambda store: entities.find(store, pattern))
    if as_json:
        print_json(found)
        return
    rows = [
        [
            entity.name,
            entity.id,
            ", ".join(entity.tags),
            ", ".join(entity.contacts),
            "; ".join(f"{c}: {', '.join(names)}" for c, names in entity.check_contacts.items()),
        ]
        for entity in found
    ]
    show_table(["entity", "id", "tags", "contacts", "contacts of checks"], rows)


@command.command("set")
@click.argument("entity")
@click.option(
    "--id", "entity_id", metavar="ID", help="The id of a new entity. Default: a random one."
)
@click.option("--name", metavar="NAME", help="A new name.")
@click.option("--contact", multiple=True, metavar="ID", help="A contact to add.")
@click.option("--no-contact", multiple=True, metavar="ID", help="A contact to remove.")
@click.option("--tag", multiple=True, metavar="TAG", help="A tag to add.")
@click.option("--untag", multiple=True, metavar="TAG", help="A tag to remove.")
@with_settings()
def set_(*, loaded: Loaded, entity: str, **given: Any) -> None:
    """Add an entity, or change one. ENTITY is a name or an id.

    Example: watchbell entities set web-1 --tag eu --contact alice
    """
    saved, strangers = asyncio.run(_set(loaded.settings, entity, given))
    click.echo(f"saved entity {saved.name}, id {saved.id}")
    for name in strangers:
        click.echo(
            f"warning: there is no contact {name!r} yet, so no alerts are sent to it", err=True
        )


async def _set(settings: Settings, name_or_id: str, given: Item) -> tuple[Entity, list[str]]:
    """The saved entity, and those of its new contacts that do not exist."""
    async with opened(settings) as store:
        new = Entity(id=given["entity_id"] or ids.token(), name=name_or_id.lower())
        try:
            entity_id = await entities.id_of(store, name_or_id)
        except NotFound:
            entity_id = new.id
        known = {one.id: one for one in await entities.find(store)}
        changed = changes(known.get(entity_id, new), given)
        await entities.save(store, changed)
        action = "entity.change" if entity_id in known else "entity.add"
        renamed = given["name"] if given["name"] and entity_id in known else ""
        await record_change(store, action, name_or_id, f"renamed to {renamed}" if renamed else "")
        met = await contacts.load(store, given["contact"])
        return changed, [name for name in given["contact"] if name not in met]


def changes(entity: Entity, given: Item) -> Entity:
    linked = dict.fromkeys((*entity.contacts, *given["contact"]))
    tags = dict.fromkeys((*entity.tags, *given["tag"]))
    return replace(
        entity,
        id=given["entity_id"] or entity.id,
        name=given["name"] or entity.name,
        contacts=tuple(one for one in linked if one not in given["no_contact"]),
        tags=tuple(tag for tag in tags if tag not in given["untag"]),
    )


@command.command
@click.argument("entity")
@with_settings()
def remove(*, loaded: Loaded, entity: str) -> None:
    """Remove an entity with its id, tags and contacts. The history of its checks stays until it is
    purged. The next event about it creates it again.

    Example: watchbell entities remove web-1
    """
    asyncio.run(_remove(loaded.settings, entity))
    click.echo(f"removed entity {entity}")


async def _remove(settings: Settings, name_or_id: str) -> None:
    async with opened(settings) as store:
        await entities.remove(store, await entities.id_of(store, name_or_id))
        await record_change(store, "entity.remove", name_or_id)
