"""Decides a job's status and its reason, for all lists and pages."""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from watchbell.cron.model import DefinitionError, Invalid, Job
from watchbell.cron.reading import Reading
from watchbell.cron.validation import read

AHEAD = 25
"""How many fires of a job are computed at once."""
_SEARCHED = 2_000

JobState = Literal["invalid", "paused", "running", "blocked", "failing", "ok", "new"]


class Verdict(NamedTuple):
    state: JobState
    reason: str


def status(
    judgement: Job | Invalid,
    *,
    is_paused: bool,
    obstacle: str = "",
    running: int = 0,
    succeeded: float = 0,
    failed: float = 0,
) -> Verdict:
    """The first status that applies. `obstacle` says why no instance may run the job; `succeeded`
    and `failed` are when its last runs ended, 0 for never."""
    if isinstance(judgement, Invalid):
        return Verdict("invalid", judgement.text)
    if is_paused:
        return Verdict("paused", "it is paused")
    if running:
        runs = "1 run is" if running == 1 else f"{running} runs are"
        return Verdict("running", f"{runs} in progress")
    if obstacle:
        return Verdict("blocked", obstacle)
    if failed > succeeded:
        return Verdict("failing", "its last run failed")
    if succeeded:
        return Verdict("ok", "its last run succeeded")
    return Verdict("new", "it has not run yet")


def is_paused(judgement: Job | Invalid, paused: Collection[str]) -> bool:
    """Whether the definition or the set of paused jobs pauses the job."""
    return judgement.name in paused or (isinstance(judgement, Job) and judgement.is_paused)


class JobStatus:
    """A job as a page lists it."""

    __slots__ = (
        *("_ahead", "failed", "is_paused", "judgement", "key", "name"),
        *("raw", "running", "searched", "succeeded"),
    )

    def __init__(self, key: bytes, raw: bytes, reading: Reading) -> None:
        self.key, self.raw = key, raw
        self.judgement = read(key, raw, reading)
        self.name = self.judgement.name
        cmd = self.judgement.cmd if isinstance(self.judgement, Job) else ""
        self.searched = f"{self.name}\n{cmd[:_SEARCHED]}".casefold()
        self.is_paused = False
        self.running: tuple[str, ...] = ()
        self.succeeded = self.failed = 0.0
        """When its last run of each kind ended; 0 for never."""
        self._ahead: list[int] = []

    @property
    def job(self) -> Job | None:
        return self.judgement if isinstance(self.judgement, Job) else None

    @property
    def errors(self) -> tuple[DefinitionError, ...]:
        return self.judgement.errors if isinstance(self.judgement, Invalid) else ()

    @property
    def is_failing(self) -> bool:
        return self.failed > self.succeeded

    def verdict(self, obstacle: str = "") -> Verdict:
        return status(
            self.judgement,
            is_paused=self.is_paused,
            obstacle=obstacle,
            running=len(self.running),
            succeeded=self.succeeded,
            failed=self.failed,
        )

    @property
    def ended(self) -> float:
        return max(self.failed, self.succeeded)

    def next_fire(self, now: float) -> int | None:
        ahead = self.ahead(now, least=1)
        return ahead[0] if ahead else None

    def ahead(self, now: float, *, least: int = 0, until: float = 0) -> Sequence[int]:
        """The next fires: at least `least`, and all up to `until`, but no more than `AHEAD`. A
        paused job has none."""
        job = self.job
        if job is None or self.is_paused:
            return ()
        while self._ahead and self._ahead[0] <= now:
            del self._ahead[0]
        last: float = self._ahead[-1] if self._ahead else now
        while len(self._ahead) < least or (last < until and len(self._ahead) < AHEAD):
            fire = job.schedule.next_after(last)
            if fire is None:
                break
            self._ahead.append(fire)
            last = fire
        return self._ahead
