"""JSON Patch, as far as Flapjack's API has it: properties are replaced, links added or removed."""

from typing import Any, Literal

from msgspec import Struct

from watchbell.web.flapjack_api.calls import Call, Failed, text, texts

MOST = 10_000
"""Operations in one request, counted once for each of its resources."""


class Operation(Struct, frozen=True):
    op: Literal["replace", "add", "remove"]
    field: str
    """The property or, for `add` and `remove`, the kind of link: `entities`, `tags`, …"""
    value: Any


def parse(kind: str, call: Call) -> list[Operation]:
    """The operations on each of the resources that a path names. A patch has the index 0 for all
    of them: `/contacts/0/first_name`, `/contacts/0/links/entities/-`."""
    body = call.body
    if not isinstance(body, list) or not body or len(body) > MOST:
        raise Failed(422, f"expected a JSON Patch: an array of 1 to {MOST:,} operations")
    if len(call.ids) * len(body) > MOST:
        changes = f"{len(body):,} operations on {len(call.ids):,} {kind}"
        raise Failed(422, f"{changes} are too many at once; expected {MOST:,} changes at most")
    return [_operation(kind, one) for one in body]


def _operation(kind: str, given: Any) -> Operation:
    op, path = (given.get("op"), given.get("path")) if isinstance(given, dict) else (None, None)
    if op not in ("replace", "add", "remove") or not isinstance(path, str):
        raise Failed(422, "an operation needs `op` (replace, add or remove) and `path`")
    words = [word.replace("~1", "/").replace("~0", "~") for word in path.split("/")]
    if words[:2] != ["", kind] or len(words) < 4 or not words[2].isdecimal():
        raise Failed(422, f"path: {path[:200]!r} is not allowed; expected /{kind}/0/…")
    rest = words[3:]
    if op == "replace":
        if len(rest) != 1 or "value" not in given:
            raise Failed(422, f"path: a replacement needs /{kind}/0/NAME and a value")
        return Operation(op, rest[0], given["value"])
    linked = rest[1:] if rest[0] == "links" else rest
    if len(linked) < 2:
        raise Failed(422, f"path: expected /{kind}/0/links/NAME/-, or an id instead of -")
    name, place = linked[0], "/".join(linked[1:])
    if op == "add":
        if place != "-" or "value" not in given:
            raise Failed(422, f"path: to add needs /{kind}/0/links/{name[:100]}/- and a value")
        return Operation(op, name, given["value"])
    return Operation(op, name, place)


def tags(operation: Operation) -> tuple[str, ...]:
    """The tags that are added or removed: one, or an array of them."""
    if isinstance(operation.value, list):
        return texts("tags", operation.value)
    return (text("tags", operation.value),)


def unknown(kind: str, operation: Operation) -> Failed:
    verb = {"replace": "replaced", "add": "added", "remove": "removed"}[operation.op]
    return Failed(422, f"path: {operation.field[:100]!r} of {kind} can't be {verb}")
