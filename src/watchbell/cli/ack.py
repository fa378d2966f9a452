"""`watchbell ack`."""

import asyncio
import re
from collections.abc import Mapping

import click

from watchbell.alerting import event, history
from watchbell.alerting.decide import acknowledgement
from watchbell.alerting.decide.acknowledgement import Refusal
from watchbell.alerting.history import Status
from watchbell.alerting.intake import submit
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import split_id
from watchbell.cli.arguments import length, storable
from watchbell.cli.audited import record_change, subject_of
from watchbell.cli.formatting import counted, plain
from watchbell.cli.options import opened, with_settings
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.schedule import spoken
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.store.replies import text

_SHORT_ID = re.compile("[0-9a-f]{8}", re.IGNORECASE)


@click.command
@click.argument("target", metavar="ENTITY:CHECK|PATTERN|ACKID", type=storable)
@click.option(
    "--summary", type=storable, metavar="TEXT", help="What you know of it, for the others."
)
@click.option(
    "--for",
    "duration",
    type=length,
    default="4 hours",
    show_default=True,
    metavar="LENGTH",
    help="How long nobody is told again.",
)
@with_settings()
def command(*, loaded: Loaded, target: str, summary: str | None, duration: int) -> None:
    """Acknowledge failures: the check, the failing ones among those that a pattern means, or the
    one whose short id came with an alert. Nobody is told of them again until the time is over or
    they recover. What is in scheduled maintenance is silent anyway, and can't be acknowledged.

    Example: watchbell ack web-1:HTTP --summary "Alice is on it" --for "2 hours"
    """
    for status in asyncio.run(_sent(loaded.settings, target, summary, duration)):
        if _refusal(status) is None:
            click.echo(f"acknowledged for {spoken.in_words(duration)}: {plain(status.id)}")
        else:
            click.echo(f"silent anyway, in scheduled maintenance: {plain(status.id)}")


async def _sent(
    settings: Settings, target: str, summary: str | None, duration: int
) -> list[Status]:
    """The failing ones among those that are meant; asked of those that are not silent anyway."""
    now = int(SYSTEM.now())
    async with opened(settings) as store:
        by_short_id = await _by_short_id(store, target)
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
    """Why none of the checks that are meant can be acknowledged."""
    if len(refusals) == 1:
        ((name, found),) = refusals.items()
        return f"{plain(name)}: {found.value if found else ''}"
    if Refusal.SCHEDULED in refusals.values():
        return "all failing checks are in scheduled maintenance, in which nobody is notified anyway"
    number = counted(len(refusals), "check")
    return f"none of {number} is failing; there is nothing to acknowledge"


async def _by_short_id(store: Store, target: str) -> str | None:
    if not _SHORT_ID.fullmatch(target):
        return None
    found = await store.call("HGET", Alerting(store.prefix).checks_by_hash(), target.lower())
    return None if found is None else text(found)
