"""`watchbell purge`."""

import asyncio
import sys

import click
from msgspec.structs import replace

from watchbell.alerting import history
from watchbell.alerting.purge import Purged, purge
from watchbell.cli.arguments import days as days_of
from watchbell.cli.arguments import storable
from watchbell.cli.audited import record_change
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.clock import SYSTEM
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened
from watchbell.units import counted

_NOUNS = {
    "changes": "change",
    "notifications": "notification",
    "windows": "maintenance window",
    "actions": "action",
    "alerts": "alert",
    "archives": "archive hour",
}


@click.command
@click.option(
    "--days",
    type=days_of,
    metavar="N",
    help="Days of history to keep, such as 90 or '3 months'. Default: alerting.history_days.",
)
@click.option(
    "--check",
    type=storable,
    metavar="ENTITY:CHECK",
    help="Only this check, or checks that match this pattern.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@with_settings()
@as_json
def command(
    *, loaded: Loaded, days: int | None, check: str | None, dry_run: bool, as_json: bool
) -> None:
    """Remove old history: state changes, notifications, actions, past maintenance and alerts. The
    current state and maintenance of a check always stay. `watchbell up` does this every hour.

    Example: watchbell purge --days 90 --dry-run
    """
    done = asyncio.run(_purged(loaded.settings, days, check, dry_run))
    if as_json:
        print_json(done)
        return
    verb = "would remove" if dry_run else "removed"
    click.echo(f"{counted(done.checks, 'check')} examined; {verb}: {_removed(done) or 'nothing'}")


def _removed(done: Purged) -> str:
    parts = [counted(n, noun) for name, noun in _NOUNS.items() if (n := getattr(done, name))]
    return ", ".join(parts)


async def _purged(settings: Settings, days: int | None, check: str | None, dry_run: bool) -> Purged:
    policy = settings.alerting
    if days is not None:
        policy = replace(policy, history_days=days)
    async with opened(settings) as store:
        ids = None if check is None else await history.matching(store, check, disabled=True)
        done = await purge(store, policy, int(SYSTEM.now()), _progress, ids=ids, dry_run=dry_run)
        if not dry_run and (removed := _removed(done)):
            await record_change(store, "history.purge", check or "", removed)
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
    return done


def _progress(done: Purged) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{done.checks:,} checks examined", err=True, nl=False)
