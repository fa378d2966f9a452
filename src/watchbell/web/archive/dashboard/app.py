"""The dashboard as one application: HTTP, and the WebSocket with log entries."""

from typing import Any

from litestar import Litestar, Response
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, Receive, Scope, Send

from watchbell.web.archive.dashboard import origins, routes
from watchbell.web.archive.dashboard.broadcaster import Broadcaster
from watchbell.web.archive.dashboard.origins import Origins
from watchbell.web.archive.dashboard.routes import Asked, Sources
from watchbell.web.archive.dashboard.stream_socket import stream
from watchbell.web.problems import problem_of
from watchbell.web.request_envelope import RequestEnvelope, send_problem

STREAM = "/stream"


class Dashboard:
    def __init__(self, pages: ASGIApp, broadcaster: Broadcaster, allowed: Origins) -> None:
        self._pages, self._broadcaster, self._allowed = pages, broadcaster, allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind: str = scope["type"]
        if kind == "lifespan":
            await self._pages(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        refused = origins.refusal(headers, self._allowed)
        if kind == "websocket":
            await self._websocket(refused, scope, receive, send)
        elif refused:
            await send_problem(send, 403, refused, {})
        else:
            await self._pages(scope, receive, _readable(send, headers.get("origin")))

    async def _websocket(self, refused: str, scope: Scope, receive: Receive, send: Send) -> None:
        answer = "websocket.http.response"
        if refused:
            await send_problem(send, 403, refused, {}, answer)
        elif scope["path"] != STREAM:
            await send_problem(send, 404, f"the WebSocket is {STREAM}", {}, answer)
        else:
            await stream(self._broadcaster, receive, send)


def _readable(send: Send, origin: str | None) -> Send:
    """Lets the browser give the answer to a page of another origin that may read it."""
    if origin is None:
        return send

    async def marked(message: Any) -> None:
        if message["type"] == "http.response.start":
            pairs = [
                (b"access-control-allow-origin", origin.encode("latin-1")),
                (b"vary", b"origin"),
            ]
            message["headers"] = [*message["headers"], *pairs]
        await send(message)

    return marked


def _problem(request: Asked, error: Exception) -> Response[str]:
    problem, headers = problem_of(request, error)
    return Response(
        f"{problem.detail}\n",
        status_code=problem.status,
        headers=dict(headers),
        media_type="text/plain",
    )


def application(sources: Sources, broadcaster: Broadcaster, allowed: Origins) -> ASGIApp:
    pages = Litestar(
        [routes.ROUTES],
        exception_handlers={Exception: _problem, HTTPException: _problem},
        openapi_config=None,
        request_max_body_size=0,
        state=State({"sources": sources}),
        logging_config=None,
    )
    return RequestEnvelope(Dashboard(pages, broadcaster, allowed))
