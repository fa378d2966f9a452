"""The parameters that a plugin asks for: their types, defaults, and who may see and change them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from watchbell.alerting import expressions
from watchbell.errors import Refused
from watchbell.jobs.model import Action, Category, Parameter, Plugin
from watchbell.jobs.value_readers import DEEPEST, plain
from watchbell.schedule.fields import refuse

MASK = "••••••••"
"""Shown in place of a secret. A value that comes back as it means: unchanged."""

_CHOICE = re.compile(r"(.*?)\s*\[([^\[\]]*)\]\s*")


def complete(
    plugin: Plugin,
    params: Mapping[str, Any],
    *,
    is_admin: bool,
    stored: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The parameters of a job: with defaults for those that are missing. `stored` are those of its
    event, from which locked ones come unless an administrator gives others. Raises Refused."""
    found = checked(plugin, params, is_admin=is_admin, stored=stored)
    return {one.id: found.get(one.id, default(one)) for one in plugin.params} | found


def checked(
    plugin: Plugin,
    params: Mapping[str, Any],
    *,
    is_admin: bool,
    stored: Mapping[str, Any] | None = None,
    partial: bool = False,
    path: str = "params",
) -> dict[str, Any]:
    """The given parameters, by their types, without defaults. Those that the plugin does not know
    are kept as they are. With `partial`, required ones may be missing."""
    stored = stored or {}
    found = unmasked(params, stored)
    for one in plugin.params:
        if one.locked and not is_admin:
            found.pop(one.id, None)
            if one.id in stored:
                found[one.id] = stored[one.id]
        field = f"{path}.{one.id}"
        if found.get(one.id) is not None:
            found[one.id] = typed(field, one, found[one.id])
        elif one.required and not partial and default(one) in (None, ""):
            raise Refused(f"{one.title or one.id} is required", field=field)
        if one.required and found.get(one.id) == "":
            raise Refused(f"{one.title or one.id} must not be empty", field=field)
    return found


def unmasked(params: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with what is stored in place of masks."""
    kept = {name: each for name, each in params.items() if each != MASK or name in stored}
    return {name: stored[name] if each == MASK else each for name, each in kept.items()}


def typed(field: str, parameter: Parameter, value: Any) -> Any:
    if parameter.type == "checkbox":
        return _yes_or_no(field, value)
    if parameter.type == "json":
        return _json(field, value)
    if parameter.type == "hidden":
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{value:g}" if isinstance(value, float) else str(value)
    if not isinstance(value, str):
        refuse(field, "text", value)
    if parameter.type == "select":
        return _choice(field, parameter, value)
    if parameter.regex and not expressions.matches(parameter.regex, value):
        refuse(field, f"text that matches {parameter.regex}", value)
    return value


def default(parameter: Parameter) -> Any:
    if parameter.type == "select":
        return next((choice for _, choice in choices(parameter)), "")
    if parameter.type == "checkbox":
        return bool(parameter.value)
    return "" if parameter.value is None and parameter.type != "json" else parameter.value


def choices(parameter: Parameter) -> Iterator[tuple[str, str]]:
    """The labels and values of a `select`."""
    for part in str(parameter.value or "").split(","):
        choice = part.strip()
        if not choice:
            continue
        labelled = _CHOICE.fullmatch(choice)
        yield (labelled[1] or labelled[2], labelled[2]) if labelled else (choice, choice)


def masked(plugin: Plugin | None, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters for people who may not see secrets. Without a plugin nobody knows which are
    secret, so all are masked."""
    if plugin is None:
        return dict.fromkeys(params, MASK)
    secret = {one.id for one in plugin.params if one.secret}
    return {name: MASK if name in secret and value else value for name, value in params.items()}


def without_secrets(plugin: Plugin) -> Plugin:
    """The plugin for people who may not see secrets: variables and secret defaults are masked."""
    return msgspec.structs.replace(
        plugin,
        env=dict.fromkeys(plugin.env, MASK),
        params=tuple(
            msgspec.structs.replace(one, value=MASK) if one.secret and one.value else one
            for one in plugin.params
        ),
    )


def masked_category(category: Category) -> Category:
    return replace(category, actions=masked_actions(category.actions))


def masked_actions(actions: Iterable[Action]) -> tuple[Action, ...]:
    """Likewise. The parameters of an action belong to another event, so all are masked."""
    return tuple(replace(one, params=dict.fromkeys(one.params, MASK)) for one in actions)


def _yes_or_no(field: str, value: Any) -> bool:
    words = {"true": True, "false": False, "1": True, "0": False, "": False}
    found = words.get(value.lower()) if isinstance(value, str) else value
    if found not in (True, False):
        refuse(field, "true or false", value)
    return bool(found)


def _json(field: str, value: Any) -> Any:
    """Text is read as JSON, as forms send it."""
    if not isinstance(value, str) or not value.strip():
        return value
    try:
        return plain(msgspec.json.decode(value))
    except (msgspec.MsgspecError, UnicodeError, RecursionError, Refused):
        refuse(field, f"JSON of at most {DEEPEST} levels", value)


def _choice(field: str, parameter: Parameter, value: str) -> str:
    known = {choice for _, choice in choices(parameter)}
    if value not in known:
        by_label = {label.lower(): choice for label, choice in choices(parameter)}
        if value.lower() not in by_label:
            refuse(field, f"one of {', '.join(sorted(known))}", value)
        return by_label[value.lower()]
    return value
