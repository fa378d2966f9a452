"""Wraps every request: security headers, and a limit on time."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

import msgspec
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send

SECONDS = 60.0
"""Seconds within which the response must begin, including the time for the request's body."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; manifest-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_PAIRS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


WEBSOCKET_CODES = 4_000
"""A WebSocket that is closed before it was accepted, by a code of this plus a status of HTTP, is
answered by that status."""
AGENT_UPLOADS = "/api/agent/"
CALLS = "/api/app/"
_FILES = b"multipart/form-data"


class RequestEnvelope:
    def __init__(self, app: ASGIApp, seconds: float = SECONDS) -> None:
        self._app, self._seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind: str = scope["type"]
        if kind == "http":
            await self._answer(scope, receive, send)
        else:
            await self._app(scope, receive, _refusing(send) if kind == "websocket" else send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        deadline = asyncio.timeout(self._seconds)
        begun = False

        async def framed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                if not deadline.expired():
                    deadline.reschedule(None)
                _add_headers(message, scope)
            await send(message)

        async def received() -> Any:
            message = await receive()
            if not begun and not deadline.expired():
                deadline.reschedule(asyncio.get_running_loop().time() + self._seconds)
            return message

        source = received if _is_upload(scope) else receive
        try:
            async with deadline:
                await self._app(_asked(scope), source, framed)
        except TimeoutError:
            if begun or not deadline.expired():
                raise
            await _late(framed)


def _refusing(send: Send) -> Send:
    """Answers a WebSocket that is not accepted with a status and a reason."""
    is_accepted = False

    async def answered(message: Any) -> None:
        nonlocal is_accepted
        is_accepted = is_accepted or message["type"] == "websocket.accept"
        if is_accepted or message["type"] != "websocket.close":
            await send(message)
            return
        status = max(message.get("code", 0) - WEBSOCKET_CODES, HTTPStatus.BAD_REQUEST)
        await send_problem(send, status, message.get("reason") or "", {}, "websocket.http.response")

    return answered


def _is_upload(scope: Scope) -> bool:
    """Whether the body may be large: each part of it gets as much time as other requests. It is
    read once it is known who sends it."""
    path: str = scope["path"]
    if path.startswith(AGENT_UPLOADS):
        return True
    kinds = (value for name, value in scope["headers"] if name == b"content-type")
    return path.startswith(CALLS) and any(value.lower().startswith(_FILES) for value in kinds)


def _asked(scope: Scope) -> Scope:
    """HEAD is handled as GET; the server drops the body."""
    if scope.get("method") != "HEAD":
        return scope
    return cast("Scope", {**scope, "method": "GET"})


def _add_headers(message: HTTPResponseStartEvent, scope: Scope) -> None:
    headers = list(message["headers"])
    given = {name.lower() for name, _ in headers}
    headers += [pair for pair in _PAIRS if pair[0] not in given]
    if scope.get("scheme") == "https":
        headers.append((b"strict-transport-security", b"max-age=31536000"))
    message["headers"] = headers


async def _late(send: Any) -> None:
    await send_problem(send, 408, "the request took too long", {"connection": "close"})


async def send_problem(
    send: Any, status: int, detail: str, headers: Mapping[str, str], kind: str = "http.response"
) -> None:
    """A response for requests that do not reach the application."""
    title = HTTPStatus(status).phrase
    body = msgspec.json.encode({"title": title, "status": status, "detail": detail})
    about = {"content-type": "application/problem+json", "content-length": str(len(body))}
    all_headers = {**about, **HEADERS, **headers}
    pairs = [(name.encode(), value.encode()) for name, value in all_headers.items()]
    await send({"type": f"{kind}.start", "status": status, "headers": pairs})
    await send({"type": f"{kind}.body", "body": body, "more_body": False})
