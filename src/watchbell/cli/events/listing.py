"""`watchbell events list`, `show` and `next`."""

from collections.abc import AsyncIterator, Sequence

import click
from msgspec import Struct

from watchbell.cli.arguments import limited, storable
from watchbell.cli.definitions import find
from watchbell.cli.events.times import dates, launches, summary, timetable_of
from watchbell.cli.formatting import others, plain, since, when
from watchbell.cli.options import as_json, print_json, print_json_list, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.jobs import (
    definitions,
    event_overview,
    event_states,
    job_records,
    outcomes,
    titles,
)
from watchbell.jobs.model import Code, Event, EventState, Job
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import counted

_COLUMNS = ["event", "id", "next run", "last job", "schedule"]
_AT_ONCE = 500


class Row(Struct, frozen=True, kw_only=True):
    """An event in the list, as JSON."""

    id: str
    title: str
    enabled: bool
    category: str
    schedule: str
    next: int | None
    jobs: int
    """In progress."""
    last_job: str = ""
    last_code: Code = 0
    last_completed: float = 0


@click.command("list")
@click.option("--category", metavar="ID", type=storable, help="Only events of this category.")
@limited(100)
@with_settings()
@as_json
def list_events(*, loaded: Loaded, category: str | None, limit: int, as_json: bool) -> None:
    """List events: next run, last job and schedule.

    Example: watchbell events list --category backups
    """
    now, zone = SYSTEM.now(), loaded.settings.jobs.timezone

    async def listed(store: Store) -> None:
        known = await titles.every(store, "event")
        ids = [id_ for id_, one in known.items() if category in (None, one.category)]
        if as_json:
            await print_json_list(_rows(store, ids, now, zone))
            return
        if not ids:
            click.echo(
                "There are no events. `watchbell events add --help` explains how to add one."
            )
            return
        has_header = True
        async for rows in _rows(store, ids[: limit or None], now, zone):
            cells = [_cells(row, int(now)) for row in rows]
            show_table(_COLUMNS, cells, has_header=has_header)
            has_header = False
        if limit and (more := others(len(ids) - limit)):
            click.echo(more)

    with_store(loaded.settings, listed)


async def _rows(
    store: Store, ids: Sequence[str], now: float, zone: str
) -> AsyncIterator[list[Row]]:
    """In parts, since there may be very many."""
    running, waiting = await event_overview.in_progress(store)
    for start in range(0, len(ids), _AT_ONCE):
        part = ids[start : start + _AT_ONCE]
        found = await definitions.some(store, "event", part)
        states = await event_states.some(store, part)
        yield [
            _row(found[id_], states.get(id_), running[id_] + waiting[id_], now, zone)
            for id_ in part
            if id_ in found
        ]


def _row(event: Event, state: EventState | None, jobs: int, now: float, zone: str) -> Row:
    known, following = timetable_of(event, zone), launches(event, zone, now, 1)
    state = state or EventState()
    return Row(
        id=event.id,
        title=event.title,
        enabled=event.enabled,
        category=event.category,
        schedule=known.describes() if known else "its timings can't be read",
        next=following[0] if following else None,
        jobs=jobs,
        last_job=state.last_job,
        last_code=state.last_code,
        last_completed=state.last_completed,
    )


def _cells(row: Row, now: int) -> list[str]:
    following = when(row.next) if row.enabled else "disabled"
    return [plain(row.title, 60), row.id, following, _last(row, now), row.schedule]


def _last(row: Row, now: int) -> str:
    if row.jobs:
        return f"{counted(row.jobs, 'job')} in progress"
    if not row.last_job:
        return "-"
    words = outcomes.described_code(row.last_code)
    return f"{words}, {since(int(row.last_completed), now)} ago"


@click.command
@click.argument("name", metavar="EVENT", type=storable)
@with_settings()
@as_json
def show(*, loaded: Loaded, name: str, as_json: bool) -> None:
    """Show an event: its definition, next runs and last jobs.

    Example: watchbell events show "Nightly backup"
    """
    event, last, live = with_store(loaded.settings, lambda store: _shown(store, name))
    if as_json:
        print_json(event)
        return
    print_json(event)
    now, zone = SYSTEM.now(), loaded.settings.jobs.timezone
    state = "" if event.enabled else "disabled; "
    click.echo(f"\n{state}{summary(event, zone)}")
    for line in dates(event, zone, now, 3):
        click.echo(f"  {line}")
    for job in live:
        click.echo(f"job {job.id}: {job.state}{f', {plain(job.reason)}' if job.reason else ''}")
    if last and last.last_job:
        words = outcomes.described_code(last.last_code)
        ago = since(int(last.last_completed), int(now))
        took = outcomes.seconds(last.last_elapsed)
        click.echo(f"last job {last.last_job}: {words} after {took}, {ago} ago")


async def _shown(store: Store, name: str) -> tuple[Event, EventState | None, list[Job]]:
    """The event, what is known of its last job, and its jobs in progress."""
    event = await find(store, "event", name)
    assert isinstance(event, Event)
    states = await event_states.some(store, [event.id])
    live = [job for job in await job_records.live(store) if job.event == event.id]
    return event, states.get(event.id), live


@click.command("next")
@click.argument("name", metavar="[EVENT]", type=storable, required=False)
@click.option(
    "--count",
    default=10,
    type=click.IntRange(1, 1_000),
    show_default=True,
    metavar="N",
    help="Runs to show, at most.",
)
@with_settings()
@as_json
def upcoming(*, loaded: Loaded, name: str | None, count: int, as_json: bool) -> None:
    """Show the next runs of all events, or of one.

    \b
    Examples:
      watchbell events next
      watchbell events next "Nightly backup" --count 3
    """
    now, zone = SYSTEM.now(), loaded.settings.jobs.timezone

    async def events(store: Store) -> list[Event]:
        chosen = (
            [await find(store, "event", name)]
            if name
            else (await definitions.every(store, "event")).values()
        )
        return [one for one in chosen if isinstance(one, Event)]

    found = with_store(loaded.settings, events)
    pairs = [(at, event) for event in found for at in launches(event, zone, now, count)]
    pairs = sorted(pairs, key=lambda pair: (pair[0], pair[1].id))[:count]
    if as_json:
        print_json([{"at": at, "event": event.id, "title": event.title} for at, event in pairs])
    elif not pairs:
        click.echo("Nothing runs by itself.")
    else:
        show_table(
            ["when", "event", "id"], [[when(at), plain(e.title, 80), e.id] for at, e in pairs]
        )
