"""ETags: an answer that has not changed since the last request is not sent again."""

import hashlib
from typing import cast

from litestar.datastructures import Headers, MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.types import (
    ASGIApp,
    HTTPResponseBodyEvent,
    HTTPResponseStartEvent,
    Message,
    Receive,
    Scope,
    Send,
)


def tagged(app: ASGIApp) -> ASGIApp:
    """Middleware that adds an ETag to complete JSON answers to GET."""

    async def middleware(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or scope["method"] != "GET":
            await app(scope, receive, send)
            return
        start: HTTPResponseStartEvent | None = None
        asked = Headers.from_scope(scope).get("if-none-match", "")

        async def tag(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if start is not None:
                body = cast("HTTPResponseBodyEvent", message)
                if not body["more_body"] and _is_tagged(start):
                    message = {**body, "body": _mark(start, body["body"], asked)}
                await send(start)
                start = None
            await send(message)

        await app(scope, receive, tag)

    return middleware


def _is_tagged(start: HTTPResponseStartEvent) -> bool:
    kinds = [value for name, value in start["headers"] if name.lower() == b"content-type"]
    return start["status"] == 200 and kinds[:1] == [b"application/json"]


def _mark(start: HTTPResponseStartEvent, body: bytes, asked: str) -> bytes:
    """Adds the tag. Returns the body to send, empty where the client has it already."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = MutableScopeHeaders.from_message(start)
    headers["etag"] = tag
    headers["cache-control"] = "private, no-cache"
    if tag not in (one.strip().removeprefix("W/") for one in asked.split(",")):
        return body
    start["status"] = 304
    del headers["content-length"]
    return b""
