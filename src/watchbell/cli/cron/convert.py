"""`watchbell cron convert`."""

from typing import Any

import click
from msgspec import Struct

from watchbell.cli.arguments import storable
from watchbell.cli.audited import record_change
from watchbell.cli.cron.conversion import Conversion, converted
from watchbell.cli.definitions import created, named
from watchbell.cli.events.times import summary
from watchbell.cli.formatting import plain
from watchbell.cli.options import with_settings
from watchbell.cli.store_call import with_store
from watchbell.clock import SYSTEM
from watchbell.cron import hand_over, jobs
from watchbell.cron.model import Invalid, Job
from watchbell.cron.reading import Reading, reading
from watchbell.cron.validation import read
from watchbell.errors import NotFound, Refused
from watchbell.fleet import servers
from watchbell.jobs import cursors, definitions, stock
from watchbell.jobs.imports import plan
from watchbell.jobs.imports.found import Found, Item
from watchbell.jobs.model import Event
from watchbell.probes import probe
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store


class Converted(Struct, frozen=True):
    event: Event
    omissions: tuple[str, ...]


@click.command
@click.argument("name", metavar="JOB", type=storable)
@click.option("--id", "id_", metavar="ID", type=storable, help="Of the event. Default: like JOB.")
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="ID",
    type=storable,
    help="A server or group to run on; can be repeated. Default: the job's hosts, else main.",
)
@click.option("--replace", is_flag=True, help="Pause the job; the event runs from the next run on.")
@click.option(
    "--remove", is_flag=True, help="With --replace: remove the job and the records of its runs."
)
@with_settings()
def convert(
    *,
    loaded: Loaded,
    name: str,
    id_: str | None,
    targets: tuple[str, ...],
    replace: bool,
    remove: bool,
) -> None:
    """Turn a cron job into an event.

    The event gets its schedule, command, user, variables, limits and retries. What an event can't
    do is printed. Without --replace the job continues, and the event is disabled.

    \b
    Examples:
      watchbell cron convert backup
      watchbell cron convert backup --replace --target db
    """
    if remove and not replace:
        raise click.UsageError("--remove needs --replace")
    given = {"id": id_, "targets": list(targets)}
    changes = {field: each for field, each in given.items() if each}

    async def done(store: Store) -> Converted:
        return await _converted(store, loaded.settings, name, changes, replace, remove)

    made = with_store(loaded.settings, done)
    times = summary(made.event, loaded.settings.jobs.timezone)
    click.echo(f"added event {named(made.event)}: {times}")
    for reason in made.omissions:
        click.echo(f"not carried over: {plain(reason)}")
    if not made.event.enabled:
        click.echo(f"The event is disabled; `watchbell events enable {made.event.id}` starts it.")
    if replace:
        click.echo(f"{'removed' if remove else 'paused'} job {plain(name)}")


async def _converted(
    store: Store,
    settings: Settings,
    name: str,
    changes: dict[str, Any],
    replace: bool,
    remove: bool,
) -> Converted:
    how = reading(settings.cron)
    raw = await hand_over.definition(store, name)
    if raw is None:
        raise NotFound(f"there is no job {name!r}")
    job = read(name.encode(), raw, how)
    if isinstance(job, Invalid):
        raise Refused(f"job {name!r} is invalid: {job.text}")
    await stock.ensure(store, SYSTEM.now())
    hosts = {server.hostname: server.id for server in await servers.every(store)}
    found = converted(job, settings.cron.job_shell, hosts)
    event = {**found.event, **changes}
    if not replace:
        event["enabled"] = False
    await _check(store, Conversion(event, found.plugin, ()))
    if found.plugin:
        await _ensure_plugin(store, found.plugin)
    if event["enabled"]:
        record = await _taken_over(store, job, raw, event, how)
    else:
        record = await created(store, "event", event)
    if remove:
        await jobs.remove(store, name)
        await record_change(store, "cron.remove", name)
    assert isinstance(record, Event)
    return Converted(record, found.omissions)


async def _check(store: Store, draft: Conversion) -> None:
    """Refuses what could not be created, before anything is changed."""
    items = [Item("event", draft.event)]
    if draft.plugin:
        items.append(Item("plugin", draft.plugin))
    planned = await plan.planned(store, Found(tuple(items), ()), SYSTEM.now())
    for one in planned:
        if one.problem:
            raise Refused(f"{one.item.name}: {one.problem}")
        if one.item.kind == "event" and one.state != "new":
            raise Refused(f"there is an event {one.id!r} already; name another id with --id")


async def _ensure_plugin(store: Store, values: dict[str, Any]) -> None:
    try:
        await definitions.get(store, "plugin", values["id"])
    except NotFound:
        await created(store, "plugin", values)


async def _taken_over(
    store: Store, job: Job, raw: bytes, event: dict[str, Any], how: Reading
) -> Any:
    """Pauses the job, then lets the event begin after the last fire that the job handled. The event
    is created last, with its cursor in place, so that no fire belongs to both or to none. If this
    is killed in between, the job is paused; a repetition then makes a disabled event."""
    last = await hand_over.hand_over(store, job, raw)
    probe("convert.handed_over")
    try:
        await cursors.prepare(store, event["id"], last)
        record = await created(store, "event", event)
    except Refused:
        await jobs.resume(store, job.name, how)
        raise
    await record_change(store, "cron.pause", job.name, f"converted to event {event['id']}")
    return record
