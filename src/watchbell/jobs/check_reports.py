"""Check events about jobs and servers: `jobs:EVENT` and `servers:HOST`. Pure.

A script that writes what they report pushes them itself, by `alerting.bounded_reports.REPORT`.
"""

from typing import NamedTuple

from watchbell.alerting.event import encode
from watchbell.alerting.model import CheckEvent, State
from watchbell.jobs import outcomes
from watchbell.jobs.model import Job

JOBS, SERVERS = "jobs", "servers"
"""The entities."""
_MOST_LOG = 4_000
"""Characters of the end of a log that an event includes."""


class CheckReport(NamedTuple):
    check: str
    """`ENTITY:CHECK`."""
    event: bytes


def job_ended(
    job: Job, *, title: str, host: str, link: str, log_end: str = ""
) -> CheckReport | None:
    """None for a job that is retried, since the last attempt reports, and for a test."""
    if job.retried or job.test:
        return None
    where = f" on {host}" if host else ""
    spent = f"{outcomes.seconds(job.elapsed)}{where}"
    if job.retry_count:
        spent += f", attempt {job.retry_count + 1}"
    state, words = outcomes.check_state(job), outcomes.phrase(job)
    summary = f"{title}: {words} {'in' if state == 'ok' and words == 'done' else 'after'} {spent}"
    parts = [link, job.notes, log_end[-_MOST_LOG:] if state != "ok" else ""]
    details = "\n\n".join(part.strip() for part in parts if part.strip())
    return _report(JOBS, job.event, state, summary, job.completed, details)


def event_removed(event: str, title: str, now: float) -> CheckReport:
    """So that the check of a failing event does not fail for ever."""
    return _report(JOBS, event, "ok", f"{title}: the event was deleted", now)


def server_down(host: str, silent: float, now: float) -> CheckReport:
    """`silent`: seconds since the last sign of life."""
    summary = f"no sign of life from the agent for {outcomes.seconds(silent)}"
    return _report(SERVERS, host, "critical", summary, now)


def server_up(host: str, away: float | None, now: float) -> CheckReport:
    """`away`: seconds for which it was down; None where it was not."""
    summary = "the agent is connected" + (
        "" if away is None else f" again, after {outcomes.seconds(away)}"
    )
    return _report(SERVERS, host, "ok", summary, now)


def server_removed(host: str, reason: str, now: float) -> CheckReport:
    return _report(SERVERS, host, "ok", reason, now)


def _report(
    entity: str, check: str, state: State, summary: str, now: float, details: str = ""
) -> CheckReport:
    event = CheckEvent(
        type="service",
        state=state,
        entity=entity,
        check=check,
        time=int(now),
        summary=summary,
        details=details or None,
        initial_failure_delay=0,  # the next job may be a day away
    )
    return CheckReport(f"{entity}:{check}", encode(event))
