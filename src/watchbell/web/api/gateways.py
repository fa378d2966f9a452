"""Gateways: how each medium fares, what it gave up, and trying it out."""

import re
from typing import Annotated, Literal

from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter

from watchbell import logs
from watchbell.errors import DeliveryFailed
from watchbell.gateways import catalogue, failures, overview, trials
from watchbell.gateways.catalogue import Configured
from watchbell.gateways.failures import Listed
from watchbell.gateways.overview import Fare
from watchbell.gateways.words import PARTS
from watchbell.web.access import needs
from watchbell.web.api.gateways_shapes import (
    Again,
    FailureShown,
    GatewaySetting,
    GatewayShown,
    MessagePreview,
    Retried,
    RetriedShown,
    TestAnswer,
    Tested,
)
from watchbell.web.desk import Asked, desk_of, identity_of, noted, spend
from watchbell.web.limits import Limit as Frequency
from watchbell.web.listing import Limit, Page
from watchbell.web.problems import Trouble

TESTS = Frequency("gateway tests by", 20, 60)
_PLACE = re.compile("([0-9]{1,13}) (.{1,200})", re.DOTALL)

Medium = Annotated[str, QueryParameter(max_length=100, description="A medium of the settings.")]
Place = Annotated[str, QueryParameter(max_length=220, description="`next` of the page before.")]
Kind = Annotated[
    Literal["problem", "recovery", "acknowledgement", "test", "rollup_problem", "rollup_recovery"],
    QueryParameter(description="What the sample alert is about."),
]


@get("/gateways", opt=needs("read"))
async def gateways(request: Asked) -> list[GatewayShown]:
    """The media of this server's settings, and how each fares."""
    desk = desk_of(request)
    media = catalogue.configured(desk.settings)
    fares = await overview.fares(desk.store, [one.name for one in media])
    now, all_of_it = desk.clock.now(), identity_of(request).may("admin")
    return [
        _shown(one, fare, now, _settings(one) if all_of_it else [])
        for one, fare in zip(media, fares, strict=True)
    ]


def _settings(one: Configured) -> list[GatewaySetting]:
    return [GatewaySetting(name, value) for name, value in one.shown() if name in one.given]


def _shown(one: Configured, fare: Fare, now: float, settings: list[GatewaySetting]) -> GatewayShown:
    health = overview.health(fare, now)
    return GatewayShown(
        name=one.name,
        kind=one.kind,
        is_alive=fare.is_alive(now),
        health=health.level,
        words=health.words,
        state=fare.state,
        seen=fare.seen or None,
        queued=fare.queued,
        on_its_way=fare.on_its_way,
        delivered=fare.delivered,
        given_up=fare.given_up,
        failed=fare.failed,
        last_success=fare.last_success,
        last_answer=fare.last_answer,
        last_failure=fare.last_failure,
        last_error=fare.last_error,
        settings=settings,
    )


@get("/gateways/failed", opt=needs("read"))
async def failed(
    request: Asked, medium: Medium, cursor: Place = "", limit: Limit = 50
) -> Page[FailureShown]:
    """Alerts that a medium gave up, the newest first, with the reason."""
    desk = desk_of(request)
    one = trials.configured(desk.settings, medium)
    place = _PLACE.fullmatch(cursor)
    if cursor and place is None:
        raise Trouble(400, "cursor: expected `next` of the page before", field="cursor")
    time, name = (int(place[1]), place[2]) if place else (0, "")
    found = await failures.page(desk.store, one.name, limit + 1, name, time)
    last = found[limit - 1] if len(found) > limit else None
    shown = [_failure(each) for each in found[:limit]]
    return Page(shown, f"{last.given_up} {last.id}" if last else None)


def _failure(one: Listed) -> FailureShown:
    failure = one.failure
    return FailureShown(
        id=one.id,
        given_up=one.given_up,
        since=failure.since,
        check=failure.check,
        state=failure.state,
        address=failure.address,
        tries=failure.tries,
        error=failure.error,
        raw=failure.raw,
    )


@post("/gateways/retry", status_code=200, opt=needs("operate"))
async def retry(request: Asked, data: JSONBody[Retried]) -> RetriedShown:
    """Send alerts again that were given up: those of the ids, or all."""
    desk = desk_of(request)
    if bool(data.ids) == data.all:
        raise Trouble(422, "ids: name the alerts, or say all", field="ids")
    medium = trials.configured(desk.settings, data.medium).name
    if data.all:
        count, answered = await failures.retry_all(desk.store, medium, desk.now()), list[Again]()
    else:
        items = await failures.named(desk.store, medium, data.ids)
        known = {one.alert.id for one in items}
        count = await failures.retry(desk.store, medium, items, desk.now())
        answered = [Again(one, "again" if one in known else "unknown") for one in data.ids]
    await noted(request, "gateway.retry", medium, f"{count:,} alerts")
    return RetriedShown(count, answered)


@post("/gateways/test", status_code=200, opt=needs("admin"))
async def send_test(request: Asked, data: JSONBody[Tested]) -> TestAnswer:
    """Send a real test message to an address, and tell what the server answered."""
    desk = desk_of(request)
    one = trials.configured(desk.settings, data.medium)
    await spend(request, TESTS, identity_of(request).name)
    log = logs.get(role="web", medium=one.name)
    try:
        answer = await trials.send_test(desk.settings, one, data.address, log.warning)
    except DeliveryFailed as error:
        await noted(request, "gateway.test", one.name, f"{data.address}: {error}")
        raise Trouble(422, f"the message was not taken: {error}", field="address") from None
    await noted(request, "gateway.test", one.name, f"{data.address}: {answer}")
    return TestAnswer(answer)


@get("/gateways/preview", opt=needs("read"))
async def preview(request: Asked, medium: Medium, kind: Kind = "problem") -> MessagePreview:
    """What a medium would say of a sample alert, part by part, and where each text comes from."""
    settings = desk_of(request).settings
    parts = trials.rendered(settings, medium, kind, PARTS)
    return MessagePreview(medium, kind, parts)


ROUTES = Router(
    "/", tags=["Gateways"], route_handlers=[gateways, failed, retry, send_test, preview]
)
