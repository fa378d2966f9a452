"""Endpoints for alerts: recipients, media, times and replies of the receiving servers."""

from collections.abc import Iterable
from typing import Annotated

from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter

from watchbell.alerting import contacts
from watchbell.alerting.model import LARGEST, NotificationType, split_id
from watchbell.errors import NotFound
from watchbell.gateways import alert_log
from watchbell.gateways.alert_log import AlertFilter, Outcome, Place
from watchbell.web.access import needs
from watchbell.web.alerting.alert_shapes import AlertRow, AlertView, RetriedAlert, RetryBody
from watchbell.web.alerting.intake.routes import post_alerts_v1
from watchbell.web.listing import Cursor, Limit, Page
from watchbell.web.problems import HttpProblem, wrong_cursor
from watchbell.web.services import Asked, audited, services_of

Id = Annotated[str, QueryParameter(min_length=1, max_length=200, description="An alert's id.")]
To = Annotated[str, QueryParameter(max_length=500, description="Only alerts to this contact.")]
By = Annotated[str, QueryParameter(max_length=64, description="Only alerts by this medium.")]
About = Annotated[
    str, QueryParameter(max_length=1_001, description="Only alerts about this `ENTITY:CHECK`.")
]
Kind = Annotated[NotificationType | None, QueryParameter(description="Only alerts of this kind.")]
Became = Annotated[Outcome | None, QueryParameter(description="Only alerts with this outcome.")]
Since = Annotated[
    int | None,
    QueryParameter(
        name="from", ge=0, le=LARGEST, description="Only alerts created at this time or later."
    ),
]
Until = Annotated[
    int | None,
    QueryParameter(
        name="to", ge=0, le=LARGEST, description="Only alerts created at this time or earlier."
    ),
]


@get("/alerts", opt=needs("read"))
async def all_alerts(
    request: Asked,
    contact: To = "",
    medium: By = "",
    check: About = "",
    kind: Kind = None,
    outcome: Became = None,
    start: Since = None,
    end: Until = None,
    cursor: Cursor = "",
    limit: Limit = 100,
) -> Page[AlertRow]:
    """List alerts, newest first.

    Each has its outcome. A page can have fewer items than the limit, or none; there may be more
    as long as `next` is set.
    """
    wanted = AlertFilter(
        contact=contact,
        medium=medium,
        check=_check(check),
        kind=kind or "",
        outcome=outcome or "",
        start=start,
        end=end,
    )
    store = services_of(request).store
    found, place = await alert_log.find(store, wanted, _place(cursor), limit)
    names = await _names(request, (one.contact for one in found))
    listed = [AlertRow(sent=one, contact_name=names.get(one.contact, "")) for one in found]
    return Page(listed, f"{place.time}:{place.id}" if place else None)


def _check(given: str) -> str:
    """The check with its entity in lower case, as it is stored."""
    if not given:
        return ""
    entity, check = split_id(given)
    if not check:
        raise HttpProblem(
            422, f"{given[:80]!r} is not a check; expected ENTITY:CHECK", field="check"
        )
    return f"{entity.lower()}:{check}"


def _place(cursor: str) -> Place | None:
    if not cursor:
        return None
    time, colon, name = cursor.partition(":")
    if not (colon and name and time.isascii() and time.isdigit() and len(time) < 16):
        raise wrong_cursor()
    return Place(name, int(time))


async def _names(request: Asked, ids: Iterable[str]) -> dict[str, str]:
    found = await contacts.load(services_of(request).store, ids)
    return {one.id: f"{one.first_name} {one.last_name}".strip() for one in found.values()}


@get("/alert", opt=needs("read"))
async def one_alert(request: Asked, id: Id) -> AlertView:  # noqa: A002
    """Get an alert.

    It has the text, the delivery and the reply of the receiving server.
    """
    message = await alert_log.one(services_of(request).store, id)
    names = await _names(request, [message.sent.contact])
    return AlertView(message=message, contact_name=names.get(message.sent.contact, ""))


@post("/alerts/retry", status_code=200, opt=needs("operate"))
async def retry_alerts(request: Asked, data: JSONBody[RetryBody]) -> list[RetriedAlert]:
    """Retry failed alerts.

    Each alert gets a result of its own.
    """
    services = services_of(request)
    answers = []
    for name in dict.fromkeys(data.ids):
        try:
            alert = await alert_log.retry(services.store, name, services.clock.now())
        except NotFound as error:
            answers.append(RetriedAlert(id=name, status="refused", reason=str(error)))
            continue
        answers.append(RetriedAlert(id=name, status="again"))
        await audited(request, "alert.retry", name, f"{alert.contact_id} by {alert.media}")
    return answers


ROUTES = Router(
    "/", tags=["Alerts"], route_handlers=[all_alerts, one_alert, retry_alerts, post_alerts_v1]
)
