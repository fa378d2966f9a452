"""Endpoints for rejected events: what was pushed, why it is no check event, and its bytes."""

import base64
from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from watchbell.alerting import event, hours, rejected
from watchbell.alerting.model import Rejection
from watchbell.alerting.rejected import Found
from watchbell.errors import NotFound
from watchbell.web.access import needs
from watchbell.web.alerting.rejected_shapes import (
    Reason,
    RejectedCounts,
    RejectedDetails,
    RejectedHour,
    RejectedView,
)
from watchbell.web.listing import Cursor, Page
from watchbell.web.problems import wrong_cursor
from watchbell.web.services import Asked, services_of

MOST_BYTES = 256 << 10
"""The most bytes of one event that are returned."""
COUNTED = 5_000
"""The number of newest events whose reasons are counted."""
_REASONS = 50

Few = Annotated[int, QueryParameter(ge=1, le=200, description="The maximum number of items.")]
Id = Annotated[str, QueryParameter(max_length=30, description="The id of an item of the list.")]


@get("/rejected", opt=needs("read"))
async def rejected_events(
    request: Asked, cursor: Cursor = "", limit: Few = 50
) -> Page[RejectedView]:
    """List rejected events, newest first.

    These were pushed to the queue and are no check events.
    """
    services = services_of(request)
    after = rejected.place(cursor) if cursor else None
    if cursor and after is None:
        raise wrong_cursor()
    counts = await rejected.hours(
        services.store, services.settings.alerting.rejected_days, services.now()
    )
    found = await rejected.newest(services.store, counts, limit + 1, after)
    views = [_view(one) for one in found[:limit]]
    return Page(views, views[-1].id if len(found) > limit else None)


def _view(one: Found) -> RejectedView:
    return RejectedView(
        id=one.place.id,
        time=one.rejected.time,
        reason=one.rejected.reason,
        size=one.size,
        text=escaped(one.rejected.event),
    )


def escaped(text: str) -> str:
    """The text with its line breaks, and all other invisible characters as escapes."""
    return "".join(
        one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode()
        for one in text
    )


@get("/rejected/event", opt=needs("read"))
async def rejected_event(request: Asked, id: Id) -> RejectedDetails:  # noqa: A002
    """Get a rejected event.

    The answer has its bytes, and why it would be rejected now.
    """
    services = services_of(request)
    where = rejected.place(id)
    found = await rejected.one(services.store, where, MOST_BYTES) if where else None
    if found is None:
        raise NotFound("there is no such rejected event; they are kept for a while only")
    one, raw = found
    kept = raw if one.size is not None else one.rejected.event.encode()
    is_whole = one.size is not None and one.size <= MOST_BYTES
    return RejectedDetails(
        id=id,
        time=one.rejected.time,
        reason=one.rejected.reason,
        size=one.size,
        bytes=base64.b64encode(kept).decode(),
        is_whole=is_whole,
        reason_now=_judged(kept, services.now()) if is_whole else one.rejected.reason,
    )


def _judged(raw: bytes, now: int) -> str:
    judged = event.parse(raw, now)
    return judged.reason if isinstance(judged, Rejection) else ""


@get("/rejected/counts", opt=needs("read"))
async def rejected_counts(request: Asked) -> RejectedCounts:
    """Count rejected events by hour and by reason."""
    services = services_of(request)
    now, days = services.now(), services.settings.alerting.rejected_days
    counts = await rejected.hours(services.store, days, now)
    reasons = await rejected.reasons(services.store, counts, COUNTED)
    return RejectedCounts(
        total=sum(counts.values()),
        hours=[RejectedHour(hours.start_of(hour), n) for hour, n in counts.items()],
        reasons=[Reason(reason, n) for reason, n in reasons.most_common(_REASONS)],
        counted=reasons.total(),
    )


ROUTES = Router(
    "/", tags=["Rejected"], route_handlers=[rejected_events, rejected_event, rejected_counts]
)
