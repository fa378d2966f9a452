"""`watchbell rejected`."""

import asyncio
from datetime import UTC, datetime

import click
import msgspec

from watchbell.alerting.hours import hours_back
from watchbell.alerting.keys import AlertingOwn
from watchbell.cli.options import as_json, opened, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.settings import Loaded, Settings
from watchbell.store.script import Script

_LONGEST = 300
_HOURS = 1_000
"""Hours that are asked about at once: six weeks of them."""


class Rejected(msgspec.Struct):
    """What the processor writes down of something that is no check event."""

    time: int = 0
    reason: str = "unreadable"
    event: str = ""


class Found(msgspec.Struct):
    rejections: list[Rejected]
    """The newest first."""
    hours: dict[str, int]
    """How many there are of each hour (UTC, YYYYMMDDHH), the newest first."""


@click.command
@click.option("--limit", default=20, type=click.IntRange(0), metavar="N", help="How many.  [20]")
@with_settings()
@as_json
def command(*, loaded: Loaded, limit: int, as_json: bool) -> None:
    """List what was pushed to `events` and is no check event, the newest first, with the
    reason; and how many there were in each hour.

    Example: watchbell rejected --limit 5
    """
    found = asyncio.run(_found(loaded.settings, limit, int(SYSTEM.now())))
    if as_json:
        print_json(found)
        return
    if not found.hours:
        click.echo("Nothing was rejected.")
        return
    rows = [[_moment(r.time), _line(r.reason), _line(r.event)] for r in found.rejections]
    show_table(["time (UTC)", "reason", "event"], rows)
    click.echo()
    counts = [[_hour(name), f"{count:,}"] for name, count in found.hours.items()]
    show_table(["hour (UTC)", "rejected"], counts, right=["rejected"])


# KEYS: lists, the newest first; ARGV[1] how many items of all of them. Returns the length of each,
# and the items.
_NEWEST = Script("""
local lengths, found, room = {}, {}, tonumber(ARGV[1])
for i, key in ipairs(KEYS) do
  lengths[i] = redis.call('LLEN', key)
  if room > #found and lengths[i] > 0 then
    for _, item in ipairs(redis.call('LRANGE', key, 0, room - #found - 1)) do
      found[#found + 1] = item
    end
  end
end
return {lengths, found}
""")


async def _found(settings: Settings, limit: int, now: int) -> Found:
    found = Found([], {})
    names = list(hours_back(now, settings.alerting.rejected_days * 24 + 1))
    async with opened(settings) as store:
        keys = AlertingOwn(store.prefix)
        for first in range(0, len(names), _HOURS):
            some = names[first : first + _HOURS]
            room = limit - len(found.rejections)
            lengths, items = await _NEWEST(store, [*map(keys.rejections, some)], [room])
            found.hours |= {name: n for name, n in zip(some, lengths, strict=True) if n}
            found.rejections += map(_decoded, items)
    return found


def _decoded(item: bytes) -> Rejected:
    try:
        return msgspec.json.decode(item, type=Rejected)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Rejected(event=item.decode(errors="replace"))


def _line(text: str) -> str:
    """The text on one line, with nothing in it that a terminal would take for an order."""
    short = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in short)


def _moment(time: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return str(time)


def _hour(name: str) -> str:
    return f"{name[:4]}-{name[4:6]}-{name[6:8]} {name[8:]}:00"
