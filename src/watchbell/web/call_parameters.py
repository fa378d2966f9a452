"""The parameters of a call of the app API: from its query and its body."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar.connection import ASGIConnection
from msgspec import Struct

from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked

MOST_BYTES = 1 << 20
"""Of a body that has no files."""
_NAME = "call_parameters"
_OF_ACCESS = ("api_key", "csrf_token", "session_id", "cachebust")
"""What says who calls, and is no parameter."""
_FORM = "application/x-www-form-urlencoded"


class CallParameters(Struct, frozen=True):
    query: dict[str, Any]
    body: dict[str, Any]
    """Empty where the body has files, which are read once it is known who calls."""
    key: str | None
    csrf: str


async def read(request: Asked) -> CallParameters:
    """Reads the body once. Raises HttpProblem."""
    state: dict[str, Any] = request.scope["state"]
    found: CallParameters | None = state.get(_NAME)
    if found is None:
        query = dict(request.query_params.items())
        body = {} if has_files(request) else decoded(await _bytes(request), _kind(request))
        found = state[_NAME] = CallParameters(
            query=_without(query),
            body=_without(body),
            key=_first(request.headers.get("x-api-key"), body.get("api_key"), query.get("api_key")),
            csrf=_first(body.get("csrf_token")) or "",
        )
    return found


def key_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """The API key of a call whose parameters have been read."""
    found: CallParameters | None = connection.scope["state"].get(_NAME)
    return found.key if found else None


def has_files(request: Asked) -> bool:
    return _kind(request) == "multipart/form-data"


def decoded(text: bytes, kind: str = "") -> dict[str, Any]:
    """A body of JSON, or of a form. JSON is recognized whatever it is called, since `curl -d` calls
    everything a form."""
    if not text.strip():
        return {}
    if kind == _FORM and not text.lstrip().startswith(b"{"):
        return dict(parse_qsl(text.decode(errors="replace"), keep_blank_values=True))
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise HttpProblem(400, "expected a JSON object as body", code="api") from None


async def _bytes(request: Asked) -> bytes:
    if (request.content_length or 0) > MOST_BYTES:
        raise _too_long()
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > MOST_BYTES:
            raise _too_long()
    return bytes(found)


def _too_long() -> HttpProblem:
    return HttpProblem(413, f"the body is longer than {MOST_BYTES:,} bytes")


def _kind(request: Asked) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _without(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in _OF_ACCESS}


def _first(*values: Any) -> str | None:
    return next((one for one in values if isinstance(one, str) and one), None)
