"""`watchbell check`."""

import asyncio

import click

from watchbell.alerting import check_settings
from watchbell.cli.arguments import length_or_none
from watchbell.cli.audited import record_change
from watchbell.cli.event import SENDING
from watchbell.cli.options import Command, as_json, print_json, with_settings
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened


def _settable(command: Command) -> Command:
    for name, words in reversed(SENDING.items()):
        command = click.option(name, type=length_or_none, metavar="LENGTH", help=words)(command)
    return command


@click.group
def command() -> None:
    """Change the settings of one check, or disable it.

    Example: watchbell check set web-1:HTTP --ttl "5 min"
    """


@command.command(name="set")
@click.argument("check", metavar="ENTITY:CHECK")
@_settable
@with_settings()
@as_json
def set_(*, loaded: Loaded, check: str, as_json: bool, **given: int | str | None) -> None:
    """Change the settings of one check. `none` removes a setting. Values that come with an event
    take precedence.

    Example: watchbell check set web-1:HTTP --ttl "5 min" --initial-failure-delay none
    """
    chosen = {
        name: None if value == "none" else int(value)
        for name, value in given.items()
        if value is not None
    }
    held = asyncio.run(_configured(loaded.settings, _named(check), chosen))
    if as_json:
        print_json(held)
    else:
        words = ", ".join(f"{name} {value} s" for name, value in sorted(held.items()))
        click.echo(f"{check}: {words or 'no settings of its own'}")


@command.command
@click.argument("check", metavar="ENTITY:CHECK")
@with_settings()
def disable(*, loaded: Loaded, check: str) -> None:
    """Disable a check that is no longer needed. Its next event enables it again.

    Example: watchbell check disable old-web:HTTP
    """
    asyncio.run(_disabled(loaded.settings, _named(check)))
    click.echo(f"{check} is disabled")


def _named(check: str) -> str:
    entity, colon, name = check.partition(":")
    if not (entity and colon and name):
        raise Refused(f"{check!r} does not name a check; write ENTITY:CHECK", field="check")
    return f"{entity.lower()}:{name}"


async def _configured(
    settings: Settings, check: str, chosen: dict[str, int | None]
) -> dict[str, int]:
    async with opened(settings) as store:
        held = await check_settings.configure(store, check, chosen)
        words = ", ".join(
            f"{name} {'none' if value is None else value}" for name, value in chosen.items()
        )
        await record_change(store, "check.settings", check, words)
        return held


async def _disabled(settings: Settings, check: str) -> None:
    async with opened(settings) as store:
        await check_settings.disable(store, check)
        await record_change(store, "check.disable", check)
