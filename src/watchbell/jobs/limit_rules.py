"""Which properties each type of limit has."""

from collections.abc import Collection
from typing import Any

from watchbell.errors import Refused
from watchbell.jobs import value_readers as read
from watchbell.jobs.action_rules import trigger
from watchbell.jobs.model import Limit
from watchbell.jobs.value_readers import LARGEST, LONGEST_TIME, Reader
from watchbell.schedule.fields import refuse

_REACTIONS: dict[str, Reader] = {
    "abort": read.yes_or_no,
    "tags": read.array(read.identifier),
    "users": read.array(read.line(least=1)),
    "email": read.addresses,
    "url": read.url,
    "text": read.text,
    "snapshot": read.yes_or_no,
}
"""What is done about a job that reaches its limit."""
_EVERY_LIMIT: dict[str, Reader] = {"type": read.anything, "enabled": read.yes_or_no}
_SECONDS = read.number(0, LONGEST_TIME)
_COUNT: dict[str, Reader] = {**_EVERY_LIMIT, "amount": read.whole(0, LARGEST)}
_USAGE: dict[str, Reader] = {
    **_EVERY_LIMIT,
    **_REACTIONS,
    "amount": read.number(0.001, LARGEST),
    "duration": _SECONDS,
}
_LIMITS: dict[str, dict[str, Reader]] = {
    "time": {**_EVERY_LIMIT, **_REACTIONS, "duration": read.number(0.001, LONGEST_TIME)},
    "job": {**_EVERY_LIMIT, "amount": read.whole(1, LARGEST)},
    "log": {**_EVERY_LIMIT, **_REACTIONS, "amount": read.whole(1, LARGEST)},
    "mem": _USAGE,
    "cpu": _USAGE,
    "retry": {**_COUNT, "duration": _SECONDS},
    "queue": _COUNT,
    "file": {**_COUNT, "size": read.whole(0, LARGEST), "accept": read.line(1_000)},
    "day": {**_COUNT, "condition": trigger},
    "tag": _COUNT,
}


def properties(kind: object) -> Collection[str]:
    """The properties that a type of limit has."""
    return _LIMITS.get(kind, _EVERY_LIMIT) if isinstance(kind, str) else _EVERY_LIMIT


def reader(*, strict: bool) -> Reader:
    def limit(field: str, value: Any) -> Limit:
        given = read.mapping(field, value)
        kind = given.get("type")
        if not isinstance(kind, str) or kind not in _LIMITS:
            refuse(f"{field}.type", f"one of {', '.join(_LIMITS)}", kind)
        found = read.fields(field, given, _LIMITS[kind], strict=strict)
        needed = "duration" if kind == "time" else "amount"
        if needed not in found:
            raise Refused(f"a limit of the type {kind} needs it", field=f"{field}.{needed}")
        return Limit(**found)

    return limit
