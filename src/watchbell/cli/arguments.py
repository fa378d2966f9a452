"""Arguments and options that commands share: how their values are written and read."""

from collections.abc import Callable
from typing import Any

import click

from watchbell.alerting import phrases
from watchbell.cli.formatting import zone
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.schedule import spoken


def storable(value: str) -> str:
    """The text of an argument as a store can keep it, whatever bytes it was typed in."""
    return value.encode(errors="replace").decode()


def length(value: str) -> int:
    """Seconds of an argument such as `4 hours`; at least one."""
    try:
        return phrases.length(value)
    except Refused as refused:
        raise click.BadParameter(str(refused)) from None


def moment(value: str) -> int:
    """Seconds since 1970 of an argument such as `tomorrow 08:00`, in the reader's zone."""
    try:
        found = phrases.moment(value, SYSTEM.now(), zone())
    except Refused as refused:
        raise click.BadParameter(str(refused)) from None
    if remark := spoken.remark(value):
        click.echo(f"watchbell: {remark}", err=True)
    return found


def limited(default: int) -> Callable[[Any], Any]:
    return click.option(
        "--limit",
        type=click.IntRange(0),
        default=default,
        show_default=True,
        metavar="N",
        help="How many rows at most; 0 for all.",
    )


def disabled_too(command: Any) -> Any:
    option = click.option("--all", "show_all", is_flag=True, help="Disabled checks, too.")
    return option(command)
