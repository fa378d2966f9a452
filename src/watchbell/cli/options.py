"""Options that commands share, and the settings that they give."""

import functools
import textwrap
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import msgspec

from watchbell import logs, probes, settings
from watchbell.errors import BadSettings
from watchbell.settings import Settings
from watchbell.store import url as store_url

Command = Callable[..., Any]

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def with_settings(*more: str, has_store: bool = True) -> Callable[[Command], Command]:
    """Add --config, --data, --store and those of `more`; the command receives `loaded`."""
    options = {
        "store.url": click.option(
            "--store",
            "store_url",
            metavar="URL",
            help="URL of the store. Default: the embedded store of the data folder.",
        ),
        "data": click.option(
            "--data", metavar="DIR", help="Folder of the embedded store and other files."
        ),
        "store.port": click.option(
            "--port",
            "store_port",
            metavar="N",
            help="Loopback port of the embedded store; 0: none.",
        ),
    }
    used = [*(["store.url"] if has_store else []), "data", *more]

    def decorated(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(config: Path | None, **given: Any) -> Any:
            chosen = {name: given.pop(name.replace(".", "_")) for name in used}
            loaded = settings.load(config, settings.environment(), chosen)
            _prepare(loaded.settings)
            return command(loaded=loaded, **given)

        config = click.option(
            "--config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Settings file to read.",
        )
        for name in reversed(used):
            wrapped = options[name](wrapped)
        return config(wrapped)

    return decorated


def _prepare(chosen: Settings) -> None:
    if chosen.store.password:
        logs.hide(chosen.store.password.reveal())
    with suppress(BadSettings):  # reported by the commands that need the store
        url = store_url.parse(chosen.store.url)
        logs.hide(url.password)
        logs.hide(url.sentinel_password)
    logs.configure(chosen.log.level, chosen.log.format)
    if chosen.fault:
        probes.arm(chosen.fault)


def print_json(value: Any) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


async def print_json_list(parts: AsyncIterator[Sequence[Any]]) -> None:
    """Prints one list, part by part as they come."""
    is_empty = True
    async for part in parts:
        for value in part:
            text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
            lead = "[\n" if is_empty else ",\n"
            click.echo(lead + textwrap.indent(text, "  "), nl=False)
            is_empty = False
    click.echo("[]" if is_empty else "\n]")
