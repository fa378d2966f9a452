"""Decides how a job ended, from what it reported and what became of its process."""

import signal
from collections.abc import Mapping
from typing import Any, NamedTuple

from watchbell.fleet.agent.journal import JobState
from watchbell.process.run import Cause, Ended

ABORTED = "abort"
_SIGNALLED = 128


class Abort(NamedTuple):
    """Why a job is ended."""

    reason: str
    retry_ok: bool
    limit: int | None = None
    """The place of the limit that was reached."""


class Outcome(NamedTuple):
    code: int | float | str
    description: str
    retry_ok: bool = False
    limit: int | None = None


LOST = Outcome(
    ABORTED, "The agent was killed, and what became of the job is not known.", retry_ok=True
)


def outcome(state: JobState, ended: Ended, abort: Abort | None) -> Outcome:
    if abort:
        return Outcome(ABORTED, abort.reason, abort.retry_ok, abort.limit)
    if ended.cause is not Cause.ITSELF:
        reason = f"{ended.cause.value[0].upper()}{ended.cause.value[1:]}."
        return Outcome(ABORTED, reason, retry_ok=True)
    if state.code is not None:
        return Outcome(state.code, state.description)
    if ended.signal is not None:
        described = state.description or f"The process was ended by {_signal_name(ended.signal)}."
        return Outcome(_SIGNALLED + ended.signal, described)
    if ended.code:
        return Outcome(ended.code, state.description or f"Exited with code {ended.code}.")
    return Outcome(0, state.description)


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"


def kill_policy(job: Mapping[str, Any]) -> str:
    policy = job.get("kill")
    return policy if policy in ("none", "parent", "all") else "parent"
