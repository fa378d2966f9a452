"""How a job ended, in a check's state and in words. Pure."""

from typing import Literal

from msgspec import Struct

from watchbell.alerting.model import State
from watchbell.jobs.model import ABORTED, Code, Job

ActionState = Literal["idle", "waiting", "done", "failed"]
"""`idle`: nothing has set it off."""


class ActionOutcome(Struct, frozen=True):
    """What became of an action of a job."""

    n: int
    """Its place among the actions of the job."""
    state: ActionState
    words: str
    """What was done, what is waited for, or why it failed."""


def has_failed(code: Code) -> bool:
    return code not in (0, "")


def check_state(job: Job) -> State:
    """What a finished job says about its event. An abort that may not be retried was wanted by
    somebody, or follows from a limit that somebody set; all others are failures."""
    if not has_failed(job.code):
        return "ok"
    is_mild = job.code == "warning" or (job.code == ABORTED and not job.retry_ok)
    return "warning" if is_mild else "critical"


def phrase(job: Job) -> str:
    """Why a job failed, in a few words: its own description, or else its code."""
    if not has_failed(job.code):
        return job.description or "done"
    return job.description.rstrip(".") or described_code(job.code)


def described_code(code: Code) -> str:
    if code == ABORTED:
        return "aborted"
    if code in ("warning", "critical"):
        return f"ended with a {code} result" if code == "warning" else "ended with a critical error"
    return "succeeded" if not has_failed(code) else f"code {code}"


def verb(code: Code) -> str:
    """`failed with code 3`."""
    if not has_failed(code):
        return "succeeded"
    known = {"warning": "ended with a warning", "critical": "failed critically"}
    return {**known, ABORTED: "was aborted"}.get(str(code), f"failed with code {code}")


def seconds(elapsed: float) -> str:
    """`2 ms`, `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`."""
    if elapsed < 0.1:
        return f"{max(round(elapsed * 1000), 0)} ms"
    if elapsed < 9.95:
        return f"{elapsed:.1f} s"
    whole = round(elapsed)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
