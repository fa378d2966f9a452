"""A job and where it stands: when it fires next, how it fared last, what is wrong with it."""

from collections.abc import Sequence

from watchbell.cron.model import DefinitionError, Invalid, Job
from watchbell.cron.validation import Reading, read

AHEAD = 25
"""Fires of a job that are known at once."""
_SEARCHED = 2_000


class JobStatus:
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
        """When it did so last."""
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

    @property
    def ended(self) -> float:
        return max(self.failed, self.succeeded)

    def next_fire(self, now: float) -> int | None:
        ahead = self.ahead(now, least=1)
        return ahead[0] if ahead else None

    def ahead(self, now: float, *, least: int = 0, until: float = 0) -> Sequence[int]:
        """The next fires: so many at the least, and all up to an instant, or the first `AHEAD`.
        None of a job that is paused."""
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
