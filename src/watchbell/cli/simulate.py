"""`watchbell simulate`."""

import asyncio
from collections.abc import Sequence

import click

from watchbell.alerting.event import from_fields
from watchbell.alerting.intake import submit
from watchbell.alerting.model import FAILING, Rejection
from watchbell.cli.arguments import fine_length
from watchbell.cli.event import in_words
from watchbell.cli.options import with_settings
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened

KINDS = ("fail", "recover", "flap")


def course(kind: str, state: str, count: int) -> list[str]:
    """The states to send, in order."""
    if kind == "flap":
        return [("ok" if n % 2 else state) for n in range(count)]
    return [state] * (count - 1) + ["ok" if kind == "recover" else state]


@click.command
@click.argument("kind", type=click.Choice(KINDS), metavar="fail|recover|flap")
@click.argument("entity", default="foo-app-01")
@click.argument("check", default="HTTP")
@click.option(
    "--for",
    "--seconds",
    "seconds",
    default="45 s",
    show_default=True,
    type=fine_length,
    metavar="LENGTH",
    help="How long to send events.",
)
@click.option(
    "--interval",
    default="10 s",
    show_default=True,
    type=fine_length,
    metavar="LENGTH",
    help="Time between two events.",
)
@click.option(
    "--count", type=click.IntRange(1), metavar="N", help="Number of events, instead of a length."
)
@click.option(
    "--state",
    default="critical",
    show_default=True,
    type=click.Choice(FAILING),
    help="The state of the failing check.",
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; can be repeated.")
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
    """Send the events of a failing check, to see what happens: `fail` stays failed, `recover`
    ends with ok, `flap` alternates. These are real events, sent in real time: people are alerted.

    Example: watchbell simulate recover web-1 HTTP --for "1 min" --interval "10 s"
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
                raise Refused(f"this is not a valid check event: {event.reason}")
            await submit(store, event)
            click.echo(f"sent: {in_words(event)}")
