"""`watchbell history`."""

import asyncio
from collections.abc import Iterator

import click
from msgspec import Struct

from watchbell.alerting import history
from watchbell.alerting.history import Notified, Sent
from watchbell.alerting.maintenance import windows
from watchbell.alerting.reports import Change, in_range
from watchbell.alerting.windows import Window
from watchbell.cli.arguments import limited, moment, storable
from watchbell.cli.formatting import briefly, first, plain, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened


class Action(Struct, frozen=True):
    timestamp: int
    action: str


class Past(Struct, frozen=True):
    """Everything that is known of a check's past, each part in its order."""

    check: str
    changes: list[Change]
    actions: list[Action]
    notifications: list[Notified]
    alerts: list[Sent]
    scheduled: list[Window]
    unscheduled: list[Window]


@click.command
@click.argument("check", metavar="ENTITY:CHECK", type=storable)
@click.option("--from", "start", type=moment, metavar="TIME", help="Start of the time range.")
@click.option("--to", "end", type=moment, metavar="TIME", help="End of the time range.")
@limited(50)
@with_settings()
@as_json
def command(
    *,
    loaded: Loaded,
    check: str,
    start: int | None,
    end: int | None,
    limit: int,
    as_json: bool,
) -> None:
    """Show the history of a check, newest first: state changes, maintenance, what people did,
    notifications and alerts.

    Example: watchbell history web-1:HTTP --from "7 days ago"
    """
    past = asyncio.run(_past(loaded.settings, check, start, end))
    if as_json:
        print_json(past)
        return
    lines = sorted(_lines(past, int(SYSTEM.now())), key=lambda line: line[0], reverse=True)
    rows, more = first([[when(time), what, text] for time, what, text in lines], limit)
    if not rows:
        click.echo(f"No history of {plain(past.check)} is kept.")
        return
    show_table(["time", "what", "summary"], rows)
    if more:
        click.echo(more)


async def _past(settings: Settings, check: str, start: int | None, end: int | None) -> Past:
    async with opened(settings) as store:
        ids = await history.matching(store, check, disabled=True)
        if len(ids) > 1:
            raise Refused(
                f"{plain(check)!r} matches {len(ids):,} checks; name one, as ENTITY:CHECK"
            )
        [event_id] = ids
        return Past(
            event_id,
            await history.state_changes(store, event_id, start, end),
            [Action(*one) for one in await history.actions(store, event_id, start, end)],
            await history.notifications(store, event_id, start, end),
            (await history.alerts(store, event_id=event_id, start=start, end=end))[::-1],
            in_range(await windows(store, event_id, "scheduled"), start, end),
            in_range(await windows(store, event_id, "unscheduled"), start, end),
        )


def _lines(past: Past, now: int) -> Iterator[tuple[int, str, str]]:
    until = now
    for change in reversed(past.changes):
        lasted = briefly(max(until - change.timestamp, 0))
        yield change.timestamp, f"{plain(change.state)} for {lasted}", plain(change.summary)
        until = change.timestamp
    for kind, found in (("scheduled", past.scheduled), ("unscheduled", past.unscheduled)):
        for window in found:
            what = f"{kind} maintenance for {briefly(window.duration)}"
            yield window.start, what, plain(window.summary)
    for action in past.actions:
        yield action.timestamp, plain(action.action).replace("_", " "), ""
    for sent in past.notifications:
        state = f" ({plain(sent.state)})" if sent.state else ""
        yield sent.timestamp, f"{sent.kind} notification{state}", ""
    for alert in past.alerts:
        what = f"alert to {plain(alert.contact)} by {plain(alert.media)}"
        yield alert.timestamp, what, plain(alert.subject or alert.body)
