"""Endpoints for gateways: the status of each medium, failed alerts, and test messages."""

import asyncio
import re
from typing import Annotated, Literal

from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter

from watchbell import logs
from watchbell.actors import may
from watchbell.errors import DeliveryFailed
from watchbell.gateways import catalogue, failures, overview, test_send
from watchbell.gateways.catalogue import Configured
from watchbell.gateways.failures import Listed
from watchbell.gateways.message_texts import PARTS
from watchbell.gateways.overview import MediumStatus
from watchbell.web.access import needs
from watchbell.web.limits import Limit as Frequency
from watchbell.web.listing import Limit, Page
from watchbell.web.problems import HttpProblem, wrong_cursor
from watchbell.web.services import Asked, actor_of, audited, services_of, spend
from watchbell.web.system.gateway_shapes import (
    FailedAlert,
    GatewaySetting,
    GatewayView,
    MessagePreview,
    RetryRequest,
    RetryResult,
    RetryResults,
    TestAnswer,
    TestRequest,
)

TESTS = Frequency("gateway tests by", 20, 60)
_PLACE = re.compile("([0-9]{1,13}) (.{1,200})", re.DOTALL)

Medium = Annotated[str, QueryParameter(max_length=100, description="A configured medium.")]
Place = Annotated[str, QueryParameter(max_length=220, description="`next` of the previous page.")]
Kind = Annotated[
    Literal["problem", "recovery", "acknowledgement", "test", "rollup_problem", "rollup_recovery"],
    QueryParameter(description="What the sample alert is about."),
]


@get("/gateways", opt=needs("read"))
async def gateways(request: Asked) -> list[GatewayView]:
    """List the configured media with their status."""
    services = services_of(request)
    media = catalogue.configured(services.settings)
    statuses = await overview.statuses(services.store, [one.name for one in media])
    now, all_of_it = services.clock.now(), bool(may(actor_of(request), "admin"))
    return [
        _view(one, medium_status, now, _settings(one) if all_of_it else [])
        for one, medium_status in zip(media, statuses, strict=True)
    ]


def _settings(one: Configured) -> list[GatewaySetting]:
    return [GatewaySetting(name, value) for name, value in one.shown() if name in one.given]


def _view(
    one: Configured, medium_status: MediumStatus, now: float, settings: list[GatewaySetting]
) -> GatewayView:
    health = overview.health(medium_status, now)
    return GatewayView(
        name=one.name,
        kind=one.kind,
        is_alive=medium_status.is_alive(now),
        health=health.level,
        words=health.words,
        state=medium_status.state,
        seen=medium_status.seen or None,
        queued=medium_status.queued,
        on_its_way=medium_status.on_its_way,
        delivered=medium_status.delivered,
        given_up=medium_status.given_up,
        failed=medium_status.failed,
        last_success=medium_status.last_success,
        last_answer=medium_status.last_answer,
        last_failure=medium_status.last_failure,
        last_error=medium_status.last_error,
        settings=settings,
    )


@get("/gateways/failed", opt=needs("read"))
async def failed(
    request: Asked, medium: Medium, cursor: Place = "", limit: Limit = 50
) -> Page[FailedAlert]:
    """List failed alerts of a medium, newest first.

    These are the alerts that were given up, each with the reason.
    """
    services = services_of(request)
    one = test_send.configured(services.settings, medium)
    place = _PLACE.fullmatch(cursor)
    if cursor and place is None:
        raise wrong_cursor()
    time, name = (int(place[1]), place[2]) if place else (0, "")
    found = await failures.page(services.store, one.name, limit + 1, name, time)
    last = found[limit - 1] if len(found) > limit else None
    views = [_failure(each) for each in found[:limit]]
    return Page(views, f"{last.given_up} {last.id}" if last else None)


def _failure(one: Listed) -> FailedAlert:
    failure = one.failure
    return FailedAlert(
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
async def retry(request: Asked, data: JSONBody[RetryRequest]) -> RetryResults:
    """Retry failed alerts of a medium.

    Name them by their ids, or set `all`.
    """
    services = services_of(request)
    if bool(data.ids) == data.all:
        raise HttpProblem(422, "give either ids or all", field="ids")
    medium = test_send.configured(services.settings, data.medium).name
    if data.all:
        count, answered = (
            await failures.retry_all(services.store, medium, services.now()),
            list[RetryResult](),
        )
    else:
        items = await failures.named(services.store, medium, data.ids)
        known = {one.id for one in items}
        count = await failures.retry(services.store, medium, items, services.now())
        answered = [RetryResult(one, "again" if one in known else "unknown") for one in data.ids]
    await audited(request, "gateway.retry", medium, f"{count:,} alerts")
    return RetryResults(count, answered)


@post("/gateways/test", status_code=200, opt=needs("admin"))
async def send_test(request: Asked, data: JSONBody[TestRequest]) -> TestAnswer:
    """Send a test message to an address.

    The answer has the reply of the receiving server.
    """
    services = services_of(request)
    one = test_send.configured(services.settings, data.medium)
    await spend(request, TESTS, actor_of(request).name)
    log = logs.get(role="web", medium=one.name)
    try:
        answer = await test_send.send_test(services.settings, one, data.address, log.warning)
    except DeliveryFailed as error:
        await audited(request, "gateway.test", one.name, f"{data.address}: {error}")
        raise HttpProblem(422, f"the message was not accepted: {error}", field="address") from None
    await audited(request, "gateway.test", one.name, f"{data.address}: {answer}")
    return TestAnswer(answer)


@get("/gateways/preview", opt=needs("read"))
async def preview(request: Asked, medium: Medium, kind: Kind = "problem") -> MessagePreview:
    """Preview the message that a medium sends for a sample alert.

    Each part comes with the source of its text.
    """
    settings = services_of(request).settings
    parts = await asyncio.to_thread(test_send.rendered, settings, medium, kind, PARTS)
    return MessagePreview(medium, kind, parts)


ROUTES = Router(
    "/", tags=["Gateways"], route_handlers=[gateways, failed, retry, send_test, preview]
)
