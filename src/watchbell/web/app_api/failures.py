"""Errors of the app API: a word for programs, and a sentence for people."""

from http import HTTPStatus
from typing import Any

import msgspec
from litestar import MediaType, Request, Response

from watchbell.errors import FilesUnavailable, Refused
from watchbell.web.app_api import table
from watchbell.web.problems import HttpProblem, problem_of

_WORDS: dict[int, str] = {
    400: "api",
    401: "session",
    403: "access",
    405: "api",
    408: "api",
    413: "api",
    415: "api",
    429: "rate",
    500: "server",
    503: "db",
}
_OF_CODES = {"csrf": "session", "api": "api", "search": "search", "test": "test"}


def answer(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    problem, headers = problem_of(request, _http(error))
    word = _OF_CODES.get(problem.code) or _WORDS.get(problem.status)
    word = word or ("api" if problem.errors else _word_of(request))
    status = problem.status
    if word in ("api", "search") and status == HTTPStatus.UNPROCESSABLE_ENTITY:
        status = HTTPStatus.BAD_REQUEST
    fields = [f"{one.field}: {one.reason}" for one in problem.errors if one.field]
    body = {"code": word, "description": "; ".join(fields) or problem.detail}
    return Response(
        msgspec.json.encode(body),
        status_code=status,
        headers=dict(headers),
        media_type=MediaType.JSON,
    )


def _http(error: Exception) -> Exception:
    if isinstance(error, Refused) and error.code == "forbidden":
        return HttpProblem(403, error.reason)
    if isinstance(error, FilesUnavailable):
        return HttpProblem(503, str(error))
    return error


def _word_of(request: Request[Any, Any, Any]) -> str:
    """That of the handler, or of calls that no handler takes."""
    handler = table.HANDLERS.get(str(request.path_params.get("name", "")))
    return handler.word if handler else "api"
