"""What the commands for events, monitors and other definitions share."""

from collections.abc import Iterable, Mapping
from typing import Any

import click
import msgspec

from watchbell.cli.arguments import storable
from watchbell.cli.audited import operator, record_change
from watchbell.cli.formatting import plain
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound, Refused
from watchbell.jobs import definition_removal, definitions, titles
from watchbell.jobs.validation import Record
from watchbell.store.client import Store

_PLURALS = {"category": "categories", "alert": "alert-defs"}
"""Also names of commands."""
_NOUNS = {"alert": "alert definition"}

set_option = click.option(
    "--set",
    "fields",
    multiple=True,
    metavar="FIELD=VALUE",
    type=storable,
    help="Set a field of the definition; VALUE is JSON or text. Can be repeated.",
)


def plural(kind: str) -> str:
    return _PLURALS.get(kind, f"{kind}s")


def noun(kind: str) -> str:
    """As people call one of them."""
    return _NOUNS.get(kind, kind)


def nouns(kind: str) -> str:
    return f"{_NOUNS[kind]}s" if kind in _NOUNS else plural(kind)


async def find(store: Store, kind: str, name: str) -> Record:
    """The record of this id, or else of this title."""
    try:
        return await definitions.get(store, kind, name)
    except NotFound:
        everything = (await titles.every(store, kind)).items()
    titled = [id_ for id_, one in everything if one.title.casefold() == name.strip().casefold()]
    if len(titled) == 1:
        return await definitions.get(store, kind, titled[0])
    if titled:
        known = ", ".join(titled)
        raise Refused(f"several {nouns(kind)} have the title {plain(name)!r}; use an id: {known}")
    raise NotFound(
        f"there is no {noun(kind)} {plain(name, 100)!r}; `watchbell {plural(kind)} list` shows all"
    )


def read_fields(given: Iterable[str]) -> dict[str, Any]:
    """`FIELD=VALUE` pairs; a value that is not JSON is text."""
    return dict(_pair(one) for one in given)


def read_params(given: Iterable[str]) -> dict[str, str]:
    """`NAME=VALUE` pairs of text; the plugin knows the types."""
    return dict(_split(one) for one in given)


def _pair(text: str) -> tuple[str, Any]:
    name, value = _split(text)
    try:
        return name, msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return name, value


def _split(text: str) -> tuple[str, str]:
    name, is_pair, value = text.partition("=")
    if not is_pair or not name.strip():
        raise click.UsageError(f"expected NAME=VALUE, not {plain(text, 60)!r}")
    return name.strip(), value


async def created(store: Store, kind: str, values: Mapping[str, Any]) -> Record:
    by = operator()
    record = await definitions.create(store, kind, values, by.actor, SYSTEM.now())
    await record_change(store, f"{kind}.add", record.id, plain(record.title))
    return record


async def updated(store: Store, kind: str, name: str, changes: Mapping[str, Any]) -> Record:
    by, known = operator(), await find(store, kind, name)
    record = await definitions.update(store, kind, known.id, changes, by.actor, SYSTEM.now())
    if record.revision != known.revision:
        fields = ", ".join(sorted(changes))
        await record_change(store, f"{kind}.edit", record.id, f"{plain(record.title)}: {fields}")
    return record


async def removed(store: Store, kind: str, name: str) -> Record:
    by, known = operator(), await find(store, kind, name)
    await definition_removal.remove(store, kind, known.id, by.actor, SYSTEM.now())
    await record_change(store, f"{kind}.remove", known.id, plain(known.title))
    return known


def named(record: Record) -> str:
    """As people recognise it: the title, and the id where that differs."""
    title = plain(record.title, 100)
    return title if title == record.id else f"{title} ({record.id})"
