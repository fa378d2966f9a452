"""`watchbell maintenance`."""

import asyncio
import sys
from typing import Literal

import click
from msgspec import Struct

from watchbell.alerting import history, maintenance
from watchbell.alerting.windows import Kind, Window
from watchbell.cli.arguments import length, limited, moment, storable
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import briefly, counted, first, plain, when
from watchbell.cli.options import as_json, opened, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound, Refused
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store

When = Literal["current", "future", "past"]
_KINDS: tuple[Kind, ...] = ("scheduled", "unscheduled")
_PREVIEWED = 20

_yes = click.option("--yes", is_flag=True, help="Do it without asking.")
_kind = click.option("--kind", type=click.Choice(_KINDS), help="Only this kind.")


class Found(Struct, frozen=True):
    check: str
    kind: Kind
    start: int
    end: int
    duration: int
    summary: str
    when: When


@click.group
def command() -> None:
    """Plan, list and end maintenance, in which nobody is told of a check's failures.

    Example: watchbell maintenance create 'db-*' --from "tomorrow 08:00" --for "2 hours"
    """


@command.command
@click.argument("pattern", metavar="ENTITY[:CHECK]", type=storable)
@click.option(
    "--from",
    "start",
    type=moment,
    default="now",
    show_default=True,
    metavar="TIME",
    help="When it begins.",
)
@click.option(
    "--for", "duration", type=length, required=True, metavar="LENGTH", help="How long it lasts."
)
@click.option("--reason", type=storable, default="", metavar="TEXT", help="Why.")
@click.option("--unscheduled", is_flag=True, help="As if the failure had been acknowledged.")
@_yes
@with_settings()
def create(
    *,
    loaded: Loaded,
    pattern: str,
    start: int,
    duration: int,
    reason: str,
    unscheduled: bool,
    yes: bool,
) -> None:
    """Put checks into maintenance. What the pattern means is shown before anything is done.

    Example: watchbell maintenance create 'web-*:HTTP' --from "sat 22:00" --for 4h --reason move
    """
    kind: Kind = "unscheduled" if unscheduled else "scheduled"
    asyncio.run(_create(loaded.settings, pattern, kind, Window(start, duration, reason), yes))


async def _create(settings: Settings, pattern: str, kind: Kind, window: Window, yes: bool) -> None:
    async with opened(settings) as store:
        ids = await history.matching(store, pattern, disabled=True)
        span = f"from {when(window.start)} to {when(window.end)}, {briefly(window.duration)}"
        _preview(f"{kind} maintenance {span}, of:", [plain(one) for one in ids])
        _ask(yes)
        await maintenance.create(store, ids, kind, window, int(SYSTEM.now()))
        words = f"{kind}, {counted(len(ids), 'check')}, from {window.start} to {window.end}"
        reason = f": {window.summary}" if window.summary else ""
        await record_change(store, "maintenance.plan", pattern, words + reason)
    click.echo(f"done for {counted(len(ids), 'check')}")


@command.command
@click.argument("pattern", metavar="[ENTITY[:CHECK]]", type=storable, default="*")
@_kind
@click.option(
    "--when",
    "moments",
    type=click.Choice(["current", "future", "past", "all"]),
    multiple=True,
    default=["current", "future"],
    show_default=True,
    help="Open, to come or over; may be repeated.",
)
@limited(100)
@with_settings()
@as_json
def show(
    *,
    loaded: Loaded,
    pattern: str,
    kind: Kind | None,
    moments: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> None:
    """List maintenance that is open or to come, by its beginning.

    Example: watchbell maintenance show 'db-*' --when all --json
    """
    found = asyncio.run(_shown(loaded.settings, pattern, kind))
    found = [one for one in found if "all" in moments or one.when in moments]
    if as_json:
        print_json(found[: limit or None])
        return
    rows, more = first([_row(one) for one in found], limit)
    if not rows:
        click.echo("There is no such maintenance.")
        return
    show_table(["check", "kind", "from", "to", "for", "when", "reason"], rows)
    if more:
        click.echo(more)


async def _shown(settings: Settings, pattern: str, kind: Kind | None) -> list[Found]:
    async with opened(settings) as store:
        ids = await history.matching(store, pattern, disabled=True)
        return await _found(store, ids, kind, int(SYSTEM.now()))


async def _found(store: Store, ids: list[str], kind: Kind | None, now: int) -> list[Found]:
    found = [
        Found(i, one, w.start, w.end, w.duration, w.summary, _when(w, now))
        for one in ((kind,) if kind else _KINDS)
        async for i, windows in history.windows_of(store, ids, one)
        for w in windows
    ]
    return sorted(found, key=lambda one: (one.start, one.check, one.kind))


def _when(window: Window, now: int) -> When:
    if window.start > now:
        return "future"
    return "current" if window.is_open(now) else "past"


def _row(one: Found) -> list[str]:
    span = [when(one.start), when(one.end), briefly(one.duration)]
    return [plain(one.check), one.kind, *span, one.when, plain(one.summary)]


@command.command
@click.argument("pattern", metavar="[ENTITY[:CHECK]]", type=storable, required=False)
@click.option(
    "--start",
    type=moment,
    metavar="TIME",
    help="Only windows that begin at this very second; one to come is taken back.",
)
@_kind
@_yes
@with_settings()
def end(
    *, loaded: Loaded, pattern: str | None, start: int | None, kind: Kind | None, yes: bool
) -> None:
    """End maintenance that is open, or take back what is to come at --start. What would be ended
    is shown before anything is done.

    Example: watchbell maintenance end 'web-*:HTTP'
    """
    if pattern is None and start is None:
        raise click.UsageError("say which: ENTITY[:CHECK], or --start TIME")
    asyncio.run(_end(loaded.settings, pattern or "*", start, kind, yes))


async def _end(
    settings: Settings, pattern: str, start: int | None, kind: Kind | None, yes: bool
) -> None:
    async with opened(settings) as store:
        now = int(SYSTEM.now())
        ids = await history.matching(store, pattern, disabled=True)
        found = [
            one
            for one in await _found(store, ids, kind, now)
            if (one.when == "current" if start is None else one.start == start)
            and one.when != "past"
        ]
        if not found:
            at = "is open" if start is None else f"begins at {when(start)} and is not over"
            raise NotFound(f"no maintenance of {plain(pattern)!r} {at}; `show` lists what there is")
        _preview("to be ended:", ["  ".join(_row(one)).rstrip() for one in found])
        _ask(yes)
        now = int(SYSTEM.now())
        ended = [await _ended(store, one, now) for one in found]
        if any(ended):
            await record_change(store, "maintenance.end", pattern, counted(sum(ended), "window"))
    click.echo(f"ended: {counted(sum(ended), 'window')}")


async def _ended(store: Store, one: Found, now: int) -> bool:
    if one.kind == "scheduled":
        return await maintenance.end_scheduled(store, one.check, one.start, now)
    return await maintenance.end_unscheduled(store, one.check, now, now)


def _preview(head: str, lines: list[str]) -> None:
    click.echo(head)
    for line in lines[:_PREVIEWED]:
        click.echo(f"  {line}")
    if len(lines) > _PREVIEWED:
        click.echo(f"  and {len(lines) - _PREVIEWED:,} more")


def _ask(yes: bool) -> None:
    """Goes on only with a yes, given beforehand or on the terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Refused("nothing was done; say --yes to do it")
    click.confirm("Do it?", abort=True)
