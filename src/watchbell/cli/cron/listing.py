"""`watchbell cron list` and `show`."""

import asyncio
from itertools import islice
from typing import Any

import click
from msgspec import Struct

from watchbell.cli.arguments import limited, storable
from watchbell.cli.cron.times import dated
from watchbell.cli.formatting import others, plain, since, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.cron import overview
from watchbell.cron.overview import Listed
from watchbell.cron.reading import reading
from watchbell.cron.run_texts import options_in_words
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened


class Row(Struct, kw_only=True):
    """A job in the list, as JSON."""

    name: str
    schedule: str = ""
    next: int | None = None
    paused: bool = False
    running: int = 0
    status: str = ""
    reason: str = ""
    last_status: str = ""
    last_ended: float | None = None
    errors: list[str] = []
    definition: Any = None


@click.command("list")
@limited(100)
@with_settings()
@as_json
def list_jobs(*, loaded: Loaded, limit: int, as_json: bool) -> None:
    """List jobs: next run, last run, schedule and errors.

    Example: watchbell cron list
    """
    found, total = asyncio.run(_listed(loaded.settings, limit))
    if as_json:
        print_json([_row(one) for one in found])
        return
    if not found:
        click.echo("There are no jobs. `watchbell cron add --help` explains how to add one.")
        return
    now = int(SYSTEM.now())
    show_table(["job", "next run", "last run", "schedule"], [_cells(one, now) for one in found])
    if more := others(total - len(found)):
        click.echo(more)


async def _listed(settings: Settings, limit: int) -> tuple[list[Listed], int]:
    how, now = reading(settings.cron), SYSTEM.now()
    async with opened(settings) as store:
        if limit:
            return await overview.first(store, how, now, limit)
        found = await overview.listed(store, how, now)
        return found, len(found)


def _row(one: Listed) -> Row:
    return Row(
        name=one.name,
        schedule=one.job.schedule.describes() if one.job else "",
        next=one.next_fire,
        paused=one.is_paused,
        running=len(one.running),
        status=one.verdict.state,
        reason=one.verdict.reason,
        last_status=one.last.record.status if one.last else "",
        last_ended=one.last.ended if one.last else None,
        errors=[error.text for error in one.errors],
        definition=one.definition,
    )


def _cells(one: Listed, now: int) -> list[str]:
    state, reason = one.verdict
    if one.job is None:
        return [plain(one.name), "invalid", _last(one, now), plain(reason, 200)]
    following = when(one.next_fire) if one.next_fire else "never"
    shown = "paused" if state == "paused" else following
    return [plain(one.name), shown, _last(one, now), one.job.schedule.describes()]


def _last(one: Listed, now: int) -> str:
    if one.running:
        return f"running ({len(one.running)})"
    if one.last is None or one.last.ended is None:
        return "-"
    return f"{one.last.record.status}, {since(int(one.last.ended), now)} ago"


@click.command
@click.argument("name", metavar="JOB", type=storable)
@with_settings()
@as_json
def show(*, loaded: Loaded, name: str, as_json: bool) -> None:
    """Show one job: its definition, next runs and last run.

    Example: watchbell cron show backup
    """
    settings, now = loaded.settings, SYSTEM.now()
    found = with_store(
        settings, lambda store: overview.shown(store, name, reading(settings.cron), now)
    )
    if as_json:
        print_json(_row(found))
        return
    print_json(found.definition)
    for error in found.errors:
        click.echo(f"invalid: {plain(error.text)}")
    if found.job:
        click.echo(f"\n{found.job.schedule.describes()}")
        for fire in islice(found.job.schedule.fires_between(now, now + 10 * 366 * 86_400), 3):
            click.echo(f"  {dated(found.job.schedule, fire)}")
        for line in options_in_words(found.job.options):
            click.echo(line)
    if found.obstacle:
        click.echo(plain(found.obstacle))
    click.echo(f"{'paused; ' if found.is_paused else ''}last run: {_last(found, int(now))}")
    for run in found.running:
        click.echo(f"  running: {run}")
