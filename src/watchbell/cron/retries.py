"""Decides whether a failed run is retried, and when."""

from enum import Enum

from msgspec import Struct

MOST_RETRIES = 100
LONGEST_DELAY = 86_400.0
"""Seconds; no back-off grows beyond this."""


class Policy(Struct, frozen=True, kw_only=True):
    """The first retry comes `delay` seconds after the failure; each later delay is `factor` times
    the one before."""

    retries: int = 0
    delay: float = 60
    factor: float = 2

    @property
    def attempts(self) -> int:
        return 1 + self.retries

    def pause(self, attempt: int) -> float:
        """Seconds from the end of this attempt to the next one."""
        pause = self.delay
        for _ in range(attempt - 1):
            pause = min(pause * self.factor, LONGEST_DELAY)
        return min(pause, LONGEST_DELAY)


class Verdict(Enum):
    RETRY = "another attempt follows"
    SUCCEEDED = "the run succeeded"
    CANCELLED = "a person ended the run"
    NOT_RUNNABLE = "the job is gone, or its definition is not valid"
    EXHAUSTED = "no attempt is left"


def verdict(
    policy: Policy | None, attempt: int, *, succeeded: bool, cancelled: bool = False
) -> Verdict:
    """`policy` is None for a job that can't run any more."""
    if succeeded:
        return Verdict.SUCCEEDED
    if policy is None:
        return Verdict.NOT_RUNNABLE
    if cancelled:
        return Verdict.CANCELLED
    return Verdict.RETRY if attempt < policy.attempts else Verdict.EXHAUSTED
