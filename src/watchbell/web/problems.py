"""Errors as `application/problem+json`, which names the wrong field."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import msgspec
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.typing import FieldDefinition
from msgspec import Struct

from watchbell import ids, logs
from watchbell.errors import Changed, NotFound, Refused, StoreUnavailable
from watchbell.web import enum_choices
from watchbell.web.access import SESSION_COOKIES
from watchbell.web.page_templates import page
from watchbell.web.pages.paths import local

_GONE = "client disconnected prematurely"
"""The framework's message for an incomplete body, for which it has no error class."""
_MISSING = re.compile("Missing required [a-z]+ parameter '(.+)' for path ")
RETRY_AFTER = 5
"""Seconds after which to retry while the store is unavailable."""


class FieldError(Struct, frozen=True):
    field: str
    reason: str


def field_error(error: Refused) -> FieldError:
    return FieldError(error.field, error.reason)


class Problem(Struct, frozen=True, kw_only=True):
    title: str
    status: int
    detail: str
    code: str = ""
    """For programs that act on the reason; empty for most problems."""
    errors: list[FieldError] = []
    request: str = ""
    """The id under which the log has the request, for errors of the server."""


class HttpProblem(Exception):
    """Ends a request with a problem."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        field: str = "",
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})
        self.code = code
        self.errors = [FieldError(field, detail)] if field else []


def too_often(seconds: int) -> HttpProblem:
    return HttpProblem(
        429, f"too often; try again in {seconds} s", headers={"Retry-After": str(seconds)}
    )


def wrong_cursor() -> HttpProblem:
    return HttpProblem(400, "expected `next` of the previous page", field="cursor")


def answer(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """The one place where an error becomes a response."""
    problem, headers = problem_of(request, error)
    return answered(request, problem, headers)


def answered(
    request: Request[Any, Any, Any], problem: Problem, headers: Mapping[str, str]
) -> Response[Any]:
    if wants_page(request):
        if problem.status == HTTPStatus.UNAUTHORIZED:
            return Response(b"", status_code=303, headers={"Location": _sign_in_url(request)})
        body = _page(request, problem)
        kind: str = MediaType.HTML
    else:
        body, kind = msgspec.json.encode(problem), "application/problem+json"
    return Response(body, status_code=problem.status, headers=dict(headers), media_type=kind)


def _page(request: Request[Any, Any, Any], problem: Problem) -> bytes:
    """For an unknown page: the application with its navigation, for people who are signed in."""
    if problem.status == HTTPStatus.NOT_FOUND and request.cookies.keys() & set(SESSION_COOKIES):
        return page("app.html", module="overview")
    return page("problem.html", problem=problem)


def _sign_in_url(request: Request[Any, Any, Any]) -> str:
    """The sign-in page, which leads back to the requested page."""
    query = request.scope["query_string"].decode("latin-1")
    target = local(quote(request.url.path) + (f"?{query}" if query else ""))
    return (
        "/sign-in" if request.method != "GET" or target == "/" else f"/sign-in?next={quote(target)}"
    )


def wants_page(request: Request[Any, Any, Any]) -> bool:
    """Whether a browser requests a page."""
    accepts = request.headers.get("accept", "")
    return "text/html" in accepts and not request.url.path.startswith(
        ("/api/v", "/api/app/", "/api/user/")
    )


def problem_of(
    request: Request[Any, Any, Any], error: Exception
) -> tuple[Problem, Mapping[str, str]]:
    if isinstance(error, HttpProblem):
        return _problem(error.status, error.detail, error.errors, error.code), error.headers
    if isinstance(error, StoreUnavailable):
        logs.get(role="web").warning("store unavailable", reason=str(error))
        unavailable = _problem(503, "the store is unavailable; try again in a moment")
        return unavailable, {"Retry-After": str(RETRY_AFTER)}
    if isinstance(error, NotFound):
        return _problem(404, str(error)), {}
    if isinstance(error, Changed):
        return _problem(409, str(error)), {}
    if isinstance(error, Refused):
        errors = [field_error(one) for one in error.every if one.field]
        status = 403 if error.code == "forbidden" else 422
        return _problem(status, error.reason, errors, error.code), {}
    if isinstance(error, HTTPException) and (error.status_code < 500 or error.detail == _GONE):
        return _of_framework(request, error), dict(error.headers or {})
    if isinstance(error, UnicodeDecodeError | RecursionError):
        return _problem(400, "the body is not UTF-8, or is nested too deeply"), {}
    name = ids.token()
    logs.get(role="web").error(
        "request failed", request=name, path=request.url.path, exc_info=error
    )
    return msgspec.structs.replace(
        _problem(500, "the server failed; its log has the details"),
        request=name,
    ), {}


def _of_framework(request: Request[Any, Any, Any], error: HTTPException) -> Problem:
    if error.detail == _GONE:
        return _problem(400, "the body is incomplete")
    if not isinstance(error, ValidationException):
        return _problem(error.status_code, error.detail)
    fields = _fields(request, error)
    sentences = (f"{one.field}: {one.reason}" if one.field else one.reason for one in fields)
    return _problem(400, "; ".join(sentences) or "the request is not valid", fields)


def _problem(
    status: int, detail: str, errors: list[FieldError] | None = None, code: str = ""
) -> Problem:
    title = HTTPStatus(status).phrase
    return Problem(title=title, status=status, detail=detail, code=code, errors=errors or [])


def _fields(request: Request[Any, Any, Any], error: ValidationException) -> list[FieldError]:
    missing = _MISSING.match(error.detail)
    if missing:
        return [FieldError(missing[1], "it is missing")]
    extra = error.extra if isinstance(error.extra, list) else []
    return [_field(request, str(one.get("key", "")), str(one.get("message", ""))) for one in extra]


def _field(request: Request[Any, Any, Any], argument: str, message: str) -> FieldError:
    known = _arguments(request)
    parameter = known.get(argument)
    # An error within a body has the path of the field.
    kind, path = (parameter, "") if parameter else (known.get("data"), argument)
    choices = enum_choices.choices(kind.annotation, path) if kind else []
    if choices and message.startswith("Invalid enum value"):
        message = f"{message}; expected one of {', '.join(choices)}"
    # A parameter such as `from` can't be the name of an argument in Python.
    name = getattr(parameter.kwarg_definition, "name", None) if parameter else None
    return _worded(str(name or argument), message)


def _arguments(request: Request[Any, Any, Any]) -> dict[str, FieldDefinition]:
    handler = request.route_handler
    signatures = [one.parsed_fn_signature for one in handler.resolve_dependencies().values()]
    known: dict[str, FieldDefinition] = {}
    for signature in (*signatures, handler.parsed_fn_signature):
        known |= signature.parameters
    return known


def _worded(key: str, message: str) -> FieldError:
    missing = re.fullmatch(r"Object missing required field `(\w+)`", message)
    if missing:
        return FieldError(missing[1], "it is missing")
    unknown = re.fullmatch(r"Object contains unknown field `(.+)`", message)
    if unknown:
        return FieldError(unknown[1], "there is no such field")
    return FieldError("" if key == "data" else key, message.replace("`", ""))
