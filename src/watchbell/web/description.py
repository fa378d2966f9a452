"""The API's description as OpenAPI: made of the endpoints, with what they have in common."""

import re
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

from litestar import Litestar, Router
from litestar.openapi import OpenAPIConfig
from litestar.routes import HTTPRoute

import watchbell
from watchbell.web import curl_examples
from watchbell.web.access import Access
from watchbell.web.component_names import with_short_names

_INTRODUCTION = (
    "Send an API key as `Authorization: Bearer KEY`. Pages use a session instead, and send its "
    "CSRF token as `X-CSRF-Token` with every change. Times are seconds since 1970. Lists are "
    "paged: pass `next` of one page as `cursor` to get the following one. Answers to GET have an "
    "ETag. Errors are `application/problem+json`."
)
_PROBLEM = {
    "type": "object",
    "required": ["title", "status", "detail", "code", "errors", "request"],
    "description": "An error. `code` is for programs that act on the reason.",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
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
        "id": {"type": "string", "description": "The same id within a day counts once."},
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
    config = OpenAPIConfig(
        title="Watchbell",
        version=watchbell.__version__,
        description=_INTRODUCTION,
        use_handler_docstrings=True,
    )
    app = Litestar(handlers, openapi_config=config, logging_config=None)
    described = with_short_names(app.openapi_schema.to_schema())
    described["components"]["schemas"] |= {
        "Problem": _PROBLEM,
        "FieldError": _FIELD_ERROR,
        "CheckEvent": _EVENT,
    }
    described["components"]["securitySchemes"] = _SCHEMES
    described["paths"]["/api/v1/check-events"]["post"]["requestBody"] = _CHECK_EVENTS
    described["paths"]["/state"]["post"]["requestBody"] = _STATE
    for path, method, access in _accesses(app):
        operation = described["paths"].get(path, {}).get(method)
        if operation is not None:
            _complete(operation, access, path)
            source = curl_examples.example(method, path, operation)
            operation["x-codeSamples"] = [{"lang": "curl", "source": source}]
    return described


def _accesses(app: Litestar) -> Iterator[tuple[str, str, Access]]:
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for handler in route.route_handlers:
                for method in handler.http_methods:
                    if isinstance(handler.opt.get("access"), Access):
                        yield route.path_format, method.lower(), handler.opt["access"]


def _complete(operation: dict[str, Any], access: Access, path: str) -> None:
    """Adds the summary, the answers that every endpoint has, and the privilege it needs."""
    text = operation["description"]
    operation["summary"] = re.split(r"\.(?:\s|$)", text)[0].replace("\n", " ")
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
    operation["description"] = f"{text} Needs the privilege `{access.scope}`."
    operation["x-scope"] = access.scope
