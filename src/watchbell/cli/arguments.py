"""Arguments and options that commands share: how their values are written and read."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from watchbell import units
from watchbell.alerting import phrases
from watchbell.cli.formatting import zone
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.schedule import spoken

_DAY, _MIB = 86_400, 1 << 20


def storable(value: str) -> str:
    """The text of an argument as UTF-8, whatever bytes were typed."""
    return value.encode(errors="replace").decode()


storable.__name__ = "text"  # as help texts name the value

Value = TypeVar("Value")


def _asked(read: Callable[[], Value]) -> Value:
    try:
        return read()
    except Refused as refused:
        raise click.BadParameter(str(refused)) from None


def length(value: str) -> int:
    """Seconds of an argument such as `4 hours`; at least one."""
    return _asked(lambda: phrases.length(value))


def length_or_zero(value: str) -> int:
    return _asked(lambda: units.duration(value))


def length_or_none(value: str) -> int | str:
    """As `length_or_zero`, or the word `none`."""
    return value if value == "none" else length_or_zero(value)


def fine_length(value: str) -> float:
    """Seconds of an argument such as `0.5` or `2 minutes`, from a millisecond on."""
    try:
        seconds = float(value)
    except ValueError:
        seconds = length(value)
    if not 0.001 <= seconds <= 1e6:
        raise click.BadParameter(f"{value!r} is not between 0.001 and 1,000,000 seconds")
    return seconds


def days(value: str) -> int:
    """Days of an argument such as `90` or `3 months`; from 1 to 36,500."""
    found, rest = divmod(_asked(lambda: units.duration(value, _DAY)), _DAY)
    if rest or not 1 <= found <= 36_500:
        raise click.BadParameter(f"{value!r} is not a whole number of days from 1 to 36500")
    return found


def mebibytes(value: str) -> int:
    """MiB of an argument such as `100` or `2 GiB`."""
    found, rest = divmod(_asked(lambda: units.size(value, _MIB)), _MIB)
    if rest:
        raise click.BadParameter(f"{value!r} is not a whole number of MiB")
    return found


def moment(value: str) -> int:
    """Seconds since 1970 of an argument such as `tomorrow 08:00`, in the reader's zone."""
    found = _asked(lambda: phrases.moment(value, SYSTEM.now(), zone()))
    if remark := spoken.remark(value):
        click.echo(f"watchbell: {remark}", err=True)
    return found


yes_option = click.option("--yes", is_flag=True, help="Don't ask for confirmation.")


def confirm(question: str, *, yes: bool) -> None:
    """Return only if --yes was given, or a person on the terminal agrees."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Refused("nothing was changed; add --yes to continue without a question")
    click.confirm(question, abort=True)


def limited(default: int) -> Callable[[Any], Any]:
    return click.option(
        "--limit",
        type=click.IntRange(0),
        default=default,
        show_default=True,
        metavar="N",
        help="Rows to show, at most; 0: all.",
    )


def disabled_too(command: Any) -> Any:
    option = click.option("--all", "show_all", is_flag=True, help="Include disabled checks.")
    return option(command)
