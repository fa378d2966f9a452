"""One check as the API shows it: as it is now, and over a range of time."""

from collections.abc import Iterable

from watchbell.alerting import check_settings, history, maintenance, records, reports, timeline
from watchbell.alerting.calendar import Alike
from watchbell.alerting.event import ephemeral_tags
from watchbell.alerting.history import Status
from watchbell.alerting.model import short_id, split_id
from watchbell.alerting.reports import Change
from watchbell.alerting.windows import Kind, Window
from watchbell.errors import NotFound
from watchbell.settings import Alerting as Settings
from watchbell.store.client import Store
from watchbell.web.alerting.check_shapes import (
    Acknowledged,
    ChangeView,
    CheckView,
    DelayView,
    Measurement,
    TimelineView,
    WindowView,
)

KINDS: tuple[Kind, ...] = ("scheduled", "unscheduled")
MOST_WINDOWS = 500
"""The latest of each kind that a timeline shows."""


def unknown(event_id: str) -> NotFound:
    return NotFound(f"no check {event_id[:200]!r} has reported yet; expected ENTITY:CHECK")


async def shown(store: Store, event_id: str, settings: Settings, now: int) -> CheckView:
    """Raises NotFound for a check that never reported and has no maintenance."""
    status = next(iter(await history.check_states(store, [event_id], now)), Status(id=event_id))
    planned = [
        _window(window, kind, now)
        for kind in KINDS
        for window in await maintenance.windows(store, event_id, kind)
        if window.end > now
    ]
    if status.state is None and not planned:
        raise unknown(event_id)
    own = await check_settings.settings(store, event_id)
    entity, name = split_id(event_id)
    return CheckView(
        check=event_id,
        entity=entity,
        name=name,
        state=status.state,
        enabled=status.enabled,
        summary=status.summary or "",
        details=status.details or "",
        perfdata=_measurements(status.perfdata),
        since=status.last_change,
        last_update=status.last_update,
        silent_at=await records.promised(store, event_id),
        ttl=own.get("ttl"),
        delays=_delays(status, own, settings),
        tags=sorted(ephemeral_tags(entity, name)),
        event_tags=sorted(await records.event_tags(store, event_id)),
        short_id=short_id(event_id),
        acknowledged=_acknowledged(status),
        maintenance=sorted(planned, key=lambda window: window.start),
        last_notifications=status.last_notifications,
        counts=await records.counts(store, event_id),
    )


def _delays(status: Status, own: dict[str, int], settings: Settings) -> dict[str, DelayView]:
    """Each from the first source that has it, in the processor's order."""
    found = {}
    for name in ("initial_failure_delay", "repeat_failure_delay", "initial_recovery_delay"):
        by_event: int | None = getattr(status, name)
        if by_event is not None:
            found[name] = DelayView(by_event, "event")
        elif name in own:
            found[name] = DelayView(own[name], "check")
        else:
            found[name] = DelayView(getattr(settings, name), "settings")
    return found


def _measurements(perfdata: Iterable[object]) -> list[Measurement]:
    return [
        Measurement(str(item.get("key", "")), str(item.get("value", "")))
        for item in perfdata
        if isinstance(item, dict)
    ]


def _acknowledged(status: Status) -> Acknowledged | None:
    window = status.unscheduled
    if window is None or not status.is_acknowledged:
        return None
    return Acknowledged(window.start, window.end, window.summary)


def _window(window: Window, kind: Kind, now: int) -> WindowView:
    return WindowView(
        id=Alike(kind, window, []).id,
        kind=kind,
        start=window.start,
        end=window.end,
        summary=window.summary,
        is_open=window.is_open(now),
    )


async def changes(
    store: Store, event_id: str, start: int | None, end: int, newer: int | None, limit: int
) -> list[ChangeView]:
    """The latest in [start, end], newest first; `newer` is the time of the change after them."""
    found = await history.state_changes(store, event_id, start, end, limit)
    if newer is None:
        newer = await records.next_change(store, event_id, end)
    views: list[ChangeView] = []
    for change in reversed(found):
        views.append(_change(change, newer))
        newer = change.timestamp
    return views


def _change(change: Change, until: int | None) -> ChangeView:
    return ChangeView(
        timestamp=change.timestamp,
        state=change.state,
        until=until,
        summary=change.summary or "",
        details=change.details or "",
        latency=change.latency,
    )


async def pictured(store: Store, event_id: str, start: int, end: int, now: int) -> TimelineView:
    course = await records.course(store, event_id, start, min(end, now))
    known_from = max(course.changes[0].timestamp, start) if course.changes else None
    windows = {kind: await maintenance.windows(store, event_id, kind) for kind in KINDS}
    since = known_from if known_from is not None else start
    until = max(min(end, now), since)
    outages = reports.outages(course.changes, since, until)
    down = reports.downtime(outages, windows["scheduled"], since, until)
    segments = timeline.segments(course.changes, start, until)
    return TimelineView(
        start=start,
        end=end,
        now=now,
        known_from=known_from,
        is_complete=course.is_complete,
        segments=timeline.thinned(segments),
        maintenance=[
            _window(window, kind, now)
            for kind in KINDS
            for window in reports.in_range(windows[kind], start, end)[-MOST_WINDOWS:]
        ],
        seconds=down.seconds,
        percentages=down.percentages,
        outages=len(outages),
    )
