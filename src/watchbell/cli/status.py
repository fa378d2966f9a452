"""`watchbell status`."""

import asyncio
from collections import Counter

import click

from watchbell.alerting import history
from watchbell.alerting.history import Status
from watchbell.alerting.model import SEVERITY
from watchbell.alerting.reports import freshness
from watchbell.alerting.windows import Window
from watchbell.cli.arguments import disabled_too, limited, storable
from watchbell.cli.formatting import first, plain, since, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened
from watchbell.units import counted


@click.command
@click.argument("pattern", metavar="[ENTITY[:CHECK]]", type=storable, default="*")
@disabled_too
@limited(100)
@with_settings()
@as_json
def command(*, loaded: Loaded, pattern: str, show_all: bool, limit: int, as_json: bool) -> None:
    """Show the current state of checks, failing ones first: since when, last event, maintenance.
    If only one check matches, show all its details.

    Example: watchbell status 'web-*:HTTP'
    """
    now = int(SYSTEM.now())
    found = asyncio.run(_statuses(loaded.settings, pattern, show_all, now))
    if as_json:
        print_json(found[: limit or None])
    elif len(found) == 1:
        _show_one(found[0], now)
    elif not found:
        click.echo("No check has reported yet.")
    else:
        rows, more = first([_row(status, now) for status in found], limit)
        show_table(["check", "state", "for", "last event", "maintenance", "summary"], rows)
        click.echo(f"{more}\n{_counts(found, now)}")


async def _statuses(settings: Settings, pattern: str, show_all: bool, now: int) -> list[Status]:
    async with opened(settings) as store:
        ids = await history.matching(store, pattern, disabled=show_all)
        found = await history.check_states(store, ids, now)
    return sorted(found, key=lambda status: (-SEVERITY.get(status.state or "", 0), status.id))


def _row(status: Status, now: int) -> list[str]:
    return [
        plain(status.id),
        plain(status.state) or "-",
        since(status.last_change, now),
        f"{since(status.last_update, now)} ago" if status.last_update else "-",
        in_maintenance(status),
        plain(status.summary),
    ]


def in_maintenance(status: Status) -> str:
    windows = (("scheduled", status.scheduled), ("unscheduled", status.unscheduled))
    return ", ".join(f"{kind} until {when(w.end)}" for kind, w in windows if w) or "-"


def _counts(found: list[Status], now: int) -> str:
    by_state = Counter(status.state or "never reported" for status in found)
    states = ", ".join(f"{number:,} {plain(state)}" for state, number in by_state.items())
    old = freshness([status.last_update or 0 for status in found], now)[3600]
    silent = f"; {old:,} without an event for an hour" if old else ""
    return f"{counted(len(found), 'check')}: {states}{silent}."


def _show_one(status: Status, now: int) -> None:
    lines = {
        "check": plain(status.id),
        "state": f"{plain(status.state) or 'never reported'}{_for(status.last_change, now)}",
        "enabled": "yes" if status.enabled else "no",
        "last event": f"{when(status.last_update)}{_for(status.last_update, now, ' ago')}",
        "summary": plain(status.summary) or "-",
        "scheduled maintenance": _window(status.scheduled),
        "unscheduled maintenance": _window(status.unscheduled),
        **{f"last {kind} notified": when(t) for kind, t in status.last_notifications.items()},
        **{
            name.replace("_", " "): f"{getattr(status, name)} s"
            for name in ("initial_failure_delay", "repeat_failure_delay", "initial_recovery_delay")
            if getattr(status, name) is not None
        },
    }
    widest = max(map(len, lines))
    for name, value in lines.items():
        click.echo(f"{name:<{widest}}  {value}")
    for line in (status.details or "").splitlines():
        click.echo(f"  {plain(line)}")
    for item in status.perfdata:
        if isinstance(item, dict):
            click.echo(f"  {plain(str(item.get('key', '')))} = {plain(str(item.get('value', '')))}")


def _for(time: int | None, now: int, ago: str = "") -> str:
    return "" if time is None else f" ({'' if ago else 'for '}{since(time, now)}{ago})"


def _window(window: Window | None) -> str:
    if window is None:
        return "-"
    reason = f" ({plain(window.summary)})" if window.summary else ""
    return f"{when(window.start)} to {when(window.end)}{reason}"
