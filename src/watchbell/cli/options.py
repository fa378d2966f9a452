"""The options that commands share, and what they give: settings, and a store that answers."""

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import click
import msgspec
from redis.exceptions import NoPermissionError, ResponseError

from watchbell import logs, probes, settings
from watchbell.errors import BadSettings, Refused, StoreUnavailable
from watchbell.settings import Settings
from watchbell.store import embedded, health
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.url import StoreURL

Command = Callable[..., Any]

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def with_settings(*more: str) -> Callable[[Command], Command]:
    """Adds --config, --data and --store, and those of `more`; the command is given `loaded`."""
    options = {
        "store.url": click.option(
            "--store",
            "store_url",
            metavar="URL",
            help="The store to use; without it, the embedded one of the data folder.",
        ),
        "data": click.option(
            "--data", metavar="DIR", help="The data folder of this machine's store."
        ),
        "store.port": click.option(
            "--port",
            "store_port",
            metavar="N",
            help="The embedded store's loopback port; 0 for none.",
        ),
    }
    used = ["store.url", "data", *more]

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
            help="The settings file.",
        )
        for name in reversed(used):
            wrapped = options[name](wrapped)
        return config(wrapped)

    return decorated


def _prepare(chosen: Settings) -> None:
    if chosen.store.password:
        logs.hide(chosen.store.password.reveal())
    with suppress(BadSettings):  # told by the commands that need the store
        url = store_url.parse(chosen.store.url)
        logs.hide(url.password)
        logs.hide(url.sentinel_password)
    logs.configure(chosen.log.level, chosen.log.format)
    if chosen.fault:
        probes.arm(chosen.fault)


def place(chosen: Settings) -> StoreURL:
    """Where the store is: at the URL of the settings, or in the data folder."""
    if chosen.store.url:
        return store_url.parse(chosen.store.url, chosen.store.password.reveal())
    if not embedded.is_running(chosen.data):
        raise StoreUnavailable(
            f"no store is running on {chosen.data}; start it with `watchbell up`, "
            "or name one with --store URL"
        )
    return embedded.url(chosen)


@asynccontextmanager
async def opened(chosen: Settings) -> AsyncIterator[Store]:
    """A store that was asked and can serve us."""
    async with Store(place(chosen)) as store:
        try:
            await health.admit(store)
            yield store
        except NoPermissionError as error:
            raise StoreUnavailable(f"the store at {store.url.shown()} refuses: {error}") from error
        except ResponseError as error:
            if not str(error).startswith("WRONGTYPE"):
                raise
            what = "; ".join(getattr(error, "__notes__", []))
            raise Refused(
                f"another program left a key of a wrong type in the store: {what} was refused"
            ) from error


def print_json(value: Any) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))
