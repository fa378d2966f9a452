"""What the actions of jobs and those of alerts do in the same way."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from watchbell.errors import NotFound, Refused
from watchbell.jobs import channel_sending, launches, timetable
from watchbell.jobs.decide import actions
from watchbell.jobs.launches import Outcome
from watchbell.jobs.model import Action, Channel, Event, Job
from watchbell.store.client import Store


class Done(NamedTuple):
    words: str
    messages: tuple[str, ...] = ()
    launched: tuple[str, ...] = ()


Attempt = Callable[[Action, str], Awaitable[Done]]
"""Carries out an action under a name."""


def check_on_demand(event: Event, timezone: str) -> None:
    if not timetable.of(event.timings, timezone).is_manual:
        raise Refused(f"{event.title} may not be run on demand: its manual timing is disabled")


async def launched(store: Store, job: Job, timezone: str) -> Done:
    (outcome,) = await launches.launch(store, [job], timezone)
    if outcome is Outcome.LIMITED:
        raise Refused(outcome.value)
    return Done(f"launched job {job.id} of {job.event}", launched=(job.id,))


async def each(uses: Sequence[Action], name: str, attempt: Attempt) -> tuple[list[Done], list[str]]:
    """What was done, and why the rest was not: one way that fails holds up no other."""
    done, refused = list[Done](), list[str]()
    for use in uses:
        try:
            done.append(await attempt(use, f"{name}-{use.type}"))
        except (Refused, NotFound) as error:
            refused.append(str(error))
    return done, refused


async def through_channel(
    store: Store,
    channels: Mapping[str, Channel],
    action: Action,
    name: str,
    now: float,
    attempt: Attempt,
) -> Done:
    channel = channels.get(action.channel_id)
    if channel is None:
        raise NotFound(f"there is no channel {action.channel_id!r}")
    refusal = await channel_sending.obstacle(store, channel, name, now)
    if refusal:
        raise Refused(refusal)
    done, refused = await each(actions.uses(channel), name, attempt)
    if not done:
        raise Refused("; ".join(refused) or f"the channel {channel.title} reaches nobody")
    return Done(
        "; ".join([*(one.words for one in done), *refused]),
        tuple(message for one in done for message in one.messages),
        tuple(job for one in done for job in one.launched),
    )
