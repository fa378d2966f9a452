"""Builds the results of runs that ended or froze: record, details, event, and the next attempt."""

from typing import NamedTuple

import msgspec

from watchbell.cron import check_reports, fires
from watchbell.cron.fires import Attempt
from watchbell.cron.model import Begun, Detail, Job, Record, encoded


class RunResult(NamedTuple):
    run: str
    job: str
    lock: str
    verdict: str
    record: bytes
    detail: bytes
    score: float
    event: bytes = b""
    stale: str = ""
    """Only a run without a heartbeat since then is ended; empty to end it in any case."""
    retry: bytes = b""
    """The next attempt, a `Fire` as JSON; empty if none follows."""
    instance: str = ""
    retry_at: float = 0.0
    is_kept: bool = False
    """Whether the job is in the store; others were only announced on the channel."""

    @property
    def size(self) -> int:
        return len(self.record) + len(self.detail) + len(self.event)


class End(NamedTuple):
    """How a run ended, as its instance saw it."""

    at: float
    retcode: int | None
    """None if no process was started, or nobody knows how it ended."""
    reason: str
    """Why it ended; empty if by itself."""
    output: str
    """Its last lines."""
    lock: str
    is_cancelled: bool
    output_bytes: int = 0
    cpu: float = 0
    memory: int = 0
    leftovers: tuple[str, ...] = ()


def ended(
    begun: Begun, job: Job | None, end: End, *, instance: str, host: str, upstream: bool
) -> RunResult:
    """`job` is the job as it is now, None if it can't run any more."""
    fire, succeeded = begun.fire, end.retcode == 0 and not end.reason
    record = Record(
        job_name=fire.job,
        start_time=begun.start,
        host=host,
        status="success" if succeeded else "fail",
        retcode=end.retcode,
        output=end.output,
        duration=_duration(begun.start, end.at),
    )
    attempt, attempts = fire.attempt or 1, fire.attempts or 1
    words = fires.described(attempt, attempts)
    is_reported = job is not None and job.options.alert
    retry = fires.following(
        job, fire, instance, end.at, succeeded=succeeded, cancelled=end.is_cancelled
    )
    detail = Detail(
        job=fire.job,
        fire=fire.fire,
        why=fire.why,
        attempt=attempt,
        attempts=attempts,
        retry_at=_retry_at(retry),
        lock=end.lock,
        instance=instance,
        reason=end.reason,
        cpu=end.cpu,
        memory=end.memory,
        output_bytes=end.output_bytes,
        leftovers=end.leftovers,
    )
    return RunResult(
        run=begun.run,
        job=fire.job,
        lock=end.lock,
        verdict=record.status,
        record=encoded(record, upstream=upstream),
        detail=msgspec.json.encode(detail),
        score=end.at,
        event=check_reports.ended(record, end.reason, end.at, words) if is_reported else b"",
        retry=retry.fire if retry else b"",
        instance=instance,
        retry_at=retry.at if retry else 0.0,
        is_kept=fire.is_kept,
    )


def frozen(
    run: str,
    known: tuple[Record, Detail],
    job: Job | None,
    output: str,
    now: float,
    stale: float,
    *,
    upstream: bool,
) -> RunResult:
    """The result of a run without a heartbeat since `stale`; `known` is what is stored of it."""
    record, detail = known
    reason = f"frozen: no heartbeat from {record.host}"
    record = msgspec.structs.replace(
        record, status="frozen", duration=_duration(record.start_time, now), output=output
    )
    is_reported = job is None or job.options.alert
    words = fires.described(detail.attempt, detail.attempts)
    # A job without a lock is retried only on the instance where it failed, which is gone.
    failed = fires.fire_from(record.job_name, detail)
    retry = fires.following(job, failed, "", now) if job and job.lock else None
    detail = msgspec.structs.replace(detail, reason=reason, retry_at=_retry_at(retry))
    return RunResult(
        run=run,
        job=record.job_name,
        lock=detail.lock,
        verdict="fail",
        record=encoded(record, upstream=upstream),
        detail=msgspec.json.encode(detail),
        score=now,
        event=check_reports.ended(record, reason, now, words) if is_reported else b"",
        stale=f"{stale:.6f}",
        retry=retry.fire if retry else b"",
        retry_at=retry.at if retry else 0.0,
        is_kept=detail.is_kept,
    )


def _duration(start: float, end: float) -> float:
    return round(max(end - start, 0), 6)


def _retry_at(retry: Attempt | None) -> float:
    return round(retry.at, 3) if retry else 0
