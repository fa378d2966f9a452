"""`watchbell server-alerts`."""

import click

from watchbell.cli.arguments import confirm, length, limited, storable, yes_option
from watchbell.cli.audited import operator, record_change
from watchbell.cli.definitions import find, named
from watchbell.cli.formatting import plain, since, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.fleet import servers
from watchbell.fleet.model import AlertRecord
from watchbell.fleet.monitoring import alerts, snoozes
from watchbell.fleet.monitoring.alerts import Page, Query
from watchbell.jobs.decide import alert_actions
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import in_words


@click.group
def command() -> None:
    """Show, explain and snooze the alerts of servers, which `watchbell alert-defs` defines.

    Each is also a check HOST:ALERT, so `watchbell ack` acknowledges it.

    Example: watchbell server-alerts list --active
    """


@command.command("list")
@click.option("--active", is_flag=True, help="Only those that are active.")
@click.option("--server", type=storable, help="Of this server.")
@click.option("--group", type=storable, help="Of servers of this group.")
@click.option("--alert", type=storable, help="Of this alert definition.")
@click.option("--text", type=storable, default="", help="With these words.")
@limited(50)
@with_settings()
@as_json
def list_(
    *,
    loaded: Loaded,
    active: bool,
    server: str | None,
    group: str | None,
    alert: str | None,
    text: str,
    limit: int,
    as_json: bool,
) -> None:
    """List alerts of servers, the newest first.

    Example: watchbell server-alerts list --server db-1
    """

    async def read(store: Store) -> Page:
        query = Query(
            alerts=((await find(store, "alert", alert)).id,) if alert else (),
            servers=((await servers.named(store, server)).id,) if server else (),
            groups=(group,) if group else (),
            active=True if active else None,
            text=text,
        )
        return await alerts.search(store, query, 0, limit)

    found = with_store(loaded.settings, read)
    if as_json:
        print_json(found.alerts)
    elif found.alerts:
        columns = ["id", "state", "server", "alert", "since", "lasted", "message"]
        show_table(columns, [_cells(one) for one in found.alerts])
        if found.count > len(found.alerts):
            click.echo(f"and {found.count - len(found.alerts):,} more; see --limit")
    else:
        click.echo("There are no such alerts.")


def _cells(one: AlertRecord) -> list[str]:
    now = SYSTEM.now()
    return [
        one.id,
        alerts.state_of(one, now),
        plain(one.hostname),
        plain(one.title, 60),
        when(int(one.date)),
        since(int(one.date), int(one.cleared or now)),
        plain(one.message, 120),
    ]


@command.command
@click.argument("id_", metavar="ID", type=storable)
@with_settings()
@as_json
def show(*, loaded: Loaded, id_: str, as_json: bool) -> None:
    """Show an alert of a server, with the reasons and what was done.

    Example: watchbell server-alerts show amhxyz0a1b2c3d4e5f
    """
    found = with_store(loaded.settings, lambda store: alerts.get(store, id_))
    if as_json:
        print_json(found)
        return
    now = SYSTEM.now()
    for label, value in (
        ("id", found.id),
        ("alert", f"{found.title} ({found.alert})"),
        ("server", found.hostname),
        ("check", f"{found.hostname}:{found.alert}"),
        ("state", _state(found, now)),
        ("since", when(int(found.date))),
        ("cleared", when(int(found.cleared)) if found.cleared else ""),
        ("message", found.message),
        ("reason", found.reason),
        ("ended", found.clear_reason),
        ("notified", "yes" if found.notified else "no: it was snoozed"),
        ("jobs", ", ".join(found.jobs)),
    ):
        if value:
            click.echo(f"{label:10}{plain(value, 2_000)}")
    for action in alert_actions.done(found):
        outcome = "done" if action.code == 0 else "failed"
        click.echo(f"{'action':10}{action.trigger} {action.type}: {outcome}, {action.description}")


def _state(found: AlertRecord, now: float) -> str:
    state = alerts.state_of(found, now)
    if state != "stale":
        return state
    silent = in_words(int(now - found.modified))
    return f"stale: the server has sent no sample for {silent}, so nobody knows whether it holds"


@command.command
@click.argument("id_", metavar="ID", type=storable)
@yes_option
@with_settings()
def delete(*, loaded: Loaded, id_: str, yes: bool) -> None:
    """Delete an alert from the history. One that is active can't be deleted.

    Example: watchbell server-alerts delete amhxyz0a1b2c3d4e5f
    """
    confirm(f"Delete the alert {plain(id_)}?", yes=yes)

    async def deleted(store: Store) -> AlertRecord:
        found = await alerts.delete(store, id_)
        await record_change(store, "server_alert.delete", found.id, plain(found.title))
        return found

    found = with_store(loaded.settings, deleted)
    click.echo(f"deleted {plain(found.title)} of {plain(found.hostname)}")


@command.command
@click.argument("name", metavar="[ALERT]", required=False, type=storable)
@click.option("--for", "seconds", type=length, metavar="LENGTH", help="How long. Default: 1 hour.")
@click.option("--end", is_flag=True, help="End it now.")
@with_settings()
def snooze(*, loaded: Loaded, name: str | None, seconds: int | None, end: bool) -> None:
    """Notify nobody of one definition, or of all, for a while.

    Alerts that are still active at the end are reported then.

    Example: watchbell server-alerts snooze load_avg_high --for 2h
    """

    async def changed(store: Store) -> tuple[str, bool]:
        known = await find(store, "alert", name) if name else None
        field, words = (known.id, named(known)) if known else (snoozes.ALL, "all alerts")
        if end:
            was = await snoozes.end(store, field)
        else:
            by, now = operator().actor.display_name, SYSTEM.now()
            await snoozes.begin(store, field, seconds or 3_600, by, now)
            was = True
        if was:
            await record_change(store, f"server_alert.{'wake' if end else 'snooze'}", field)
        return words, was

    words, was = with_store(loaded.settings, changed)
    if not end:
        click.echo(f"snoozed {words} for {in_words(seconds or 3_600)}")
    else:
        click.echo(f"ended the snooze of {words}" if was else f"{words}: not snoozed")


@command.command("snoozes")
@with_settings()
@as_json
def snoozes_(*, loaded: Loaded, as_json: bool) -> None:
    """List what is snoozed, and until when.

    Example: watchbell server-alerts snoozes
    """
    now, found = SYSTEM.now(), with_store(loaded.settings, snoozes.read).found
    current = {name: one for name, one in sorted(found.items()) if one.until > now}
    if as_json:
        print_json(current)
    elif current:
        rows = [
            ["all" if name == snoozes.ALL else name, when(int(one.until)), plain(one.by)]
            for name, one in current.items()
        ]
        show_table(["alert", "until", "by"], rows)
    else:
        click.echo("Nothing is snoozed.")
