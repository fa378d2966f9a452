"""Jobs in the agenda of an instance, the claims of fires that are due, and the next attempt at one
that failed."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from watchbell.cron import check_reports, lateness, retries
from watchbell.cron.last_handled import mark
from watchbell.cron.model import Detail, Fire, Job, Why, lock_of
from watchbell.cron.retries import Verdict
from watchbell.schedule.agenda import Entry
from watchbell.schedule.due import Fate, Stretch, due
from watchbell.units import in_words

GOES_ON_HERE = "skipped: a run is in progress here"


class JobEntry(Entry):
    __slots__ = ("_items", "digest", "is_elsewhere", "is_kept", "is_paused", "job")

    def __init__(self, job: Job, *, mark: int, digest: int = 0, is_kept: bool = True) -> None:
        super().__init__(job.name, job.schedule, mark)
        self.job = job
        self.digest = digest
        """A digest of the definition's text, to notice a change."""
        self.is_kept = is_kept
        """Whether the job is in the store; others were only announced on the channel."""
        self.is_paused = job.is_paused
        self.is_elsewhere = False
        """Whether only other instances may run it."""
        self._items: dict[Why, str] = {}

    @property
    def is_idle(self) -> bool:
        return self.is_paused or self.is_elsewhere

    def item(self, fire: int, why: Why, trigger: str = "") -> str:
        """A fire of the job as JSON. All but its time is encoded only once, unless the sender of a
        trigger waits for an answer."""
        if trigger:
            made = fire_of(self.job, fire, why, is_kept=self.is_kept)
            return msgspec.json.encode(msgspec.structs.replace(made, trigger=trigger)).decode()
        end = self._items.get(why)
        if end is None:
            made = fire_of(self.job, 0, why, is_kept=self.is_kept)
            end = self._items[why] = msgspec.json.encode(made).decode().removeprefix('{"fire":0')
        return f'{{"fire":{fire}{end}'


def fire_of(job: Job, fire: int, why: Why, *, is_kept: bool = True) -> Fire:
    is_run_late = why == "late" and job.options.missed == "all" and job.overlap != "allow"
    attempts, placement = job.options.retrying.attempts, job.options.placement
    return Fire(
        fire=fire,
        why=why,
        job=job.name,
        lock=lock_of(job.lock),
        ttl=job.ttl * 1000 if job.lock else 0,
        overlap="each" if is_run_late else job.overlap,
        is_kept=is_kept,
        attempt=1 if attempts > 1 else UNSET,
        attempts=attempts if attempts > 1 else UNSET,
        pool=msgspec.json.encode(placement).decode() if placement else UNSET,
    )


class Claim(NamedTuple):
    job: str
    fire: int
    mark: str
    run: str
    item: str
    at: str = ""
    """The instant before which it must not begin, if that is in the future."""


class Left(NamedTuple):
    """Fires to be recorded as not run."""

    job: str
    last: int
    mark: str
    run: str
    first: int
    number: int | None
    reason: str
    event: str
    is_kept: bool = False
    """Whether the job is in the store; others were only announced on the channel."""


def is_held_back(job: Job, runs_here: int) -> bool:
    """Whether a run on this instance prevents the next one of a job without a lock."""
    return not job.lock and job.overlap == "skip" and runs_here > 0


def due_claims(
    entry: JobEntry, now: float, usual_grace: int, *, runs_here: int, new_run: Callable[[], str]
) -> list[Claim | Left]:
    """What to claim of a due job, and what to record as not run."""
    job, fire = entry.job, entry.fire
    assert fire is not None
    is_idle = is_held_back(job, runs_here)

    def claim(fire: int, why: Why) -> Claim | Left:
        if is_idle:
            return Left(job.name, fire, "", "", fire, 1, GOES_ON_HERE, "", entry.is_kept)
        at = f"{entry.at:.6f}" if entry.at > now else ""
        return Claim(job.name, fire, mark(fire, job), new_run(), entry.item(fire, why), at)

    if now - entry.at < 1:  # and fires are at least a second apart
        return [claim(fire, "schedule")]
    grace = lateness.grace(job, usual_grace)
    # Jitter moves both when a fire is due and when it is late.
    since = now - (entry.at - fire)
    plan = due(job.schedule, entry.mark, since, missed=job.options.missed, grace=grace)
    left = [_left(entry, one, now) for one in plan.omitted]
    return [
        *left,
        *(claim(one, "schedule" if fate is Fate.ON_TIME else "late") for one, fate in plan.fires),
    ]


def _left(entry: JobEntry, stretch: Stretch, now: float) -> Left:
    job = entry.job
    first, last, number, fate = stretch
    event = ""
    if fate is Fate.TOO_LATE and job.options.alert:
        words = f"due {in_words(max(int(now) - last, 1))} ago"
        event = check_reports.missed(job.name, fate.value, words, now).decode()
    return Left(
        job.name, last, mark(last, job), "", first, number, fate.value, event, entry.is_kept
    )


class Attempt(NamedTuple):
    fire: bytes
    """As JSON."""
    at: float
    """When it is due."""


def following(
    job: Job | None,
    failed: Fire,
    instance: str,
    ended: float,
    *,
    succeeded: bool = False,
    cancelled: bool = False,
) -> Attempt | None:
    """The attempt after a run that ended; None if none follows. `job` is the job as it is now, None
    if it can't run any more."""
    policy, attempt = job.options.retrying if job else None, failed.attempt or 1
    verdict = retries.verdict(policy, attempt, succeeded=succeeded, cancelled=cancelled)
    if verdict is not Verdict.RETRY or job is None:
        return None
    made = msgspec.structs.replace(
        fire_of(job, failed.fire, "retry", is_kept=failed.is_kept),
        # A retry waits for its lock without a limit, because another job may hold it.
        overlap="allow" if job.overlap == "allow" else "each",
        attempt=attempt + 1,
        # A job that every instance runs is retried on the instance where it failed.
        only_on=UNSET if job.lock else instance,
    )
    return Attempt(msgspec.json.encode(made), ended + job.options.retrying.pause(attempt))


def fire_from(job: str, detail: Detail) -> Fire:
    """The fire of a run, rebuilt from the details of that run."""
    return Fire(fire=detail.fire, why=detail.why, job=job, attempt=detail.attempt)


def described(attempt: int, attempts: int) -> str:
    """Such as `attempt 2 of 3`; empty for a job without retries."""
    return f"attempt {attempt} of {attempts}" if attempts > 1 else ""
