"""Server-sent events: a response that stays open."""

import asyncio
from contextlib import aclosing
from typing import Annotated, Any

from litestar import Response
from litestar.params import HeaderParameter, QueryParameter
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from watchbell import logs
from watchbell.errors import StoreUnavailable
from watchbell.web.guard import identified
from watchbell.web.live.events import Event, Source, framed
from watchbell.web.live.link import Link, link_of
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, actor_of, identity_of, services_of

__all__ = ["EVENT_STREAM", "Event", "EventStream", "LastEvent", "Resume", "Source", "streamed"]

EVENT_STREAM = "text/event-stream"
BEAT = 15.0
"""Seconds between two signs of life, at which the reader's privileges are checked, too."""
STALLED = 30.0
"""Seconds after which a reader that reads nothing is disconnected."""
RETRY_MS = 2_000
"""After how long a reader reconnects."""
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

_LAST = "The id of the last event that you received."
LastEvent = Annotated[str, HeaderParameter(name="Last-Event-ID", max_length=200, description=_LAST)]
Resume = Annotated[
    str,
    QueryParameter(
        max_length=200,
        description="As `Last-Event-ID`, for clients that can't set headers.",
    ),
]


class _Over(Exception):
    """Ends a stream."""


class EventStream(Response[str]):
    """What an endpoint returns; see the docstring of `watchbell.web.live`."""

    def __init__(self, request: Asked, source: Source) -> None:
        super().__init__("", media_type=EVENT_STREAM, headers=_HEADERS)
        self._request, self._source = request, source

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIResponse:
        return _Streaming(self._request, self._source)


def streamed(request: Asked, source: Source) -> EventStream:
    """Raises HttpProblem where too many streams are open."""
    services_of(request).streams.check(actor_of(request))
    return EventStream(request, source)


class _Streaming(ASGIResponse):
    _should_set_content_length = False

    def __init__(self, request: Asked, source: Source) -> None:
        super().__init__(media_type=EVENT_STREAM, headers=_HEADERS)
        self._request, self._source = request, source
        self._who, self._streams = identity_of(request), services_of(request).streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.counted(self._who.actor):
            await self.start_response(send)
            writer = _Writer(send, link_of(scope))
            try:
                await self._run(writer, receive)
            except* StoreUnavailable as errors:
                logs.get(role="web").warning("store unavailable", reason=str(errors.exceptions[0]))
            except* _Over:
                pass
            except* Exception as failed:  # noqa: BLE001 the stream ends, the server does not
                logs.get(role="web").error(
                    "stream failed", path=self._request.url.path, exc_info=failed
                )
            await writer.end()

    async def _run(self, writer: "_Writer", receive: Receive) -> None:
        """Always ends by an exception, also when the source is exhausted."""
        async with asyncio.TaskGroup() as group:
            group.create_task(_until_gone(receive))
            group.create_task(_until_stopped(writer.link))
            group.create_task(self._until_barred(writer))
            await writer.write(f"retry: {RETRY_MS}\n\n".encode())
            async with aclosing(self._source) as source:
                async for event in source:
                    await writer.write(framed(event))
            raise _Over

    async def _until_barred(self, writer: "_Writer") -> None:
        """Sends signs of life until the reader's role or rights change."""
        while True:
            await asyncio.sleep(BEAT)
            try:
                who = await identified(self._request, touch=False)
            except HttpProblem:
                raise _Over from None
            if (who.role, who.actor) != (self._who.role, self._who.actor):
                raise _Over
            await writer.beat()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    raise _Over


async def _until_stopped(link: Link | None) -> None:
    if link is not None:
        await link.stopping.wait()
        raise _Over


class _Writer:
    """Writes one piece at a time, and waits for the reader: nothing is queued."""

    def __init__(self, send: Send, link: Link | None) -> None:
        self._send, self.link = send, link
        self._busy = asyncio.Lock()

    async def write(self, piece: bytes) -> None:
        async with self._busy:
            try:
                async with asyncio.timeout(STALLED):
                    await self._send(
                        {"type": "http.response.body", "body": piece, "more_body": True}
                    )
            except TimeoutError:
                raise _Over from None

    async def beat(self) -> None:
        if not self._busy.locked():
            await self.write(b":\n\n")

    async def end(self) -> None:
        """Ends the response; closes the connection where the reader does not read."""
        if self.link is not None:
            self.link.cut()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
