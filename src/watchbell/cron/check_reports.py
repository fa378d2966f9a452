"""Check events about jobs: a run ended, was missed, or is late."""

from watchbell.alerting.event import encode
from watchbell.alerting.model import CheckEvent, State
from watchbell.cron.model import Record

ENTITY = "cron"


def ended(record: Record, reason: str, now: float, attempt: str = "") -> bytes:
    """`reason` says why a run did not end by itself, `attempt` which of several it was."""
    duration = f"{record.duration or 0:.1f} s on {record.host}"
    if attempt:
        duration += f", {attempt}"
    if record.status == "success":
        summary = f"done in {duration}"
    else:
        summary = f"{reason or _code(record.retcode)}, after {duration}"
    state: State = "ok" if record.status == "success" else "critical"
    return _event(record.job_name, state, summary, record.output or "", now)


def _code(retcode: int | None) -> str:
    return f"exit code {retcode}" if retcode is None or retcode >= 0 else f"signal {-retcode}"


def missed(job: str, reason: str, words: str, now: float) -> bytes:
    return _event(job, "critical", f"{reason} ({words})", "", now)


def late(job: str, reason: str, now: float, *, is_failing: bool) -> bytes:
    """The event of an overdue job: a warning, or critical if its last run failed."""
    return _event(job, "critical" if is_failing else "warning", reason, "", now)


def _event(job: str, state: State, summary: str, details: str, now: float) -> bytes:
    return encode(
        CheckEvent(
            type="service",
            state=state,
            entity=ENTITY,
            check=job,
            time=int(now),
            summary=summary,
            details=details.strip() or None,
            initial_failure_delay=0,  # the next run may be a day away
        )
    )
