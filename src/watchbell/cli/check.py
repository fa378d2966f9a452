"""`watchbell check`."""

import asyncio
from collections.abc import Callable
from typing import Any

import click

from watchbell.alerting import check_settings
from watchbell.cli.audited import record_change
from watchbell.cli.options import as_json, opened, print_json, with_settings
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings


def _seconds_option(name: str, words: str) -> Callable[[Any], Any]:
    return click.option(name, metavar="SECONDS", help=words)


@click.group
def command() -> None:
    """Set what holds for one check, or hide it.

    Example: watchbell check set web-1:HTTP --ttl 300
    """


@command.command(name="set")
@click.argument("check", metavar="ENTITY:CHECK")
@_seconds_option("--ttl", "How much silence makes the check unknown.")
@_seconds_option("--initial-failure-delay", "How long a failure lasts before anybody is told.")
@_seconds_option("--repeat-failure-delay", "How long until the same failure is told again.")
@_seconds_option("--initial-recovery-delay", "How long a recovery lasts before anybody is told.")
@with_settings()
@as_json
def set_(*, loaded: Loaded, check: str, as_json: bool, **given: str | None) -> None:
    """Set what holds for one check; `none` takes a value back. An event's own values win.

    Example: watchbell check set web-1:HTTP --ttl 300 --initial-failure-delay 0
    """
    chosen = {name: _seconds(name, text) for name, text in given.items() if text is not None}
    held = asyncio.run(_configured(loaded.settings, _named(check), chosen))
    if as_json:
        print_json(held)
    else:
        words = ", ".join(f"{name} {value}" for name, value in sorted(held.items()))
        click.echo(f"{check}: {words or 'nothing is set'}")


@command.command
@click.argument("check", metavar="ENTITY:CHECK")
@with_settings()
def disable(*, loaded: Loaded, check: str) -> None:
    """Hide a check that is no longer wanted; it comes back when it reports again.

    Example: watchbell check disable old-web:HTTP
    """
    asyncio.run(_disabled(loaded.settings, _named(check)))
    click.echo(f"{check} is disabled")


def _named(check: str) -> str:
    entity, colon, name = check.partition(":")
    if not (entity and colon and name):
        raise Refused(f"the check is {check!r}; expected ENTITY:CHECK")
    return f"{entity.lower()}:{name}"


def _seconds(name: str, text: str) -> int | None:
    if text == "none":
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Refused(f"{name} is {text!r}; expected seconds, or none")
    return int(text)


async def _configured(
    settings: Settings, check: str, chosen: dict[str, int | None]
) -> dict[str, int]:
    async with opened(settings) as store:
        held = await check_settings.configure(store, check, chosen)
        words = ", ".join(f"{name} {value}" for name, value in chosen.items())
        await record_change(store, "check.settings", check, words)
        return held


async def _disabled(settings: Settings, check: str) -> None:
    async with opened(settings) as store:
        await check_settings.disable(store, check)
        await record_change(store, "check.disable", check)
