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
"""Seconds by which a fire is late before it is mentioned."""
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
    """Of a fleet, as the store has them."""

    now: float
    beats: Sequence[Beat] = ()
    """Of our own instances that are alive."""
    is_mixed: bool = False
    """Whether instances of Cronken are there, too."""
    jobs: list[Job] = []
    """Valid ones that are not paused."""
    count: int = 0
    """Of all jobs."""
    invalid: dict[str, str] = {}
    """Names to what is wrong."""
    marks: dict[str, int] = {}
    """Of each job with a lock the last fire that was handled."""
    silent: Sequence[Beat] = ()
    """Of our own instances that send no heartbeat any more."""
    moved: Sequence[str] = ()
    """Jobs whose mark lay beyond the store's present."""
    late: Mapping[str, str] = {}
    """Jobs that the watchdog reported as overdue, each with the reason."""
    kept_back: int = 0
    """Checks of which only the latest event is kept."""
    waiting: int = 0
    """Events for alerting; -1 where `events` is no list."""


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
        text = f"definitions that are not valid are not run: {_named(found.invalid)}"
        yield Finding("warning", SUBJECT, text, "`watchbell cron validate` says what is wrong")
    obstacles = {job.name: obstacle(job.options.placement, found.beats) for job in found.jobs}
    unplaced = {name: reason for name, reason in obstacles.items() if reason}
    advice = "give an instance the tag with cron.tags, or change the job's hosts and tags"
    yield from _each(unplaced, advice)
    if working:
        late = {name: why for name, why in _late(found, settings) if name not in unplaced}
        yield from _each(late, "see the log of the instances, and `watchbell cron reload`")
    ahead = [name for name, mark in found.marks.items() if mark > found.now + MOST_AHEAD]
    if ahead:
        text = f"marks beyond the store's present keep jobs from running: {_named(ahead)}"
        advice = "an instance moves them to the present within a minute; check the store's clock"
        yield Finding("warning", SUBJECT, text, advice)
    yield from _trouble(found, settings)


def _trouble(found: Facts, settings: CronSettings) -> Iterator[Finding]:
    if found.moved:
        text = f"the store's clock was set back in the last hour: {_named(found.moved)} continued"
        advice = "let the store's clock follow a time server"
        yield Finding("warning", SUBJECT, f"{text} from the present", advice)
    yield from _each(found.late, "see docs/cron.md")
    if found.kept_back or found.waiting > settings.most_events:
        yield Finding(
            "warning",
            SUBJECT,
            f"{found.waiting:,} check events wait for alerting; cron keeps back all but the latest "
            f"of {found.kept_back:,} checks",
            "run a processor: `watchbell run processor`, or `watchbell up`",
        )
    for beat in found.silent:
        text = f"the instance {beat.name} sends no heartbeat"
        yield Finding("warning", SUBJECT, text, "its runs are declared frozen after a while")


def _instances(found: Facts, working: Sequence[Beat]) -> Iterator[Finding]:
    if not working and not found.is_mixed and found.count:
        why = "every instance is drained" if found.beats else "no instance is there"
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
    """Jobs whose fire no instance has claimed, although it is due for long."""
    for job in found.jobs:
        last = found.marks.get(job.name)
        if last is None:
            continue
        allowed = max(lateness.grace(job, settings.missed_grace), LEAST_LATE)
        if fire := lateness.overdue(job, last, int(found.now), allowed):
            over = int(found.now) - fire - job.schedule.jitter
            yield job.name, f"due {in_words(over)} ago, and no instance has begun it"


def _each(reasons: Mapping[str, str], advice: str) -> Iterator[Finding]:
    """A finding for each of some jobs, and one for the others."""
    names = sorted(reasons)
    for name in names[:_NAMED]:
        yield Finding("warning", SUBJECT, f"{name}: {reasons[name]}", advice)
    if others := names[_NAMED:]:
        yield Finding("warning", SUBJECT, f"the same kind of problem: {_named(others)}", advice)


def _named(names: Collection[str]) -> str:
    """Some of them, and how many there are."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    counted = "1 job" if len(names) == 1 else f"{len(names):,} jobs"
    return f"{counted} ({', '.join(sorted(names)[:_NAMED])}{more})"
