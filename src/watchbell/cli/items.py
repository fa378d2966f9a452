"""Import and export of JSON files."""

import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from watchbell.alerting.json_items import Item, Taken, each_taken
from watchbell.cli.audited import record_change
from watchbell.cli.options import print_json
from watchbell.errors import Refused
from watchbell.store.client import Store
from watchbell.units import counted


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
        raise Refused(f"{file} does not contain a JSON array of objects")
    return items


async def imported(
    store: Store,
    items: Sequence[Any],
    kind: type[Struct],
    what: str,
    one: Callable[[Item], Awaitable[None]],
) -> None:
    """Import each item with `one`, and report invalid items by position and field."""
    done = bad = 0
    async for taken in each_taken(items, kind, one):
        done += taken.status == "imported"
        bad += taken.status == "refused"
        for line in _lines(taken):
            click.echo(line, err=True)
    click.echo(f"{what} imported: {done:,}")
    if done:
        await record_change(store, f"{what}.import", "", f"{done:,} of {len(items):,} items")
    if bad:
        raise Refused(f"{bad:,} of {counted(len(items), 'item')} could not be imported")


def _lines(taken: Taken) -> list[str]:
    if taken.status == "skipped":
        return [f"item {taken.number} has no id and was skipped"]
    if taken.status == "refused":
        name = f" (id {taken.id!r})" if taken.id else ""
        return [f"item {taken.number}{name}: {taken.reason}"]
    return [f"item {taken.number}: unknown field {field!r} was ignored" for field in taken.ignored]


def export_to(file: str, items: Sequence[Item]) -> None:
    """Write a JSON array, into a file that only its owner can read."""
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
