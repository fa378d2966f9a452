"""`watchbell expression`."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from watchbell.cli.formatting import plain
from watchbell.cli.options import as_json, print_json
from watchbell.errors import Refused
from watchbell.expressions import Expression, ExpressionError, Template

_LONGEST = 1_000_000


# An expression may begin with a minus.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("text", metavar="TEXT")
@click.option(
    "--data",
    "file",
    metavar="FILE",
    help="A JSON file with the values that the expression reads; `-`: standard input.",
)
@click.option(
    "--message", "is_message", is_flag=True, help="TEXT is a message with {{expressions}} in it."
)
@as_json
def command(*, text: str, file: str | None, is_message: bool, as_json: bool) -> None:
    """Evaluate an expression, as monitors and alerts do, and print its value. A mistake is shown
    at its place.

    Example: watchbell expression "memory.available / memory.total * 100" --data server.json
    """
    try:
        value = _value(text, {} if file is None else _values(file), is_message=is_message)
    except ExpressionError as error:
        click.echo(error.pointer(), err=True)
        raise
    if as_json:
        print_json(value)
    elif isinstance(value, str):
        click.echo("\n".join(plain(line, _LONGEST) for line in value.split("\n")))
    else:
        click.echo(plain(msgspec.json.encode(value).decode(), _LONGEST))


def _value(text: str, values: dict[str, Any], *, is_message: bool) -> Any:
    if is_message:
        return Template.parse(text).render_strictly(values)
    return Expression.parse(text).evaluate(values)


def _values(file: str) -> dict[str, Any]:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Refused(f"{file} can't be read: {error.strerror or error}") from error
    try:
        found = msgspec.json.decode(raw.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(f"{file} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused(f"{file} does not contain a JSON object with the values")
    return found
