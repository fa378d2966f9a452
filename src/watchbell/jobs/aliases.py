"""Spellings of xyOps: accepted beside those of the document, and given in answers beside them."""

from collections.abc import Mapping
from typing import Any

from watchbell.errors import Refused

_OF_EVENT = {"triggers": "timings"}
_OF_ACTION = {"condition": "trigger", "web_hook": "url"}
_OF_LIMIT = {"web_hook": "url"}
_OF_CHANNEL = {"web_hook": "url"}
WORDS = (b'"triggers"', b'"condition"', b'"web_hook"')
"""One of these is in every text with a spelling of xyOps."""
IGNORED = frozenset({"id", "session_id", "api_key", "csrf_token", "source", "loc", "details"})
"""Properties of actions, limits and timings that say nothing about what they do. The id of a timing
names a node of a workflow."""


def canonical(
    kind: str, value: Mapping[str, Any], current: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The value with the document's spellings. A program that knows one spelling sends back the
    other as it was: of two that differ, the one that differs from `current` counts."""
    current = current or {}
    if kind == "event":
        found = _renamed("", value, _OF_EVENT, current)
    elif kind == "channel":
        found = _renamed("", value, _OF_CHANNEL, current)
    else:
        found = dict(value)
    for name, names in (("actions", _OF_ACTION), ("limits", _OF_LIMIT)):
        if isinstance(found.get(name), list):
            found[name] = _each_renamed(name, found[name], names, current.get(name))
    if isinstance(found.get("timings"), list):
        found["timings"] = _each_renamed("timings", found["timings"], {}, None)
    return found


def action(value: Any) -> Any:
    """An action alone, with the document's spellings."""
    return _each_renamed("", [value], _OF_ACTION, None)[0]


def limit(value: Any) -> Any:
    return _each_renamed("", [value], _OF_LIMIT, None)[0]


def both(kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """The value with both spellings, for programs that know one of them. `job` is a kind, too."""
    found = dict(value)
    if kind == "event" and "timings" in found:
        found["triggers"] = found["timings"]
    if kind == "job" and "parent" in found and "input" not in found:
        parent = found["parent"]
        found["input"] = {name: parent[name] for name in ("data", "files") if name in parent}
    if "actions" in found:
        found["actions"] = [_action_with_both(one) for one in found["actions"]]
    return found


def _action_with_both(value: Mapping[str, Any]) -> dict[str, Any]:
    return {**value, "condition": value["trigger"]} if "trigger" in value else dict(value)


def _each_renamed(
    name: str, values: list[Any], names: Mapping[str, str], current: Any
) -> list[Any]:
    known = current if isinstance(current, list | tuple) else ()
    return [
        _renamed(f"{name}[{place}].", one, names, known[place] if place < len(known) else {})
        if isinstance(one, dict)
        else one
        for place, one in enumerate(values)
    ]


def _renamed(
    path: str, value: Mapping[str, Any], names: Mapping[str, str], current: Mapping[str, Any]
) -> dict[str, Any]:
    ignored = IGNORED - {"id"} if path.startswith("timings") else IGNORED if path else ()
    found = {name: each for name, each in value.items() if name not in ignored}
    for alias, name in names.items():
        if alias not in found:
            continue
        given = found.pop(alias)
        one, other, before = (_bare(each) for each in (given, found.get(name), current.get(name)))
        if other in (None, one, before):
            found[name] = given
        elif one != before:
            raise Refused(f"differs from {path}{name}, which means the same", field=path + alias)
    return found


def _bare(value: Any) -> Any:
    """The value without what means the same as nothing, for comparison."""
    if isinstance(value, dict):
        bare = {name: _bare(each) for name, each in value.items()}
        given = {name: each for name, each in bare.items() if each is not None}
        return {k: v for k, v in given.items() if (k, v) != ("enabled", True)} or None
    if isinstance(value, list):
        return [_bare(each) for each in value] or None
    return None if value == "" else value
