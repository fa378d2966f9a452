"""`watchbell events history`, `restore` and `flush`."""

from typing import Any

import click
import msgspec

from watchbell.cli.arguments import storable
from watchbell.cli.audited import operator, record_change
from watchbell.cli.definitions import find, named
from watchbell.cli.formatting import plain, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound
from watchbell.jobs import aborts, revisions
from watchbell.jobs.revisions import Change, Revision
from watchbell.jobs.validation import Record
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import counted

_LONGEST = 60

_name = click.argument("name", metavar="EVENT", type=storable)


@click.command
@_name
@with_settings()
@as_json
def history(*, loaded: Loaded, name: str, as_json: bool) -> None:
    """List the revisions of an event, newest first.

    Each is shown with what it changed. A deleted event is named by its id.

    Example: watchbell events history "Nightly backup"
    """

    async def listed(store: Store) -> list[Revision]:
        return await revisions.of(store, "event", await _id(store, name))

    found = with_store(loaded.settings, listed)
    if as_json:
        print_json(found)
        return
    rows = []
    older: list[Revision | None] = [*found[1:], None]
    for one, before in zip(found, older, strict=True):
        changes = revisions.diff(before.record, one.record) if before is not None else []
        words = "; ".join(_words(change) for change in changes)
        cells = [str(one.revision), when(int(one.at)), plain(one.by) or "-", one.action]
        rows.append([*cells, plain(words) or "-"])
    show_table(["revision", "changed", "by", "action", "changes"], rows, right=["revision"])


@click.command
@_name
@click.argument("number", metavar="REVISION", type=click.IntRange(1))
@with_settings()
def restore(*, loaded: Loaded, name: str, number: int) -> None:
    """Make a new revision of an event like an earlier one. A deleted event is named by its id, and
    created again.

    Example: watchbell events restore "Nightly backup" 3
    """

    async def restored(store: Store) -> Record:
        id_, by = await _id(store, name), operator()
        record = await revisions.restore(store, "event", id_, number, by.actor, SYSTEM.now())
        details = f"{plain(record.title)}: revision {number}"
        await record_change(store, "event.restore", record.id, details)
        return record

    record = with_store(loaded.settings, restored)
    click.echo(f"restored revision {number} of event {named(record)}")


@click.command
@_name
@with_settings()
def flush(*, loaded: Loaded, name: str) -> None:
    """Abort all jobs in the queue of an event. Jobs that are running go on.

    Example: watchbell events flush Deploy
    """

    async def flushed(store: Store) -> int:
        event, by = await find(store, "event", name), operator()
        count = await aborts.flush_queue(store, event.id, by.actor, now=SYSTEM.now())
        await record_change(store, "event.flush", event.id, counted(count, "job"))
        return count

    click.echo(f"aborted {counted(with_store(loaded.settings, flushed), 'job')}")


async def _id(store: Store, name: str) -> str:
    """Of an event; a name that no event has is the id of a deleted one."""
    try:
        return (await find(store, "event", name)).id
    except NotFound:
        return name


def _words(change: Change) -> str:
    return f"{change.field}: {_value(change.old)} → {_value(change.new)}"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return "nothing" if value is None else plain(text, _LONGEST)
