"""`watchbell entities`, and what importing and exporting have in common."""

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting import entities
from watchbell.alerting.entities import Entity
from watchbell.cli.options import as_json, opened, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.errors import NotFound, Refused
from watchbell.settings import Loaded, Settings

T = TypeVar("T")
Item = dict[str, Any]
Ids = tuple[str | int, ...]

_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


class EntityItem(Struct, kw_only=True):
    """An entity as files have it; what is absent or null is empty."""

    id: str | int
    name: str
    contacts: Ids | None = None
    tags: tuple[str, ...] | None = None
    check_contacts: dict[str, Ids] | None = None


def converted(value: object, kind: type[T], field: str = "") -> T:
    """The value as that type; raises Refused with the field that does not fit."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        missing = re.fullmatch(r"Object missing required field `(\w+)`", said)
        where = field + path.rstrip("`") + (f".{missing[1]}" if missing else "")
        words = re.sub(r"`([^`]+)`", _in_words, said)
        told = "it is missing" if missing else words[:1].lower() + words[1:]
        raise Refused(f"{where.strip('.') or 'the item'}: {told}") from None


def _in_words(types: re.Match[str]) -> str:
    names = [name for name in types[1].split(" | ") if name != "null"] or ["null"]
    return " or ".join(_WORDS.get(name, name) for name in names)


def from_item(item: Item) -> Entity:
    found = converted(item, EntityItem)
    return Entity(
        id=str(found.id),
        name=found.name,
        contacts=tuple(dict.fromkeys(map(str, found.contacts or ()))),
        tags=tuple(dict.fromkeys(found.tags or ())),
        check_contacts={
            check: tuple(map(str, told)) for check, told in (found.check_contacts or {}).items()
        },
    )


def items_of(file: str) -> list[Any]:
    """The items of a JSON array in a file, or on standard input."""
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Refused(f"{file} can't be read: {error.strerror or error}") from error
    try:
        items = msgspec.json.decode(raw.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(f"{file} is not JSON: {error}") from error
    if not isinstance(items, list):
        raise Refused(f"{file}: expected a JSON array of objects")
    return items


async def imported(
    items: Sequence[Any], kind: type[Struct], what: str, one: Callable[[Item], Awaitable[None]]
) -> None:
    """Does `one` with each item, and tells of those that are no good, by position and field."""
    fields = {field.name for field in msgspec.structs.fields(kind)}
    done = bad = 0
    for number, item in enumerate(items, 1):
        if isinstance(item, dict) and item.get("id") in (None, ""):
            click.echo(f"item {number} has no id and was skipped", err=True)
            continue
        try:
            if not isinstance(item, dict):
                raise Refused("expected an object")  # noqa: TRY301  (told like all the others)
            await one(item)
        except Refused as error:
            bad += 1
            name = f" (id {str(item['id'])[:60]!r})" if isinstance(item, dict) else ""
            click.echo(f"item {number}{name}: {error}", err=True)
            continue
        done += 1
        for field in item.keys() - fields:
            click.echo(f"item {number}: {field[:60]!r} is not known and was ignored", err=True)
    click.echo(f"{done} {what} imported")
    if bad:
        raise Refused(f"{bad} of {len(items)} items were not imported")


def export_to(file: str, items: Sequence[Item]) -> None:
    """Writes a JSON array; into a file that only its owner can read."""
    if file == "-":
        print_json(items)
        return
    text = msgspec.json.format(msgspec.json.encode(items), indent=2) + b"\n"
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(text)
    except OSError as error:
        raise Refused(f"{file} can't be written: {error.strerror or error}") from error


@click.group
def command() -> None:
    """Entities are what is watched: machines, services. They come into being with the first
    event about them; here they get ids of yours, contacts and tags.

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
    """Import entities from a JSON array, as Flapjack's, in FILE or - for standard input. An
    entity with the same id is replaced, and renamed if its name is another. What is not right
    is told by position and field, the others are imported, and the exit code is 1.

    Example: watchbell entities import entities.json
    """
    asyncio.run(_import(loaded.settings, items_of(file)))


async def _import(settings: Settings, items: Sequence[Any]) -> None:
    async with opened(settings) as store:
        seen = await entities.survey(store)

        async def one(item: Item) -> None:
            with_checks = item.get("check_contacts") is not None
            await entities.save(store, from_item(item), with_checks=with_checks, seen=seen)

        await imported(items, EntityItem, "entities", one)


@command.command
@click.argument("file", default="-")
@with_settings()
def export(*, loaded: Loaded, file: str) -> None:
    """Export all entities to FILE or standard output, as a JSON array that can be imported
    again. The one called ALL has the contacts that are told about everything.

    Example: watchbell entities export entities.json
    """
    found = asyncio.run(_found(loaded.settings, "*"))
    export_to(file, [msgspec.to_builtins(entity) for entity in found])


async def _found(settings: Settings, pattern: str) -> list[Entity]:
    async with opened(settings) as store:
        return await entities.find(store, pattern)


@command.command
@click.argument("pattern", default="*")
@with_settings()
@as_json
def show(*, loaded: Loaded, pattern: str, as_json: bool) -> None:
    """Show entities by name: PATTERN may have * and ?, or be a regular expression as /…/.

    Example: watchbell entities show 'web-*'
    """
    found = asyncio.run(_found(loaded.settings, pattern))
    if as_json:
        print_json(found)
        return
    rows = [
        [
            entity.name,
            entity.id,
            ", ".join(entity.tags),
            ", ".join(entity.contacts),
            "; ".join(f"{c}: {', '.join(told)}" for c, told in entity.check_contacts.items()),
        ]
        for entity in found
    ]
    show_table(["entity", "id", "tags", "contacts", "contacts of checks"], rows)


@command.command("set")
@click.argument("entity")
@click.option("--id", "entity_id", metavar="ID", help="The id that a new entity gets.")
@click.option("--name", metavar="NAME", help="A new name.")
@click.option("--contact", multiple=True, metavar="ID", help="A contact to add.")
@click.option("--no-contact", multiple=True, metavar="ID", help="A contact to take away.")
@click.option("--tag", multiple=True, metavar="TAG", help="A tag to add.")
@click.option("--untag", multiple=True, metavar="TAG", help="A tag to take away.")
@with_settings()
def set_(*, loaded: Loaded, entity: str, **given: Any) -> None:
    """Make an entity, or change what is given of one, which is named by its name or id.

    Example: watchbell entities set web-1 --tag eu --contact alice
    """
    saved = asyncio.run(_set(loaded.settings, entity, given))
    click.echo(f"{saved.name} is set, with the id {saved.id}")


async def _set(settings: Settings, name_or_id: str, given: Item) -> Entity:
    async with opened(settings) as store:
        new = Entity(id=given["entity_id"] or ids.token(), name=name_or_id.lower())
        try:
            entity_id = await entities.id_of(store, name_or_id)
        except NotFound:
            entity_id = new.id
        known = {one.id: one for one in await entities.find(store)}
        changed = changes(known.get(entity_id, new), given)
        await entities.save(store, changed)
        return changed


def changes(entity: Entity, given: Item) -> Entity:
    told = dict.fromkeys((*entity.contacts, *given["contact"]))
    tags = dict.fromkeys((*entity.tags, *given["tag"]))
    return replace(
        entity,
        id=given["entity_id"] or entity.id,
        name=given["name"] or entity.name,
        contacts=tuple(one for one in told if one not in given["no_contact"]),
        tags=tuple(tag for tag in tags if tag not in given["untag"]),
    )


@command.command
@click.argument("entity")
@with_settings()
def remove(*, loaded: Loaded, entity: str) -> None:
    """Remove an entity with its id, tags and contacts. What its checks reported stays, until
    it is purged; the next event about it makes it anew.

    Example: watchbell entities remove web-1
    """
    asyncio.run(_remove(loaded.settings, entity))
    click.echo(f"{entity} is removed")


async def _remove(settings: Settings, name_or_id: str) -> None:
    async with opened(settings) as store:
        await entities.remove(store, await entities.id_of(store, name_or_id))
