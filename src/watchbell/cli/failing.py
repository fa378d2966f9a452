"""`watchbell failing`."""

import asyncio

import click

from watchbell.alerting import history
from watchbell.alerting.history import Status
from watchbell.alerting.model import FAILING, short_id
from watchbell.cli.arguments import disabled_too, limited
from watchbell.cli.formatting import first, plain, since, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.status import in_maintenance
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened


class Failing(Status, frozen=True, kw_only=True):
    acknowledgement_id: str


@click.command
@disabled_too
@limited(100)
@with_settings()
@as_json
def command(*, loaded: Loaded, show_all: bool, limit: int, as_json: bool) -> None:
    """List failing checks, newest failure first: for how long, when last notified, maintenance,
    and the short id that `watchbell ack` accepts.

    Example: watchbell failing --limit 10
    """
    now = int(SYSTEM.now())
    found = asyncio.run(_failing(loaded.settings, show_all, now))
    if as_json:
        print_json(found[: limit or None])
        return
    if not found:
        click.echo("No checks are failing.")
        return
    rows = [
        [
            plain(status.id),
            plain(status.state),
            since(status.last_change, now),
            when(status.last_notifications.get("problem")),
            in_maintenance(status),
            status.acknowledgement_id,
            plain(status.summary),
        ]
        for status in found
    ]
    shown, more = first(rows, limit)
    show_table(
        ["check", "state", "for", "last notified", "maintenance", "ack id", "summary"], shown
    )
    if more:
        click.echo(more)


async def _failing(settings: Settings, show_all: bool, now: int) -> list[Failing]:
    async with opened(settings) as store:
        ids = [event_id for event_id, _ in await history.failing(store)]
        found = await history.check_states(store, ids, now)
    return [
        Failing(
            **{name: getattr(status, name) for name in Status.__struct_fields__},
            acknowledgement_id=short_id(status.id),
        )
        for status in found
        if status.state in FAILING and (status.enabled or show_all)
    ]
