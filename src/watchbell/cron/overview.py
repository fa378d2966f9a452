"""Jobs with where they stand: what they say, when they are due, how they fared."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from watchbell.cron import definitions, history
from watchbell.cron.history import Seen
from watchbell.cron.model import Invalid, Job, parsed
from watchbell.cron.validation import Reading, read
from watchbell.errors import NotFound
from watchbell.store.client import Store


class Listed(Struct, frozen=True, kw_only=True):
    """A job with where it stands."""

    name: str
    definition: Any
    """As it is in the store; None where that is no JSON."""
    job: Job | None
    errors: tuple[str, ...] = ()
    is_paused: bool = False
    next_fire: int | None = None
    last: Seen | None = None
    running: tuple[str, ...] = ()


async def listed(
    store: Store, reading: Reading, now: float, names: Sequence[str] = ()
) -> list[Listed]:
    """These jobs, or all, by name."""
    paused = {name.decode(errors="replace") for name in await definitions.paused(store)}
    running: dict[str, list[str]] = {}
    for seen in await history.active(store):
        running.setdefault(seen.record.job_name, []).append(seen.id)
    found: dict[str, Listed] = {}
    async for pairs in definitions.chosen(store, names):
        lasts = await history.lasts(store, [name for name, _ in pairs])
        for (name, raw), last in zip(pairs, lasts, strict=True):
            judgement = read(name, raw, reading)
            of_job = tuple(running.get(judgement.name, ()))
            found[judgement.name] = _listed(judgement, raw, paused, now, last, of_job)
    return [found[name] for name in sorted(found)]


def _listed(
    judgement: Job | Invalid,
    raw: bytes,
    paused: set[str],
    now: float,
    last: Seen | None,
    running: tuple[str, ...],
) -> Listed:
    name, definition = judgement.name, parsed(raw, object)
    if isinstance(judgement, Invalid):
        job, is_paused, errors = None, name in paused, judgement.errors
    else:
        job, is_paused, errors = judgement, judgement.is_paused or name in paused, ()
    return Listed(
        name=name,
        definition=definition,
        job=job,
        errors=errors,
        is_paused=is_paused,
        next_fire=job.schedule.next_after(now) if job and not is_paused else None,
        last=last,
        running=running,
    )


async def shown(store: Store, name: str, reading: Reading, now: float) -> Listed:
    found = await listed(store, reading, now, [name])
    if not found:
        raise NotFound(f"there is no job {name!r}")
    return found[0]
