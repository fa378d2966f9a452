"""Jobs as the command line lists them: definition, status, next run, last run."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from watchbell.cron import definitions, history, instances, latest_runs
from watchbell.cron.definitions import Pair
from watchbell.cron.history import RunRecord
from watchbell.cron.job_status import Verdict, is_paused, status
from watchbell.cron.model import DefinitionError, Invalid, Job, parsed
from watchbell.cron.placement import obstacle
from watchbell.cron.reading import Reading
from watchbell.cron.validation import read
from watchbell.errors import NotFound
from watchbell.store.client import Store


class Listed(Struct, frozen=True, kw_only=True):
    """A job, its status and its last run."""

    name: str
    definition: Any
    """As it is in the store; None if that is not JSON."""
    judgement: Job | Invalid
    is_paused: bool = False
    next_fire: int | None = None
    last: RunRecord | None = None
    running: tuple[str, ...] = ()
    obstacle: str = ""
    """Why no instance may run it; only set where a single job is shown."""

    @property
    def job(self) -> Job | None:
        return self.judgement if isinstance(self.judgement, Job) else None

    @property
    def errors(self) -> tuple[DefinitionError, ...]:
        return self.judgement.errors if isinstance(self.judgement, Invalid) else ()

    @property
    def verdict(self) -> Verdict:
        ended = self.last.ended or 0 if self.last else 0
        has_failed = self.last is not None and self.last.record.status != "success"
        return status(
            self.judgement,
            is_paused=self.is_paused,
            obstacle=self.obstacle,
            running=len(self.running),
            succeeded=0 if has_failed else ended,
            failed=ended if has_failed else 0,
        )


class _State(NamedTuple):
    paused: set[str]
    running: dict[str, tuple[str, ...]]
    """The ids of runs in progress, by job."""


async def listed(
    store: Store, reading: Reading, now: float, names: Sequence[str] = ()
) -> list[Listed]:
    """These jobs, or all, by name."""
    state = await _state(store)
    by_name: dict[str, Listed] = {}
    async for pairs in definitions.selected(store, names):
        by_name |= {one.name: one for one in await _all(store, pairs, reading, now, state)}
    return [by_name[name] for name in sorted(by_name)]


async def first(store: Store, reading: Reading, now: float, most: int) -> tuple[list[Listed], int]:
    """The first jobs by name, and how many there are in all."""
    pairs, total = await definitions.first(store, most)
    return await _all(store, pairs, reading, now, await _state(store)), total


async def _state(store: Store) -> _State:
    return _State(await definitions.paused_names(store), await history.running(store))


async def _all(
    store: Store, pairs: Sequence[Pair], reading: Reading, now: float, state: _State
) -> list[Listed]:
    lasts = await latest_runs.lasts(store, [name for name, _ in pairs])
    found = []
    for (name, raw), last in zip(pairs, lasts, strict=True):
        judgement = read(name, raw, reading)
        of_job = state.running.get(judgement.name, ())
        found.append(_listed(judgement, raw, state.paused, now, last, of_job))
    return found


def _listed(
    judgement: Job | Invalid,
    raw: bytes,
    paused: set[str],
    now: float,
    last: RunRecord | None,
    running: tuple[str, ...],
) -> Listed:
    name, definition = judgement.name, parsed(raw, object)
    job = judgement if isinstance(judgement, Job) else None
    is_idle = is_paused(judgement, paused)
    return Listed(
        name=name,
        definition=definition,
        judgement=judgement,
        is_paused=is_idle,
        next_fire=job.schedule.next_after(now) if job and not is_idle else None,
        last=last,
        running=running,
    )


async def shown(store: Store, name: str, reading: Reading, now: float) -> Listed:
    found = await listed(store, reading, now, [name])
    if not found:
        raise NotFound(f"there is no job {name!r}")
    job = found[0].job
    return found[0] if job is None else replace(found[0], obstacle=await obstacle_to(store, job))


async def obstacle_to(store: Store, job: Job) -> str:
    """Why no instance may run the job; empty if one may."""
    placement = job.options.placement
    return obstacle(placement, await instances.alive(store)) if placement else ""
