"""Files in the body of a call. They are stored while they arrive, so they may be large."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from litestar.exceptions import HTTPException
from msgspec import Struct
from multipart import (  # type: ignore[import-untyped]
    MultipartError,
    MultipartSegment,
    ParserLimitReached,
    PushMultipartParser,
)

from watchbell.errors import Refused
from watchbell.jobs.model import JobFile
from watchbell.web import call_parameters
from watchbell.web.app_api.calls import Call
from watchbell.web.call_parameters import MOST_BYTES
from watchbell.web.problems import HttpProblem

MOST_PARTS = 100

Keep = Callable[[str, str, AsyncIterator[bytes]], Awaitable[JobFile]]
"""Stores the file of a field under a name."""


class Form(Struct, frozen=True):
    fields: dict[str, Any]
    files: list[JobFile]


async def received(call: Call, keep: Keep) -> Form:
    """The body; what has no files, too."""
    if not call_parameters.has_files(call.request):
        return Form(dict(call.parameters.body), [])
    limit = call.services.settings.jobs.file_limit << 20
    parts = _Parts(call, limit)
    fields: dict[str, Any] = {}
    files: list[JobFile] = []
    try:
        async for segment, content in parts.all():
            if segment.filename:
                files.append(await keep(segment.name, segment.filename, content))
            else:
                fields[segment.name] = await _text(segment.name, content)
    except ParserLimitReached:
        reason = f"a file may have at most {limit >> 20:,} MiB (jobs.file_limit)"
        raise HttpProblem(413, reason) from None
    except (MultipartError, HTTPException) as error:
        raise HttpProblem(400, f"the form can't be read: {error}", code="api") from None
    return Form(fields, files)


class _Parts:
    def __init__(self, call: Call, limit: int) -> None:
        _, options = call.request.content_type
        boundary = options.get("boundary", "")
        if not boundary:
            raise HttpProblem(400, "the form has no boundary", code="api")
        self._parser = PushMultipartParser(
            boundary, max_segment_size=limit, max_segment_count=MOST_PARTS
        )
        self._events = self._parsed(call)

    async def _parsed(self, call: Call) -> AsyncIterator[Any]:
        with self._parser as parser:
            async for chunk in call.request.stream():
                for event in parser.parse(chunk):
                    yield event

    async def all(self) -> AsyncIterator[tuple[MultipartSegment, AsyncIterator[bytes]]]:
        """The content of a part must be read before the next one is."""
        async for event in self._events:
            if isinstance(event, MultipartSegment):
                yield event, self._content()

    async def _content(self) -> AsyncIterator[bytes]:
        async for event in self._events:
            if not event:
                return
            yield bytes(event)


async def _text(name: str, content: AsyncIterator[bytes]) -> str:
    found = bytearray()
    async for chunk in content:
        found += chunk
        if len(found) > MOST_BYTES:
            raise Refused(f"it is longer than {MOST_BYTES:,} bytes", field=name)
    return found.decode(errors="replace")
