"""When actions run, and which properties each type of action needs."""

from collections.abc import Collection, Mapping
from typing import Any, get_args

import msgspec

from watchbell.errors import Refused
from watchbell.jobs import value_readers as read
from watchbell.jobs.model import Action
from watchbell.jobs.value_readers import Reader

TRIGGERS = ("start", "complete", "success", "error", "warning", "critical", "abort")
TAG_TRIGGER = "tag:"
ALERT_TRIGGERS = ("alert_new", "alert_cleared")
ALERT_TYPES = ("email", "web_hook", "run_event", "channel", "disable", "snapshot")
"""Of actions of alerts. `disable` disables the definition."""


def trigger(field: str, value: Any) -> str:
    if isinstance(value, str) and value.startswith(TAG_TRIGGER):
        return TAG_TRIGGER + read.identifier(field, value.removeprefix(TAG_TRIGGER))
    found: str = read.one_of((*TRIGGERS, "tag:ID"))(field, value)
    return found


_ACTION: dict[str, Reader] = {
    "trigger": trigger,
    "type": read.one_of(get_args(Action.__annotations__["type"])),
    "enabled": read.yes_or_no,
    "email": read.addresses,
    "users": read.array(read.line(least=1)),
    "url": read.url,
    "event_id": read.optional_identifier,
    "channel_id": read.optional_identifier,
    "tags": read.array(read.identifier),
    "params": read.mapping,
    "text": read.text,
}
PROPERTIES: Collection[str] = _ACTION.keys()
_OF_ALERT: dict[str, Reader] = {
    **_ACTION,
    "trigger": read.one_of(ALERT_TRIGGERS),
    "type": read.one_of(ALERT_TYPES),
}
_NEEDED_BY_ACTION: dict[str, tuple[str, ...]] = {
    "email": ("email", "users"),
    "web_hook": ("url",),
    "run_event": ("event_id",),
    "channel": ("channel_id",),
    "tag": ("tags",),
}


def of_node(data: Mapping[str, Any], trigger_: str) -> Action:
    """The action of a node of a workflow, which was validated without its trigger."""
    found: Action = reader(strict=False)("", {**data, "trigger": "complete"})
    return msgspec.structs.replace(found, trigger=trigger_)


def reader(*, strict: bool, of_alert: bool = False) -> Reader:
    readers = _OF_ALERT if of_alert else _ACTION

    def action(field: str, value: Any) -> Action:
        found = read.fields(field, read.mapping(field, value), readers, strict=strict)
        for name in ("trigger", "type"):
            if name not in found:
                raise Refused("enter one", field=f"{field}.{name}")
        needed = _NEEDED_BY_ACTION.get(found["type"], ())
        if needed and not any(found.get(name) for name in needed):
            reason = f"an action of the type {found['type']} needs it"
            raise Refused(reason, field=f"{field}.{needed[0]}")
        return Action(**found)

    return action
