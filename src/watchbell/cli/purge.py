"""`watchbell purge`."""

import asyncio
import sys

import click
from msgspec.structs import replace

from watchbell.alerting import history
from watchbell.alerting.purge import Purged, purge
from watchbell.cli.arguments import storable
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import counted
from watchbell.cli.options import as_json, opened, print_json, with_settings
from watchbell.clock import SYSTEM
from watchbell.settings import Loaded, Settings

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
    type=click.IntRange(1, 36_500),
    metavar="N",
    help="Days of history to keep, in place of the setting alerting.history_days.",
)
@click.option("--check", type=storable, metavar="ENTITY:CHECK", help="Only this, or a pattern.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@with_settings()
@as_json
def command(
    *, loaded: Loaded, days: int | None, check: str | None, dry_run: bool, as_json: bool
) -> None:
    """Remove history that is older, or more, than is kept: changes of state, notifications,
    actions, maintenance that is over, alerts. What is in force, and the newest change of each
    check, always stays. `watchbell up` does the same once an hour.

    Example: watchbell purge --days 90 --dry-run
    """
    done = asyncio.run(_purged(loaded.settings, days, check, dry_run))
    if as_json:
        print_json(done)
        return
    verb = "would remove" if dry_run else "removed"
    click.echo(f"{counted(done.checks, 'check')} looked at; {verb}: {_removed(done) or 'nothing'}")


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
        click.echo(f"\r\033[K{done.checks:,} checks looked at", err=True, nl=False)
