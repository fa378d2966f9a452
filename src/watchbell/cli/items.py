"""Items of JSON files: how they are read, checked, imported one by one, and exported."""

import os
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from msgspec import Struct

from watchbell.cli.options import print_json
from watchbell.errors import Refused

T = TypeVar("T")
Item = dict[str, Any]

_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


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
