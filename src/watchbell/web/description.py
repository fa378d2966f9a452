"""What the API is, as OpenAPI: made of the endpoints themselves, with what all have in common."""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

from litestar import Litestar, Router
from litestar.openapi import OpenAPIConfig
from litestar.routes import HTTPRoute

import watchbell
from watchbell.web.access import Access

_WORDS = (
    "Sign in and send the session's CSRF token as X-CSRF-Token with whatever changes something, or "
    "send an API key as `Authorization: Bearer KEY`. Times are seconds since 1970. Lists come in "
    "pages: `next` of one is the `cursor` of the following one. Answers to GET bear an ETag. "
    "What goes wrong is told as application/problem+json."
)
_PROBLEM = {
    "type": "object",
    "required": ["title", "status", "detail", "errors", "request"],
    "description": "An answer other than what was asked for.",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {"type": "array", "items": {"$ref": "#/components/schemas/FieldError"}},
        "request": {"type": "string"},
    },
}
_FIELD_ERROR = {
    "type": "object",
    "required": ["field", "reason"],
    "properties": {"field": {"type": "string"}, "reason": {"type": "string"}},
}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


_EVENT = {
    "type": "object",
    "required": ["type", "state", "entity", "check"],
    "additionalProperties": False,
    "description": "A report about a check; see docs/events.md.",
    "properties": {
        "type": {"enum": ["service", "action"]},
        "state": {
            "enum": [
                *("ok", "warning", "critical", "unknown"),
                *("acknowledgement", "test_notifications"),
            ]
        },
        "entity": {"type": "string"},
        "check": {"type": "string"},
        **{name: {"type": "string"} for name in ("summary", "details", "perfdata")},
        **{name: {"type": "integer", "minimum": 0} for name in ("time", "duration", "ttl")},
        "tags": {"type": "array", "items": {"type": "string"}},
        "acknowledgement_id": {"type": "string"},
        **{
            name: {"type": "integer", "minimum": 0}
            for name in (
                *("initial_failure_delay", "repeat_failure_delay"),
                "initial_recovery_delay",
            )
        },
        "check_latency": {"type": "number"},
        "id": {"type": "string", "description": "Sent again within a day, it counts once."},
    },
}
_CHECK_EVENTS = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "oneOf": [
                    _ref("CheckEvent"),
                    {"type": "array", "items": _ref("CheckEvent")},
                ]
            }
        },
        "application/x-ndjson": {"schema": {"type": "string"}},
    },
}
_STATE = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
_SCHEMES = {
    "key": {"type": "http", "scheme": "bearer"},
    "session": {"type": "apiKey", "in": "cookie", "name": "watchbell"},
}
_ALWAYS = (400, 404, 405, 408, 413, 415, 422, 429, 500, 503)
_GUARDED = (401, 403)


def of(handlers: Sequence[Router]) -> dict[str, Any]:
    """The description of these endpoints."""
    config = OpenAPIConfig(
        title="Watchbell",
        version=watchbell.__version__,
        description=_WORDS,
        use_handler_docstrings=True,
    )
    app = Litestar(handlers, openapi_config=config, logging_config=None)
    told: dict[str, Any] = app.openapi_schema.to_schema()
    told["components"]["schemas"] |= {
        "Problem": _PROBLEM,
        "FieldError": _FIELD_ERROR,
        "CheckEvent": _EVENT,
    }
    told["components"]["securitySchemes"] = _SCHEMES
    told["paths"]["/api/v1/check-events"]["post"]["requestBody"] = _CHECK_EVENTS
    told["paths"]["/state"]["post"]["requestBody"] = _STATE
    for path, method, access in _accesses(app):
        operation = told["paths"].get(path, {}).get(method)
        if operation is not None:
            _complete(operation, access, path)
    return told


def _accesses(app: Litestar) -> Iterator[tuple[str, str, Access]]:
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for handler in route.route_handlers:
                for method in handler.http_methods:
                    if isinstance(handler.opt.get("access"), Access):
                        yield route.path_format, method.lower(), handler.opt["access"]


def _complete(operation: dict[str, Any], access: Access, path: str) -> None:
    """Adds what every endpoint may answer, and whom it is for."""
    codes = _ALWAYS if access.scope is None and path != "/api/v1/session" else _ALWAYS + _GUARDED
    for code in sorted(codes):
        operation["responses"][str(code)] = {
            "description": HTTPStatus(code).phrase,
            "content": {"application/problem+json": {"schema": _ref("Problem")}},
        }
    if access.scope is None:
        operation["security"] = []
        return
    operation["security"] = [{"key": []}, {"session": []}]
    told = operation.get("description") or operation.get("summary", "")
    operation["description"] = f"{told} Needs the scope {access.scope}.".strip()
