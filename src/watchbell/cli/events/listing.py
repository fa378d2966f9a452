"""`watchbell events list`, `show` and `next`."""

from collections import Counter

import click
from msgspec import Struct

from watchbell.cli.arguments import limited, storable
from watchbell.cli.definitions import find
from watchbell.cli.events.times import dates, launches, summary, timetable_of
from watchbell.cli.formatting import first, plain, since, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.jobs import definitions, event_states, job_records, outcomes
from watchbell.jobs.model import Code, Event, EventState, Job
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import counted


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


class Known(Struct, frozen=True):
    events: list[Event]
    states: dict[str, EventState]
    live: list[Job]


@click.command("list")
@click.option("--category", metavar="ID", type=storable, help="Only events of this category.")
@limited(100)
@with_settings()
@as_json
def list_events(*, loaded: Loaded, category: str | None, limit: int, as_json: bool) -> None:
    """List events: next run, last job and schedule.

    Example: watchbell events list --category backups
    """
    known = with_store(loaded.settings, _known)
    found = [one for one in known.events if category in (None, one.category)]
    now, zone = SYSTEM.now(), loaded.settings.jobs.timezone
    jobs = Counter(job.event for job in known.live)
    rows = [_row(one, known.states.get(one.id), jobs[one.id], now, zone) for one in found]
    if as_json:
        print_json(rows)
        return
    if not rows:
        click.echo("There are no events. `watchbell events add --help` explains how to add one.")
        return
    shown, more = first([_cells(row, int(now)) for row in rows], limit)
    show_table(["event", "id", "next run", "last job", "schedule"], shown)
    if more:
        click.echo(more)


async def _known(store: Store) -> Known:
    found = (await definitions.every(store, "event")).values()
    events = [one for one in found if isinstance(one, Event)]
    events.sort(key=lambda one: (one.title.casefold(), one.id))
    return Known(events, await event_states.every(store), await job_records.live(store))


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
    event, known = with_store(loaded.settings, lambda store: _shown(store, name))
    if as_json:
        print_json(event)
        return
    print_json(event)
    now, zone = SYSTEM.now(), loaded.settings.jobs.timezone
    state = "" if event.enabled else "disabled; "
    click.echo(f"\n{state}{summary(event, zone)}")
    for line in dates(event, zone, now, 3):
        click.echo(f"  {line}")
    for job in known.live:
        if job.event == event.id:
            click.echo(f"job {job.id}: {job.state}{f', {plain(job.reason)}' if job.reason else ''}")
    if (last := known.states.get(event.id)) and last.last_job:
        words = outcomes.described_code(last.last_code)
        ago = since(int(last.last_completed), int(now))
        took = outcomes.seconds(last.last_elapsed)
        click.echo(f"last job {last.last_job}: {words} after {took}, {ago} ago")


async def _shown(store: Store, name: str) -> tuple[Event, Known]:
    event = await find(store, "event", name)
    assert isinstance(event, Event)
    return event, await _known(store)


@click.command("next")
@click.argument("name", metavar="[EVENT]", type=storable, required=False)
@click.option("--count", default=10, type=click.IntRange(1, 1_000), show_default=True, metavar="N")
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
        chosen = [await find(store, "event", name)] if name else (await _known(store)).events
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
