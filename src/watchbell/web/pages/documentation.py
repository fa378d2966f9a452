"""The API's description: for programs as OpenAPI, for people as a page made of it."""

from collections.abc import Iterator
from typing import Any

from litestar import MediaType, Response, Router, get
from msgspec import Struct

from watchbell.web.access import needs
from watchbell.web.page_templates import page
from watchbell.web.services import Asked

Schema = dict[str, Any]


class Kind(Struct, frozen=True):
    """One of the things that a value may be; `shape` is the one on the page that tells more."""

    words: str
    shape: str = ""


_PROBLEM = [Kind("Problem", "Problem")]


class Row(Struct, frozen=True):
    name: str
    place: str
    kinds: list[Kind]
    note: str


class Operation(Struct, frozen=True):
    id: str
    title: str
    description: str
    takes: list[Row]
    answers: list[Row]


class Shape(Struct, frozen=True):
    name: str
    description: str
    fields: list[Row]


@get("/api/v1/openapi.json", opt=needs("read"), include_in_schema=False)
async def openapi(request: Asked) -> Response[Schema]:
    return Response(_described(request))


@get("/api", opt=needs("read"), include_in_schema=False)
async def documentation(request: Asked) -> Response[bytes]:
    return Response(drawn(_described(request)), media_type=MediaType.HTML)


def _described(request: Asked) -> Schema:
    described: Schema = request.app.state["describe"]()
    return described


def drawn(told: Schema) -> bytes:
    tags: dict[str, list[Operation]] = {}
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            shown = _operation(f"{method.upper()} {path}", operation)
            tags.setdefault(operation.get("tags", ["Other"])[0], []).append(shown)
    shapes = [_shape(name, schema) for name, schema in told["components"]["schemas"].items()]
    words = told["info"]["description"]
    return page("api.html", description=words, tags=tags, shapes=shapes)


def _operation(title: str, operation: Schema) -> Operation:
    taken = [
        Row(one["name"], one["in"], _kinds(one["schema"]), one.get("description", ""))
        for one in operation.get("parameters", [])
    ]
    body = operation.get("requestBody", {}).get("content", {})
    taken += [Row("body", kind, _kinds(one["schema"]), "") for kind, one in body.items()]
    answers = _answers(operation["responses"])
    return Operation(operation["operationId"], title, operation["description"], taken, answers)


def _answers(responses: Schema) -> list[Row]:
    """Problems are told alike wherever they come from, so all of them are one row."""
    rows = [
        Row(status, "", list(_contents(one)), one.get("description", ""))
        for status, one in responses.items()
    ]
    fine = [row for row in rows if row.kinds != _PROBLEM]
    codes = ", ".join(row.name for row in rows if row.kinds == _PROBLEM)
    return [*fine, Row(codes, "", _PROBLEM, "")] if codes else fine


def _contents(answer: Schema) -> Iterator[Kind]:
    for content in answer.get("content", {}).values():
        yield from _kinds(content["schema"])


def _shape(name: str, schema: Schema) -> Shape:
    needed = schema.get("required", [])
    fields = [
        Row(field, "", _kinds(one), "needed" if field in needed else "")
        for field, one in schema.get("properties", {}).items()
    ]
    return Shape(name, schema.get("description", ""), fields)


def _kinds(schema: Schema) -> list[Kind]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return [Kind(name, name)]
    if "items" in schema:
        return [Kind(f"list of {kind.words}", kind.shape) for kind in _kinds(schema["items"])]
    several = schema.get("oneOf") or schema.get("anyOf")
    if several:
        return [kind for one in several for kind in _kinds(one)]
    if "enum" in schema:
        return [Kind(str(word)) for word in schema["enum"]]
    kinds = schema.get("type", "anything")
    return [Kind(word) for word in (kinds if isinstance(kinds, list) else [kinds])]


ROUTES = Router("/", route_handlers=[openapi, documentation])
