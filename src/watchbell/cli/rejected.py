"""`watchbell rejected`."""

import asyncio
from datetime import UTC, datetime

import click
import msgspec

from watchbell.alerting import rejected
from watchbell.alerting.rejected import Rejected
from watchbell.cli.arguments import limited
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened

_LONGEST = 300


class Found(msgspec.Struct):
    rejections: list[Rejected]
    """The newest first."""
    hours: dict[str, int]
    """How many there are of each hour (UTC, YYYYMMDDHH), the newest first."""


@click.command
@limited(20)
@with_settings()
@as_json
def command(*, loaded: Loaded, limit: int, as_json: bool) -> None:
    """List rejected events, newest first, with the reason, and their number in each hour.

    Example: watchbell rejected --limit 5
    """
    found = asyncio.run(_found(loaded.settings, limit, int(SYSTEM.now())))
    if as_json:
        print_json(found)
        return
    if not found.hours:
        click.echo("No events were rejected.")
        return
    rows = [[_moment(r.time), _line(r.reason), _line(r.event)] for r in found.rejections]
    show_table(["time (UTC)", "reason", "event"], rows)
    click.echo()
    counts = [[_hour(name), f"{count:,}"] for name, count in found.hours.items()]
    show_table(["hour (UTC)", "rejected"], counts, right=["rejected"])


async def _found(settings: Settings, limit: int, now: int) -> Found:
    async with opened(settings) as store:
        hours = await rejected.hours(store, settings.alerting.rejected_days, now)
        newest = await rejected.newest(store, hours, limit)
    return Found([one.rejected for one in newest], hours)


def _line(text: str) -> str:
    """The text on one line, without control characters."""
    short = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in short)


def _moment(time: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return str(time)


def _hour(name: str) -> str:
    return f"{name[:4]}-{name[4:6]}-{name[6:8]} {name[8:]}:00"
