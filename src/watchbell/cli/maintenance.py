"""`watchbell maintenance`."""

import asyncio
from typing import Literal

import click
from msgspec import Struct

from watchbell.alerting import history, maintenance
from watchbell.alerting.windows import Kind, Window
from watchbell.cli.arguments import confirm, length, limited, moment, storable, yes_option
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import briefly, first, plain, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.store.opening import opened
from watchbell.units import counted

When = Literal["current", "future", "past"]
_KINDS: tuple[Kind, ...] = ("scheduled", "unscheduled")
_PREVIEWED = 20

_kind = click.option("--kind", type=click.Choice(_KINDS), help="Only maintenance of this kind.")


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
    """Schedule, list and end maintenance. No alerts are sent about checks in maintenance.

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
    help="When it starts.",
)
@click.option(
    "--for", "duration", type=length, required=True, metavar="LENGTH", help="How long it lasts."
)
@click.option(
    "--reason", type=storable, default="", metavar="TEXT", help="The reason, for your colleagues."
)
@click.option(
    "--unscheduled", is_flag=True, help="Unscheduled maintenance, as an acknowledgement makes it."
)
@yes_option
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
    """Put checks into maintenance. The matching checks are listed before you confirm.

    Example: watchbell maintenance create 'web-*:HTTP' --from "sat 22:00" --for 4h --reason move
    """
    kind: Kind = "unscheduled" if unscheduled else "scheduled"
    asyncio.run(_create(loaded.settings, pattern, kind, Window(start, duration, reason), yes))


async def _create(settings: Settings, pattern: str, kind: Kind, window: Window, yes: bool) -> None:
    async with opened(settings) as store:
        ids = await history.matching(store, pattern, disabled=True)
        span = f"from {when(window.start)} to {when(window.end)}, {briefly(window.duration)}"
        _preview(f"{kind} maintenance {span}, of these checks:", [plain(one) for one in ids])
        confirm("Continue?", yes=yes)
        await maintenance.create(store, ids, kind, window, int(SYSTEM.now()))
        words = f"{kind}, {counted(len(ids), 'check')}, {window.in_words()}"
        reason = f": {window.summary}" if window.summary else ""
        await record_change(store, "maintenance.plan", pattern, words + reason)
    click.echo(f"{kind} maintenance created for {counted(len(ids), 'check')}")


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
    help="Which windows to list; can be repeated.",
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
    """List current and future maintenance, in order of start.

    Example: watchbell maintenance show 'db-*' --when all --json
    """
    found = asyncio.run(_shown(loaded.settings, pattern, kind))
    found = [one for one in found if "all" in moments or one.when in moments]
    if as_json:
        print_json(found[: limit or None])
        return
    rows, more = first([_row(one) for one in found], limit)
    if not rows:
        click.echo("No maintenance matches.")
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
    help="Only windows that start at exactly this second; future ones are cancelled.",
)
@_kind
@yes_option
@with_settings()
def end(
    *, loaded: Loaded, pattern: str | None, start: int | None, kind: Kind | None, yes: bool
) -> None:
    """End current maintenance, or cancel future maintenance. Name future maintenance by --start.
    The matching windows are listed before you confirm.

    Example: watchbell maintenance end 'web-*:HTTP'
    """
    if pattern is None and start is None:
        raise click.UsageError("say which maintenance: ENTITY[:CHECK], or --start TIME")
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
            at = "is current" if start is None else f"starts at {when(start)} and is not over"
            raise NotFound(
                f"no maintenance of {plain(pattern)!r} {at}; "
                "`watchbell maintenance show` lists the others"
            )
        _preview("These windows will end:", ["  ".join(_row(one)).rstrip() for one in found])
        confirm("Continue?", yes=yes)
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
