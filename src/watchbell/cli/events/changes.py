"""The commands of `watchbell events` that change events."""

from typing import Any

import click
import msgspec

from watchbell.cli.arguments import confirm, storable, yes_option
from watchbell.cli.definitions import created, find, named, removed, updated
from watchbell.cli.events.definition import changed, described
from watchbell.cli.events.times import summary
from watchbell.cli.formatting import plain
from watchbell.cli.options import with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.targets import target_ids
from watchbell.jobs.model import Event
from watchbell.jobs.validation import Record
from watchbell.settings import Loaded
from watchbell.store.client import Store

_name = click.argument("name", metavar="EVENT", type=storable)
_words = click.argument("words", nargs=-1, metavar="[-- COMMAND...]")


@click.command
@click.argument("title", metavar="TITLE", type=storable)
@click.option("--id", "id_", metavar="ID", type=storable, help="Default: a new id.")
@described
@click.option("--disabled", is_flag=True, help="Add it disabled.")
@_words
@with_settings()
def add(
    *,
    loaded: Loaded,
    title: str,
    id_: str | None,
    disabled: bool,
    words: tuple[str, ...],
    **given: Any,
) -> None:
    """Add an event. If COMMAND is one argument, it is a shell command line or a script that begins
    with #!; of several arguments, each is quoted. Other plugins take --param instead.

    \b
    Examples:
      watchbell events add "Nightly backup" --at "30 2 * * *" --tz Europe/Rome -- pg_dump shop
      watchbell events add Health --every "5 min" --plugin httpplug --param url=https://example.com
      watchbell events add Deploy --target web --max-jobs 1 --queue 10 -- ./deploy.sh
    """
    if given["manual"] is None:
        given["manual"] = not given["continuous"]
    values = {"title": title, "enabled": not disabled, **changed({}, words, given)}
    values |= {"id": id_} if id_ else {}

    async def added(store: Store) -> Record:
        if "targets" in values:
            values["targets"] = await target_ids(store, values["targets"])
        return await created(store, "event", values)

    record = with_store(loaded.settings, added)
    assert isinstance(record, Event)
    click.echo(f"added event {named(record)}: {summary(record, loaded.settings.jobs.timezone)}")


@click.command
@_name
@click.option("--title", type=storable, help="The new title.")
@described
@_words
@with_settings()
def edit(
    *, loaded: Loaded, name: str, title: str | None, words: tuple[str, ...], **given: Any
) -> None:
    """Change an event. What you leave out stays. --at, --once and --every replace the times at
    which it runs; a limit is removed by `none`.

    \b
    Examples:
      watchbell events edit "Nightly backup" --at "0 3 * * *" --tz Europe/Rome
      watchbell events edit Deploy --time-limit "10 min" --retries none
      watchbell events edit Deploy -- ./deploy.sh --fast
    """

    async def edited(store: Store) -> Record:
        old = msgspec.to_builtins(await find(store, "event", name))
        changes = changed(old, words, given) | ({"title": title} if title else {})
        if not changes:
            raise click.UsageError("nothing would change; see `watchbell events edit --help`")
        if "targets" in changes:
            changes["targets"] = await target_ids(store, changes["targets"])
        return await updated(store, "event", name, changes)

    record = with_store(loaded.settings, edited)
    assert isinstance(record, Event)
    click.echo(f"changed event {named(record)}: {summary(record, loaded.settings.jobs.timezone)}")


@click.command
@_name
@with_settings()
def enable(*, loaded: Loaded, name: str) -> None:
    """Enable an event.

    Example: watchbell events enable "Nightly backup"
    """
    changes = {"enabled": True}
    record = with_store(loaded.settings, lambda store: updated(store, "event", name, changes))
    click.echo(f"enabled event {named(record)}")


@click.command
@_name
@with_settings()
def disable(*, loaded: Loaded, name: str) -> None:
    """Disable an event. Jobs that are running go on.

    Example: watchbell events disable "Nightly backup"
    """
    changes = {"enabled": False}
    record = with_store(loaded.settings, lambda store: updated(store, "event", name, changes))
    click.echo(f"disabled event {named(record)}")


@click.command
@_name
@yes_option
@with_settings()
def remove(*, loaded: Loaded, name: str, yes: bool) -> None:
    """Remove an event. Its finished jobs are kept.

    Example: watchbell events remove "Nightly backup"
    """
    confirm(f"Remove the event {plain(name)}?", yes=yes)
    record = with_store(loaded.settings, lambda store: removed(store, "event", name))
    click.echo(f"removed event {named(record)}")
