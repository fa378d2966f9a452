"""`watchbell archive pipelines`, `stop` and `forget`."""

import click
import msgspec

from watchbell.archive import pipelines
from watchbell.archive.pipelines import KnownPipeline
from watchbell.cli.arguments import storable
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import briefly, plain
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import counted, in_bytes

_COLUMNS = ["pipeline", "host", "state", "crawls", "takes", "uploads", "free disk", "load", "id"]


@click.command("pipelines")
@with_settings()
@as_json
def list_pipelines(*, loaded: Loaded, as_json: bool) -> None:
    """List pipelines, which run crawls.

    Example: watchbell archive pipelines
    """
    found = with_store(loaded.settings, pipelines.every)
    if as_json:
        print_json([{**msgspec.structs.asdict(one), "name": one.name} for one in found])
        return
    if not found:
        click.echo("No pipeline is running. `watchbell up` starts one when a crawl is queued.")
        return
    rows = [_cells(one, loaded.settings.archive.lease) for one in found]
    show_table(_COLUMNS, rows, right=["free disk", "load"])


def _cells(one: KnownPipeline, lease: float) -> list[str]:
    record, room = one.record, one.capacity
    return [
        plain(one.name, 40),
        plain(record.hostname, 40),
        _state(one, lease),
        f"{room.running} of {room.concurrent}" if room else "-",
        _taken(one),
        _uploads(one),
        in_bytes(record.disk_available),
        f"{record.load_average_1m:.2f}",
        record.id,
    ]


def _state(one: KnownPipeline, lease: float) -> str:
    if one.silent >= lease:
        return f"silent for {briefly(int(one.silent))}"
    return "stopping" if one.should_stop or one.record.status == "Stopping" else "running"


def _taken(one: KnownPipeline) -> str:
    if one.capacity is None:
        return "-"
    kinds = "pages" if one.capacity.only_pages else "sites, pages"
    return f"{kinds}, large sites" if one.capacity.large else kinds


def _uploads(one: KnownPipeline) -> str:
    """What is left to upload, and why that does not go on."""
    uploads = one.capacity.uploads if one.capacity else None
    if uploads is None:
        return "-"
    if not uploads.files:
        return "all done"
    left = in_bytes(max(0, uploads.size - uploads.sent))
    problem = f": {uploads.problem}" if uploads.problem else ""
    return plain(f"{counted(uploads.files, 'file')}, {left} left{problem}", 120)


@click.command
@click.argument("name", metavar="PIPELINE", type=storable)
@with_settings()
def stop(*, loaded: Loaded, name: str) -> None:
    """Stop a pipeline, by its nickname or id. It takes no more crawls and ends after those that it
    runs.

    Example: watchbell archive stop archive-1
    """

    async def stopped(store: Store) -> str:
        found = await pipelines.find(store, name)
        await pipelines.stop(store, found.record.id)
        await record_change(store, "pipeline.stop", found.record.id, found.record.nickname)
        if found.silent >= loaded.settings.archive.lease:
            return f"{found.name} gives no sign of life; it stops as soon as it is back"
        return f"{found.name} stops after the crawls that it runs"

    click.echo(plain(with_store(loaded.settings, stopped)))


@click.command
@click.argument("name", metavar="PIPELINE", type=storable)
@with_settings()
def forget(*, loaded: Loaded, name: str) -> None:
    """Forget a pipeline that is gone for good. PIPELINE is its nickname or id. Its check fails no
    longer.

    Example: watchbell archive forget archive-1
    """

    async def forgotten(store: Store) -> str:
        found = await pipelines.find(store, name)
        await pipelines.forget(store, found, loaded.settings.archive.lease)
        await record_change(store, "pipeline.forget", found.record.id, found.record.nickname)
        return f"{found.name} is forgotten"

    click.echo(plain(with_store(loaded.settings, forgotten)))
