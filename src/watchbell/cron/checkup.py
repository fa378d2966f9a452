"""What `doctor` finds wrong with a fleet: instances, definitions, overdue jobs, marks, events."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from watchbell.alerting.keys import Alerting
from watchbell.cron import definitions, instances, lateness
from watchbell.cron.job_status import is_paused
from watchbell.cron.keys import CronOwn
from watchbell.cron.last_handled import MOST_AHEAD, handled
from watchbell.cron.model import Beat, Invalid, Job
from watchbell.cron.placement import obstacle
from watchbell.cron.reading import Reading
from watchbell.cron.validation import read
from watchbell.settings import Cron as CronSettings
from watchbell.store.client import Store
from watchbell.store.health import Finding
from watchbell.store.script import READ, Script
from watchbell.units import in_words

SUBJECT = "cron"
LEAST_LATE = 60
"""Seconds by which a run is late before doctor reports it."""
_NAMED = 5


# KEYS ahead, overdue, unreported, events. Returns the jobs whose marks were moved, those that are
# late with their reasons, how many checks have an event kept back, and how many events wait.
_TROUBLE = Script(
    READ
    + """
return {read('HKEYS', KEYS[1]) or {}, read('HGETALL', KEYS[2]) or {}, read('HLEN', KEYS[3]) or 0,
        read('LLEN', KEYS[4]) or -1}
"""
)


class Facts(Struct, kw_only=True):
    """What the store knows about a fleet."""

    now: float
    beats: Sequence[Beat] = ()
    """Heartbeats of our own instances that are alive."""
    is_mixed: bool = False
    """Whether instances of Cronken are running, too."""
    jobs: list[Job] = []
    """Valid jobs that are not paused."""
    count: int = 0
    """The number of all jobs."""
    invalid: dict[str, str] = {}
    """Errors of invalid jobs, by name."""
    marks: dict[str, int] = {}
    """The last fire that was handled, by job; only jobs with a lock have one."""
    silent: Sequence[Beat] = ()
    """Heartbeats of our own instances that no longer send any."""
    moved: Sequence[str] = ()
    """Jobs whose mark was ahead of the store's clock."""
    late: Mapping[str, str] = {}
    """Jobs that the watchdog reported as overdue, with the reason."""
    kept_back: int = 0
    """Checks for which only the latest event is kept."""
    waiting: int = 0
    """Events that wait for alerting; -1 if `events` is not a list."""


async def facts(store: Store, reading: Reading) -> Facts:
    fleet, fired = await instances.fleet(store), CronOwn(store.prefix).fired()
    alive = [beat for beat in fleet.beats if not beat.is_silent]
    now = float((await store.call("TIME"))[0])
    own = CronOwn(store.prefix)
    keys = [own.ahead(), own.overdue(), own.unreported(), Alerting(store.prefix).events()]
    moved, late, kept_back, waiting = await _TROUBLE(store, keys)
    texts = [text.decode(errors="replace") for text in late]
    found = Facts(
        now=now,
        beats=alive,
        is_mixed=fleet.is_mixed,
        silent=[beat for beat in fleet.beats if beat.is_silent],
        moved=sorted(name.decode(errors="replace") for name in moved),
        late=dict(zip(texts[::2], texts[1::2], strict=True)),
        kept_back=kept_back,
        waiting=waiting,
    )
    paused = await definitions.paused_names(store)
    async for pairs in definitions.every(store):
        names = [name for name, _ in pairs]
        marks = await store.call("HMGET", fired, *names) if names else []
        for (name, raw), mark in zip(pairs, marks, strict=True):
            _add(found, read(name, raw, reading), mark, paused)
    return found


def _add(found: Facts, job: Job | Invalid, mark: bytes | None, paused: set[str]) -> None:
    found.count += 1
    if isinstance(job, Invalid):
        found.invalid[job.name] = job.text
    elif not is_paused(job, paused):
        found.jobs.append(job)
        last = handled(mark, job)
        if job.lock and last is not None:
            found.marks[job.name] = last


def judge(found: Facts, settings: CronSettings) -> Iterator[Finding]:
    working = [beat for beat in found.beats if not beat.is_drained]
    yield from _instances(found, working)
    if found.invalid:
        text = f"jobs with an invalid definition are not run: {_named(found.invalid)}"
        yield Finding("warning", SUBJECT, text, "`watchbell cron validate` shows the errors")
    obstacles = {job.name: obstacle(job.options.placement, found.beats) for job in found.jobs}
    unplaced = {name: reason for name, reason in obstacles.items() if reason}
    advice = "give an instance the tag with cron.tags, or change the job's hosts and tags"
    yield from _each(unplaced, advice)
    if working:
        late = {name: why for name, why in _late(found, settings) if name not in unplaced}
        yield from _each(late, "see the log of the instances, and `watchbell cron reload`")
    ahead = [name for name, mark in found.marks.items() if mark > found.now + MOST_AHEAD]
    if ahead:
        text = f"marks ahead of the store's clock keep jobs from running: {_named(ahead)}"
        advice = "an instance moves them to the present within a minute; check the store's clock"
        yield Finding("warning", SUBJECT, text, advice)
    yield from _trouble(found, settings)


def _trouble(found: Facts, settings: CronSettings) -> Iterator[Finding]:
    if found.moved:
        jobs = _named(found.moved)
        text = f"the store's clock was set back in the last hour; affected: {jobs}"
        yield Finding("warning", SUBJECT, text, "synchronize the store's clock with a time server")
    yield from _each(found.late, "see docs/cron.md")
    if found.kept_back or found.waiting > settings.most_events:
        yield Finding(
            "warning",
            SUBJECT,
            f"{found.waiting:,} check events wait for alerting; cron keeps back the latest events "
            f"of {found.kept_back:,} checks and drops older ones",
            "run a processor: `watchbell run processor`, or `watchbell up`",
        )
    for beat in found.silent:
        text = f"the instance {beat.name} sends no heartbeat"
        yield Finding("warning", SUBJECT, text, "its runs will be recorded as frozen")


def _instances(found: Facts, working: Sequence[Beat]) -> Iterator[Finding]:
    if not working and not found.is_mixed and found.count:
        why = "every instance is drained" if found.beats else "no instance is running"
        advice = "`watchbell cron reload`" if found.beats else "start one with `watchbell run cron`"
        jobs = "the job is not run" if found.count == 1 else f"{found.count:,} jobs are not run"
        yield Finding("warning", SUBJECT, f"{why}: {jobs}", advice)
    elif found.beats:
        places, running = sum(one.capacity for one in working), sum(b.running for b in found.beats)
        fleet = "1 instance" if len(found.beats) == 1 else f"{len(found.beats):,} instances"
        jobs = "1 job" if found.count == 1 else f"{found.count:,} jobs"
        text = f"{jobs}; {running:,} of {places:,} places taken on {fleet}"
        yield Finding("ok", SUBJECT, text)


def _late(found: Facts, settings: CronSettings) -> Iterator[tuple[str, str]]:
    """Jobs that have been due for a while, but no instance has claimed them."""
    for job in found.jobs:
        last = found.marks.get(job.name)
        if last is None:
            continue
        allowed = max(lateness.grace(job, settings.missed_grace), LEAST_LATE)
        if fire := lateness.overdue(job, last, int(found.now), allowed):
            over = int(found.now) - fire - job.schedule.jitter
            yield job.name, f"due {in_words(over)} ago, but no instance has started it"


def _each(reasons: Mapping[str, str], advice: str) -> Iterator[Finding]:
    """A finding for each of the first few jobs, and one for all others."""
    names = sorted(reasons)
    for name in names[:_NAMED]:
        yield Finding("warning", SUBJECT, f"{name}: {reasons[name]}", advice)
    if others := names[_NAMED:]:
        yield Finding("warning", SUBJECT, f"the same kind of problem: {_named(others)}", advice)


def _named(names: Collection[str]) -> str:
    """The number of jobs, and the names of the first few."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    counted = "1 job" if len(names) == 1 else f"{len(names):,} jobs"
    return f"{counted} ({', '.join(sorted(names)[:_NAMED])}{more})"
