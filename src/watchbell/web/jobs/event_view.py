"""Events as the API shows them."""

from collections.abc import Iterable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from watchbell.jobs import left_out_runs, parameters, preview, timetable, workflow_params
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.claims import LeftOut
from watchbell.jobs.event_overview import Overview
from watchbell.jobs.model import Event, EventState
from watchbell.jobs.timetable import Timetable
from watchbell.web.jobs.event_shapes import (
    EventCounts,
    EventRow,
    LastJob,
    LeftOutShown,
    RecentJob,
    Statistics,
    Upcoming,
)

_NEXT = 3
UPCOMING = 10


def rows(events: Iterable[Event], seen: Overview, timezone: str, now: float) -> list[EventRow]:
    return [row(event, seen, timezone, now) for event in events]


def row(event: Event, seen: Overview, timezone: str, now: float) -> EventRow:
    state, times = seen.state(event.id), timetable.of(event.timings, timezone)
    counted = seen.matches.get(event.id, 0)
    following = upcoming(times, timezone, now, counted=counted, most=_NEXT)
    return EventRow(
        id=event.id,
        title=event.title,
        icon=event.icon,
        enabled=event.enabled,
        status=seen.status(event),
        category=event.category,
        plugin=event.plugin,
        targets=event.targets,
        algo=event.algo,
        tags=event.tags,
        words=times.describes(),
        next=[one.at for one in following] if event.enabled else [],
        running=seen.running.get(event.id, 0),
        queued=seen.waiting.get(event.id, 0),
        last=_last(state),
        recent=[RecentJob(*one[:2], failed=bool(one[2])) for one in state.recent],
        modified=event.modified,
        username=event.username,
    )


def spoiled(id: str, problem: str) -> EventRow:  # noqa: A002
    """An event that another program has spoiled."""
    return EventRow(
        id=id,
        title=id,
        enabled=False,
        status="invalid",
        category="",
        plugin="",
        targets=(),
        algo="",
        tags=(),
        words="",
        next=[],
        problem=problem,
    )


def counts(events: Sequence[Event], catalogue: Catalogue, seen: Overview) -> EventCounts:
    invalid = sum(kind == "event" for kind, _ in catalogue.invalid)
    enabled = sum(event.enabled for event in events)
    return EventCounts(
        all=len(events) + invalid,
        enabled=enabled,
        disabled=len(events) - enabled,
        failing=sum(seen.is_failing(event.id) for event in events),
        running=sum(event.id in seen.running for event in events),
        invalid=invalid,
    )


def _last(state: EventState) -> LastJob | None:
    if not state.last_job:
        return None
    return LastJob(
        id=state.last_job,
        code=state.last_code,
        completed=state.last_completed,
        elapsed=state.last_elapsed,
    )


def statistics(state: EventState) -> Statistics:
    count = state.total_count
    mean = state.total_elapsed / count if count else None
    return Statistics(count=count, mean=mean, failures=state.failures)


def upcoming(
    times: Timetable, timezone: str, now: float, *, counted: int = 0, most: int = UPCOMING
) -> list[Upcoming]:
    """`counted`: how many times an event with the timing `nth` has matched."""
    found = preview.upcoming(times, now, ZoneInfo(timezone), most=most, counted=counted)
    return [Upcoming(one.at, one.local, one.remark) for one in found]


def whole(event: Event, known: Catalogue, *, masked: bool) -> dict[str, Any]:
    """The record with all its properties."""
    fields: dict[str, Any] = msgspec.structs.asdict(event)
    if masked:
        plugin = known.plugins.get(event.plugin)
        if event.workflow is not None:
            fields["workflow"] = workflow_params.masked(event.workflow, known)
        fields["params"] = parameters.masked(plugin, event.params)
        fields["actions"] = parameters.masked_actions(event.actions)
        fields["timings"] = [
            msgspec.structs.replace(one, params=parameters.masked(plugin, one.params))
            for one in event.timings
        ]
    return fields


def left_out(found: LeftOut | None) -> LeftOutShown | None:
    if found is None:
        return None
    words = left_out_runs.words(found)
    return LeftOutShown(at=found.at, first=found.first, last=found.last, words=words)
