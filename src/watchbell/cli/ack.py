"""`watchbell ack`."""

import asyncio
from collections.abc import Mapping

import click

from watchbell.alerting import event, history
from watchbell.alerting.decide import acknowledgement
from watchbell.alerting.decide.acknowledgement import Refusal
from watchbell.alerting.history import Status
from watchbell.alerting.intake import submit
from watchbell.alerting.model import split_id
from watchbell.cli.arguments import length, storable
from watchbell.cli.audited import record_change, subject_of
from watchbell.cli.formatting import plain
from watchbell.cli.options import with_settings
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.schedule import spoken
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened
from watchbell.units import counted


@click.command
@click.argument("target", metavar="ENTITY:CHECK|PATTERN|ACKID", type=storable)
@click.option("--summary", type=storable, metavar="TEXT", help="A note for your colleagues.")
@click.option(
    "--for",
    "duration",
    type=length,
    default="4 hours",
    show_default=True,
    metavar="LENGTH",
    help="How long to send no more alerts about it.",
)
@with_settings()
def command(*, loaded: Loaded, target: str, summary: str | None, duration: int) -> None:
    """Acknowledge failures: of one check, of all failing checks that match a pattern, or of the
    check whose short id came with an alert. No more alerts are sent about them until the time is
    over or they recover. Checks in scheduled maintenance send none, and are not acknowledged.

    Example: watchbell ack web-1:HTTP --summary "Alice is on it" --for "2 hours"
    """
    for status in asyncio.run(_acknowledge(loaded.settings, target, summary, duration)):
        if _refusal(status) is None:
            click.echo(f"acknowledged for {spoken.in_words(duration)}: {plain(status.id)}")
        else:
            click.echo(f"not acknowledged, in scheduled maintenance: {plain(status.id)}")


async def _acknowledge(
    settings: Settings, target: str, summary: str | None, duration: int
) -> list[Status]:
    """The failing checks that match; those in scheduled maintenance are not acknowledged."""
    now = int(SYSTEM.now())
    async with opened(settings) as store:
        by_short_id = await history.by_short_id(store, target)
        ids = [by_short_id] if by_short_id else await history.matching(store, target)
        states = await history.check_states(store, ids, now)
        refusals = {status.id: _refusal(status) for status in states}
        asked = [name for name, found in refusals.items() if found is None]
        if not asked:
            raise Refused(_why_none(refusals))
        await submit(
            store,
            *(
                event.acknowledge(
                    *split_id(name),
                    summary=summary,
                    duration=duration,
                    acknowledgement_id=target.lower() if by_short_id else None,
                    time=now,
                )
                for name in asked
            ),
        )
        words = ": ".join(filter(None, [spoken.in_words(duration), summary]))
        await record_change(store, "check.acknowledge", subject_of(asked, "check"), words)
    return [one for one in states if refusals[one.id] is not Refusal.NOT_FAILING]


def _refusal(status: Status) -> Refusal | None:
    return acknowledgement.refusal(status.state, status.maintenance)


def _why_none(refusals: Mapping[str, Refusal | None]) -> str:
    """Why none of the matching checks can be acknowledged."""
    if len(refusals) == 1:
        ((name, found),) = refusals.items()
        return f"{plain(name)}: {found.value if found else ''}"
    if Refusal.SCHEDULED in refusals.values():
        return "all failing checks are in scheduled maintenance, so no alerts are sent"
    number = counted(len(refusals), "check")
    return f"none of {number} is failing; there is nothing to acknowledge"
