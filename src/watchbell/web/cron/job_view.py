"""Cron jobs as the API shows them, with what the reader may not see masked."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from watchbell.cron import history, latest_runs, run_texts
from watchbell.cron.history import RunRecord
from watchbell.cron.job_status import AHEAD, JobStatus
from watchbell.cron.latest_runs import Span
from watchbell.cron.model import DefinitionError, Job, parsed
from watchbell.schedule.dst_notes import remark, zone_of
from watchbell.schedule.firing import Schedule
from watchbell.store.client import Store
from watchbell.web.cron.job_shapes import Ahead, Bucket, CronJobRow, FireShown, LastShown, SpanShown
from watchbell.web.problems import FieldError

SPANS = 20
MASK = "***"
FARTHEST = 200 * 366 * 86_400
"""How far ahead to look for runs."""
_COMMAND = 300
_NEXT = 3
_NAMED = 8
_SLICE = 200


async def rows(
    store: Store, jobs: Sequence[JobStatus], now: float, *, masked: bool
) -> list[CronJobRow]:
    """Reads the parts of a list that the job cache does not have."""
    spans = await latest_runs.spans(store, [one.key for one in jobs], SPANS)
    newest = [found[0].id for found in spans if found]
    lasts = await history.some(store, newest)
    return [
        _row(one, found, lasts.get(found[0].id) if found else None, now, masked=masked)
        for one, found in zip(jobs, spans, strict=True)
    ]


def _row(
    one: JobStatus, spans: Sequence[Span], last: RunRecord | None, now: float, *, masked: bool
) -> CronJobRow:
    job, verdict = one.job, one.verdict()
    zone = zone_of(job.schedule) if job else None
    return CronJobRow(
        name=one.name,
        state=verdict.state,
        command=job.cmd[:_COMMAND] if job else "",
        words=job.schedule.describes() if job else "",
        zone=zone.key if zone else "",
        next=list(islice(one.ahead(now, least=_NEXT), _NEXT)),
        is_paused=one.is_paused,
        is_failing=one.is_failing,
        problems=problems(one.errors, masked=masked),
        running=list(one.running),
        last=_last(spans[0], last) if spans else None,
        spans=[SpanShown(span.id, span.status, span.ended, span.duration) for span in spans],
    )


def _last(span: Span, seen: RunRecord | None) -> LastShown:
    words = run_texts.ending(seen.record, seen.detail) if seen else ""
    return LastShown(
        id=span.id, status=span.status, ended=span.ended, duration=span.duration, words=words
    )


def problems(errors: Iterable[DefinitionError], *, masked: bool) -> list[FieldError]:
    """Hides rejected values, because they may be secrets from the environment."""
    return [
        FieldError(
            one.field,
            one.reason_without_value
            if masked and one.field.startswith("watchbell")
            else one.reason,
        )
        for one in errors
    ]


def definition(raw: bytes, *, masked: bool) -> Any:
    """The stored definition without its errors, which are shown elsewhere."""
    value: Any = parsed(raw, object)
    if not isinstance(value, dict):
        return None if masked else value
    state, options = value.get("job_state"), value.get("watchbell")
    if isinstance(state, dict):
        state.pop("validation_errors", None)
    if masked and options is not None:
        value["watchbell"] = _masked(options)
    return value


def _masked(options: Any) -> Any:
    if not isinstance(options, dict):
        return MASK
    known = options.get("environment")
    if known is None:
        return options
    hidden = dict.fromkeys(known, MASK) if isinstance(known, dict) else MASK
    return {**options, "environment": hidden}


def fires(schedule: Schedule, now: float, most: int) -> list[FireShown]:
    zone = zone_of(schedule)
    found = islice(schedule.fires_between(now, now + FARTHEST), most)
    shown = [(fire, datetime.fromtimestamp(fire, zone) if zone else None) for fire in found]
    return [
        FireShown(fire, f"{at:%a %Y-%m-%d %H:%M:%S %Z}" if at else "", remark(schedule, fire))
        for fire, at in shown
    ]


def zone_name(job: Job) -> str:
    zone = zone_of(job.schedule)
    return zone.key if zone else ""


async def ahead(jobs: Sequence[JobStatus], now: int, seconds: int, buckets: int) -> Ahead:
    """Counts the runs within `buckets` times `seconds` from now. Buckets begin at multiples of
    their length, so there is one more: the first has begun already, and the last is cut off. Other
    requests get their turn after each slice of the jobs."""
    since = now - now % seconds
    last = now + seconds * buckets
    counts: dict[int, int] = defaultdict(int)
    names: dict[int, list[str]] = defaultdict(list)
    frequent = 0
    for i, one in enumerate(jobs):
        if i % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)
        found = [fire for fire in one.ahead(now, until=last) if fire <= last]
        if len(found) >= AHEAD:
            frequent += 1
            continue
        for fire in found:
            place = (fire - since) // seconds
            counts[place] += 1
            if len(names[place]) < _NAMED and one.name not in names[place]:
                names[place].append(one.name)
    shown = [Bucket(since + n * seconds, counts[n], names[n]) for n in sorted(counts)]
    until = since + seconds * (buckets + 1)
    return Ahead(since=since, until=until, seconds=seconds, buckets=shown, frequent=frequent)
