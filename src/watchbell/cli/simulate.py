"""`watchbell simulate`."""

import asyncio
from collections.abc import Sequence

import click

from watchbell.alerting.event import from_fields
from watchbell.alerting.intake import submit
from watchbell.alerting.model import FAILING, Rejection
from watchbell.cli.event import told
from watchbell.cli.options import opened, with_settings
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings

KINDS = ("fail", "recover", "flap")
_SECONDS = click.FloatRange(0.001, 1e6)


def course(kind: str, state: str, count: int) -> list[str]:
    """The states that are sent, one after the other."""
    if kind == "flap":
        return [("ok" if n % 2 else state) for n in range(count)]
    return [state] * (count - 1) + ["ok" if kind == "recover" else state]


@click.command
@click.argument("kind", type=click.Choice(KINDS), metavar="fail|recover|flap")
@click.argument("entity", default="foo-app-01")
@click.argument("check", default="HTTP")
@click.option("--seconds", default=45.0, type=_SECONDS, metavar="N", help="How long.  [45]")
@click.option("--interval", default=10.0, type=_SECONDS, metavar="N", help="Between events.  [10]")
@click.option("--count", type=click.IntRange(1), metavar="N", help="So many events, however long.")
@click.option(
    "--state", default="critical", type=click.Choice(FAILING), help="How it fails.  [critical]"
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be repeated.")
@with_settings()
def command(
    *,
    loaded: Loaded,
    kind: str,
    entity: str,
    check: str,
    seconds: float,
    interval: float,
    count: int | None,
    state: str,
    tags: tuple[str, ...],
) -> None:
    """Send the events of a check that fails, to see what follows: "fail" fails to the end,
    "recover" fails and ends with ok, "flap" goes to and fro. The events are real ones, sent
    in real time, and whoever is to be told of that check is told.

    Example: watchbell simulate recover web-1 HTTP --seconds 60 --interval 10
    """
    number = count if count is not None else max(int(seconds / interval) + 1, 2)
    fields: dict[str, object] = {"type": "service", "entity": entity, "check": check, "tags": tags}
    states = course(kind, state, number)
    asyncio.run(_played(loaded.settings, fields, states, interval))


async def _played(
    settings: Settings, fields: dict[str, object], states: Sequence[str], interval: float
) -> None:
    async with opened(settings) as store:
        for number, state in enumerate(states, 1):
            if number > 1:
                await asyncio.sleep(interval)
            summary = f"simulated, {number} of {len(states)}"
            event = from_fields({**fields, "state": state, "summary": summary}, int(SYSTEM.now()))
            if isinstance(event, Rejection):
                raise Refused(f"this is no check event: {event.reason}")
            await submit(store, event)
            click.echo(f"sent: {told(event)}")
