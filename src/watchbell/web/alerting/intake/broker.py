"""Endpoints of `/state`: report a state that holds for a while, and list those that hold."""

from typing import Annotated, Any

import msgspec
from litestar import Response, Router, get, post
from litestar.params import QueryParameter
from msgspec import Struct

from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.web.access import needs
from watchbell.web.alerting.intake import httpbroker, items, sns
from watchbell.web.alerting.intake.items import Answer, Item
from watchbell.web.alerting.intake.routes import item_of, plain, sender_of, unfit
from watchbell.web.alerting.intake.sns import Envelope
from watchbell.web.alerting.intake.states import Held
from watchbell.web.alerting.intake.writing import TooMany
from watchbell.web.problems import HttpProblem, too_often
from watchbell.web.services import Asked, services_of

Place = Annotated[
    int,
    QueryParameter(ge=0, le=1 << 62, description="The cursor in the `Link` of the previous page."),
]
Many = Annotated[
    int, QueryParameter(ge=1, le=10_000, description="The approximate number of states.")
]


@post("/state", status_code=202, opt=needs("intake"))
async def post_state(request: Asked) -> Answer:
    """Report a state that holds for a time.

    The body is a check event, an alarm of CloudWatch (plain or by SNS), or an alert of New
    Relic. It holds for `ttl` seconds, 300 by default, or for ever if that is negative.
    Meanwhile a failure counts as reported every ten seconds.
    """
    plain(request)
    try:
        body = msgspec.json.decode(await request.body())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HttpProblem(400, f"not JSON: {error}") from None
    if sns.is_envelope(body):
        return await _by_sns(request, body)
    return await _held(request, httpbroker.event_of(body, services_of(request).now()))


async def _by_sns(request: Asked, body: dict[str, Any]) -> Answer:
    envelope = sns.read(body)
    if isinstance(envelope, Rejection):
        raise unfit(envelope)
    services = services_of(request)
    await services.intake.sns.verify(envelope, body)
    if envelope.kind == "SubscriptionConfirmation":
        return Answer("accepted", await services.intake.sns.confirm(envelope))
    if envelope.kind == "UnsubscribeConfirmation":
        return Answer("accepted", "the subscription has ended")
    return await _held(request, httpbroker.alarm_of(envelope.message, services.now()), envelope)


async def _held(
    request: Asked, found: CheckEvent | Rejection, envelope: Envelope | None = None
) -> Answer:
    if isinstance(found, Rejection):
        raise unfit(found)
    one = item_of(found)
    if isinstance(one, Rejection):
        raise unfit(one)
    sender, services = sender_of(request), services_of(request)
    if envelope is not None:
        one = Item(one.event, items.named(sender, envelope.id))
    try:
        is_new = await services.intake.hold(sender, one, found, services.now())
    except TooMany as error:
        raise too_often(error.seconds) from None
    return Answer("accepted" if is_new else "repeated")


class StateView(Struct, frozen=True, kw_only=True):
    """A state as it was posted."""

    entity: str
    check: str
    state: str
    summary: str
    details: str
    tags: list[str]
    time: int
    """When it was posted."""
    ttl: int
    """Seconds for which it holds from then on; -1 for ever."""


@get("/state", opt=needs("read"))
async def states(
    request: Asked, cursor: Place = 0, limit: Many = 1_000
) -> Response[dict[str, StateView]]:
    """List the states that hold, by `ENTITY:CHECK`.

    If there are more, the header `Link` has the URL of the next page.
    """
    after, found = await services_of(request).intake.states.page(cursor, limit)
    more = f'</state?cursor={after}&limit={limit}>; rel="next"'
    views = {name: _view(held) for name, held in found.items()}
    return Response(views, headers={"Link": more} if after else {})


def _view(held: Held) -> StateView:
    event = held.event
    return StateView(
        entity=event.entity,
        check=event.check,
        state=event.state,
        summary=event.summary or "",
        details=event.details or "",
        tags=list(event.tags),
        time=held.since,
        ttl=-1 if event.ttl is None else event.ttl,
    )


ROUTES = Router("/", tags=["Intake"], route_handlers=[post_state, states])
