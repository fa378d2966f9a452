"""Triggers of jobs: whether an instance would run them, and the answers of the instances."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from watchbell import ids
from watchbell.clock import SYSTEM, Clock
from watchbell.cron.keys import CronOwn
from watchbell.cron.model import Beat, Job, parsed
from watchbell.cron.placement import obstacle, permits
from watchbell.store.client import Store

_EVERY = 0.05


class Trigger(Struct, frozen=True, kw_only=True):
    """A request to run a job now."""

    id: str
    job: str
    runs: int = 1
    """How many runs there will be: one, or one on each instance for a job without lock."""


class Answer(Struct, frozen=True):
    """An instance's answer to a trigger; one of the fields is set."""

    run: str = ""
    """The id of the run that was begun."""
    waits: str = ""
    """Why it begins later."""
    skipped: str = ""
    """Why it is not run."""


def refusal(job: Job, beats: Sequence[Beat]) -> str:
    """Why none of the instances would run the job; empty if one would, or none is known."""
    placement = job.options.placement
    permitted = [beat for beat in beats if permits(placement, beat)]
    if placement and permitted and all(beat.is_drained for beat in permitted):
        return "every instance that may run it is drained"
    return obstacle(placement, beats)


def new_trigger(job: Job, beats: Sequence[Beat]) -> Trigger:
    ready = [beat for beat in beats if not beat.is_drained]
    everywhere = sum(permits(job.options.placement, beat) for beat in ready)
    return Trigger(id=ids.token(), job=job.name, runs=1 if job.lock else max(everywhere, 1))


async def answers(
    store: Store,
    triggers: Sequence[Trigger],
    seconds: float,
    *,
    final: bool = False,
    clock: Clock = SYSTEM,
) -> Mapping[str, list[Answer]]:
    """Answers by job, once all have arrived or the time is over. With `final`, waits until runs
    that wait for their turn have begun or were given up."""
    ends = clock.monotonic() + seconds
    while True:
        by_job = {one.job: await _answers(store, one, final=final) for one in triggers}
        is_over = clock.monotonic() >= ends
        if is_over or all(len(by_job[one.job]) >= one.runs for one in triggers):
            return by_job
        await asyncio.sleep(_EVERY)


async def _answers(store: Store, trigger: Trigger, *, final: bool) -> list[Answer]:
    """The last answer of each run; with `final`, without runs that still wait."""
    texts = await store.call("LRANGE", CronOwn(store.prefix).answers(trigger.id), 0, -1)
    known = [answer for text in texts if (answer := parsed(text, Answer))]
    settled = [answer for answer in known if not answer.waits]
    waiting = [answer for answer in known if answer.waits]
    return settled if final else settled + waiting[len(settled) :]
