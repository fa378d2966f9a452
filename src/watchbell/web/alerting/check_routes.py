"""Endpoints for one check: its state and history, decisions about it, and who would be notified."""

from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from watchbell.alerting import explanations, measurements, records, who_is_called
from watchbell.alerting.explanations import Explained
from watchbell.alerting.measurements import Measured
from watchbell.alerting.model import LARGEST, State, split_id
from watchbell.alerting.who_is_called import Callees
from watchbell.web.access import needs
from watchbell.web.alerting import check_view
from watchbell.web.alerting.check_shapes import ChangeView, CheckView, TimelineView
from watchbell.web.listing import Cursor, Limit, Page
from watchbell.web.problems import HttpProblem, wrong_cursor
from watchbell.web.services import Asked, services_of

DAY = 86_400
FARTHEST = 5 * 366 * DAY
"""Seconds ahead for which a notification can be predicted."""

Name = Annotated[
    str, QueryParameter(min_length=1, max_length=2_001, description="A check, `ENTITY:CHECK`.")
]
From = Annotated[
    int | None, QueryParameter(name="from", ge=0, le=LARGEST, description="The start of the range.")
]
To = Annotated[
    int | None, QueryParameter(name="to", ge=0, le=LARGEST, description="The end of the range.")
]
At = Annotated[
    int | None,
    QueryParameter(ge=0, le=LARGEST, description="When the state would change; now by default."),
]
Wanted = Annotated[
    State, QueryParameter(name="state", description="The state that the check would enter.")
]
Tags = Annotated[
    list[str] | None,
    QueryParameter(
        name="tag",
        max_items=50,
        description="Tags of its reports; by default those of the latest one.",
    ),
]


def event_id_of(given: str) -> str:
    """The check's stored name; refuses what can't be one."""
    entity, check = split_id(given)
    if not entity.strip() or not check.strip():
        raise HttpProblem(
            422, f"{given[:200]!r} is not a check; expected ENTITY:CHECK", field="check"
        )
    return f"{entity.lower()}:{check}"


async def _known(request: Asked, given: str) -> str:
    event_id = event_id_of(given)
    if not await records.is_known(services_of(request).store, event_id):
        raise check_view.unknown(event_id)
    return event_id


@get("/check", opt=needs("read"))
async def check(request: Asked, check: Name) -> CheckView:
    """Get a check."""
    services = services_of(request)
    return await check_view.shown(
        services.store, event_id_of(check), services.settings.alerting, services.now()
    )


@get("/check/history", opt=needs("read"))
async def history(
    request: Asked,
    check: Name,
    start: From = None,
    end: To = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> Page[ChangeView]:
    """List state changes of a check within a range, newest first."""
    event_id, services = await _known(request, check), services_of(request)
    newer = _moment(cursor)
    last = LARGEST if end is None else end
    last = last if newer is None else min(last, newer - 1)
    found = await check_view.changes(services.store, event_id, start, last, newer, limit + 1)
    changes = found[:limit]
    return Page(changes, str(changes[-1].timestamp) if len(found) > limit else None)


def _moment(cursor: str) -> int | None:
    if not cursor:
        return None
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 15:
        raise wrong_cursor()
    return int(cursor)


@get("/check/timeline", opt=needs("read"))
async def timeline(request: Asked, check: Name, start: From = None, end: To = None) -> TimelineView:
    """Get the timeline of a check.

    It has states and maintenance within a range, simplified to what a chart can show. By
    default the range is the last day. Percentages are of the time outside scheduled
    maintenance.
    """
    event_id, services = await _known(request, check), services_of(request)
    now = services.now()
    end = now if end is None else end
    start = max(end - DAY, 0) if start is None else start
    if start >= end:
        raise HttpProblem(422, f"{start} is not before the end, {end}", field="from")
    return await check_view.pictured(services.store, event_id, start, end, now)


@get("/check/decisions", opt=needs("read"))
async def decisions(request: Asked, check: Name, limit: Limit = 50) -> list[Explained]:
    """List the latest decisions about notifications of a check, newest first.

    At most 50 are kept.
    """
    event_id, store = await _known(request, check), services_of(request).store
    found = await explanations.decisions(store, event_id, limit)
    sentences = await explanations.rule_sentences(store, found)
    return [explanations.explained(one, sentences) for one in found]


@get("/check/measurements", opt=needs("read"))
async def measured(request: Asked, check: Name) -> Measured:
    """List the latest measurements of a check.

    They come from the `perfdata` of its reports, as far as copies of these are kept.
    """
    event_id, services = await _known(request, check), services_of(request)
    settings = services.settings.alerting
    if not settings.archive:
        return Measured([], is_complete=True)
    return await measurements.measured(
        services.store, event_id, settings.archive_seconds, services.now()
    )


@get("/check/callees", opt=needs("read"))
async def called(
    request: Asked, check: Name, wanted: Wanted = "critical", at: At = None, tags: Tags = None
) -> Callees:
    """Predict who would be notified about a check.

    The check is assumed to enter a state and to stay there. The answer also explains why other
    contacts would not be notified. Nothing is sent or stored.
    """
    event_id, services = event_id_of(check), services_of(request)
    now = services.now()
    at = now if at is None else at
    if not now - DAY <= at <= now + FARTHEST:
        raise HttpProblem(422, f"{at} is not within the next five years", field="at")
    found = [tag for tag in tags or () if tag.strip()] or None
    return await who_is_called.callees(
        services.store, event_id, wanted, services.settings.alerting, at, found
    )


ROUTES = Router(
    "/", tags=["Check"], route_handlers=[check, history, timeline, decisions, measured, called]
)
