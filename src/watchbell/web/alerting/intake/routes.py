"""Endpoints by which other programs report check events."""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

from litestar import MediaType, Response, Router, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody, PathParameter
from msgspec import Struct

from watchbell.actors import may, may_ping
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.web.access import PUBLIC, needs
from watchbell.web.alerting.intake import alertmanager, items, pings
from watchbell.web.alerting.intake.alertmanager import Alert, Webhook
from watchbell.web.alerting.intake.items import Answer, Item, Terms
from watchbell.web.alerting.intake.writing import TooMany
from watchbell.web.keys import Web
from watchbell.web.ping_check import Ping
from watchbell.web.problems import FieldError, HttpProblem, Problem, too_often
from watchbell.web.services import Asked, actor_of, services_of

MOST_BYTES = 32 << 20
_PIECE = 1_000
_NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonlines")


class Answers(Struct, frozen=True):
    """The result for each item, in their order."""

    accepted: int
    rejected: int
    items: list[Answer]


def sender_of(request: Asked) -> str:
    actor = actor_of(request)
    return actor.key or f"user {actor.name}"


def terms_of(request: Asked, now: int | None) -> Terms:
    return Terms(now, sender_of(request), bool(may(actor_of(request), "operate")))


async def written(request: Asked, sender: str, read: Sequence[Item | Rejection]) -> list[Answer]:
    posted = [one for one in read if isinstance(one, Item)]
    try:
        fresh = iter(await services_of(request).intake.write(sender, posted))
    except TooMany as error:
        raise too_often(error.seconds) from None
    accepted, repeated = Answer("accepted"), Answer("repeated")
    return [
        Answer("rejected", one.reason)
        if isinstance(one, Rejection)
        else (accepted if next(fresh) else repeated)
        for one in read
    ]


@post(
    "/api/v1/check-events", status_code=202, opt=needs("intake"), request_max_body_size=MOST_BYTES
)
async def post_check_events(request: Asked) -> Answers:
    """Report check events.

    The body is one event, an array of them, or one per line (`application/x-ndjson`). Each gets
    a result, in the same order: `accepted`; `repeated` if an item with its `id` was accepted
    within the last day, and nothing was done; or `rejected` with the reason. The answer is 422
    if a single event is rejected.
    """
    plain(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _NDJSON:
        answers = await _streamed(request)
    else:
        answers = await _whole(request)
    rejected = sum(answer.status == "rejected" for answer in answers)
    return Answers(len(answers) - rejected, rejected, answers)


async def _whole(request: Asked) -> list[Answer]:
    body = (await request.body()).strip()
    if body.startswith(b"["):
        terms = terms_of(request, None)  # they were hardly all made when they came
        found = items.split(body)
        if isinstance(found, Rejection):
            raise HttpProblem(400, found.reason)
        read = [items.read(bytes(one), terms) for one in found]
        return await written(request, terms.sender, read)
    terms = terms_of(request, services_of(request).now())
    one = items.read(body, terms)
    if isinstance(one, Rejection):
        raise unfit(one)
    return await written(request, terms.sender, [one])


async def _streamed(request: Asked) -> list[Answer]:
    """Writes items in pieces while the rest is still arriving."""
    terms, answers = terms_of(request, None), list[Answer]()
    read: list[Item | Rejection] = []
    async for line in _lines(request):
        read.append(items.read(line, terms))
        if len(read) == _PIECE:
            answers += await written(request, terms.sender, read)
            read = []
    return answers + await written(request, terms.sender, read)


async def _lines(request: Asked) -> AsyncIterator[bytes]:
    pieces: list[bytes] = []
    async for chunk in request.stream():
        first, *more = chunk.split(b"\n")
        pieces.append(first)
        for next_one in more:
            if line := b"".join(pieces).strip():
                yield line
            pieces = [next_one]
    if line := b"".join(pieces).strip():
        yield line


def unfit(rejection: Rejection) -> HttpProblem:
    return HttpProblem(422, rejection.reason, field=rejection.field or "body")


def plain(request: Asked) -> None:
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise HttpProblem(415, "Content-Encoding: expected a body that is not compressed")


_ALERTS: dict[str, Any] = {
    "status_code": 200,
    "opt": needs("intake"),
    "request_max_body_size": MOST_BYTES,
    "responses": {400: ResponseSpec(Problem, description="Some alerts are invalid.")},
}


class Success(Struct, frozen=True):
    status: Literal["success"] = "success"


@post("/api/v2/alerts", **_ALERTS)
async def post_alerts(request: Asked, data: JSONBody[list[Alert] | Webhook]) -> None:
    """Report alerts from Prometheus or Alertmanager.

    The body is as for version 2 of Alertmanager's API, or as its webhook sends it. Valid alerts
    are accepted even if others are not; the answer names the invalid ones.
    """
    await _alerted(request, data)


# Among the routes of our API, which has what was sent on the same path.
@post("/alerts", tags=["Intake"], **_ALERTS)
async def post_alerts_v1(request: Asked, data: JSONBody[list[Alert] | Webhook]) -> Success:
    """Report alerts from Prometheus or Alertmanager, version 1.

    The body is as for version 1 of Alertmanager's API, or as its webhook sends it.
    """
    await _alerted(request, data)
    return Success()


async def _alerted(request: Asked, data: list[Alert] | Webhook) -> None:
    plain(request)
    now, alerts = services_of(request).now(), data.alerts if isinstance(data, Webhook) else data
    read = [item_of(alertmanager.event_of(alert, now)) for alert in alerts]
    await written(request, sender_of(request), read)
    wrong = [
        FieldError(f"[{at}]", one.reason)
        for at, one in enumerate(read)
        if isinstance(one, Rejection)
    ]
    if wrong:
        error = HttpProblem(400, f"{len(wrong)} of {len(read)} alerts do not fit")
        error.errors = wrong
        raise error


def item_of(one: CheckEvent | Rejection) -> Item | Rejection:
    return one if isinstance(one, Rejection) else items.item(one, actions=False)


Signal = Annotated[
    str, PathParameter(description="`start`, `fail`, or an exit code.", max_length=5)
]
Key = Annotated[str, PathParameter(description="An API key with the scope `ping`.", max_length=100)]
_PING: dict[str, Any] = {
    "opt": PUBLIC,
    "status_code": 200,
    "media_type": MediaType.TEXT,
    "request_max_body_size": 1 << 20,
}


@get("/ping/{key:str}", **_PING)
async def ping(request: Asked, key: Key) -> Response[str]:
    """Report that a run succeeded.

    The key is in the URL, so that a line of a crontab can call it.
    """
    return await _pinged(request, key, "")


@post("/ping/{key:str}", **_PING)
async def post_ping(request: Asked, key: Key) -> Response[str]:
    """Report that a run succeeded, with details.

    The body is stored as the details.
    """
    return await _pinged(request, key, "")


@get("/ping/{key:str}/{signal:str}", **_PING)
async def signal(request: Asked, key: Key, signal: Signal) -> Response[str]:
    """Report that a run began, failed, or ended with an exit code."""
    return await _pinged(request, key, signal)


@post("/ping/{key:str}/{signal:str}", **_PING)
async def post_signal(request: Asked, key: Key, signal: Signal) -> Response[str]:
    """Report that a run began, failed, or ended, with details.

    The body is stored as the details.
    """
    return await _pinged(request, key, signal)


async def _pinged(request: Asked, key: str, signal: str) -> Response[str]:
    services = services_of(request)
    now = services.now()
    known = await services.api_keys.find(key, now)
    if known is None or known.key.ping is None:
        raise HttpProblem(404, "this ping key is unknown, revoked or expired")
    if not may_ping(known.owner):
        reason = f"the owner of this ping key is a {known.role} now and may no longer report"
        raise HttpProblem(403, f"{reason}; use a key of an operator")
    table = Web(services.store.prefix).pings()
    if signal == "start":
        await services.store.call("HSET", table, known.key.id, now)
        return Response("OK\n")
    await _report_ping(request, known.key.ping, signal, known.key.id, table)
    return Response("OK\n")


async def _report_ping(request: Asked, ping: Ping, signal: str, id_: str, table: str) -> None:
    found = pings.state_of(signal)
    if found is None:
        raise HttpProblem(404, "expected start, fail or an exit code from 0 to 255", field="signal")
    services = services_of(request)
    began = await services.store.call("HGET", table, id_)
    body = (await request.body()).decode(errors="replace") if request.method == "POST" else ""
    now = services.now()
    one = item_of(pings.event_of(ping, *found, body, None if began is None else int(began), now))
    if isinstance(one, Rejection):
        raise HttpProblem(422, one.reason)
    await written(request, id_, [one])
    if began is not None:
        await services.store.call("HDEL", table, id_)


ROUTES = Router(
    "/",
    tags=["Intake"],
    route_handlers=[
        *(post_check_events, post_alerts),
        *(ping, post_ping, signal, post_signal),
    ],
)
