"""What the readers of all kinds of definitions share."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from watchbell.alerting import expressions
from watchbell.errors import Refused
from watchbell.jobs import value_readers as read_value
from watchbell.jobs.model import Parameter
from watchbell.jobs.value_readers import LARGEST, Reader
from watchbell.schedule.fields import refuse

LONGEST_REGEX = 1_000


COMMON: dict[str, Reader] = {
    "id": read_value.identifier,
    "title": read_value.line(least=1),
    "icon": read_value.line(),
    "notes": read_value.text,
    "username": read_value.line(),
    "created": read_value.whole(0, LARGEST),
    "modified": read_value.whole(0, LARGEST),
    "revision": read_value.whole(0, LARGEST),
}
ENABLED: dict[str, Reader] = {**COMMON, "enabled": read_value.yes_or_no}
IDS = read_value.array(read_value.identifier)
NAMES = read_value.array(read_value.line(least=1))


def record_reader(
    cls: Callable[..., Struct], readers: Mapping[str, Reader], *, strict: bool
) -> Reader:
    def reader(field: str, value: Any) -> Struct:
        given = read_value.mapping(field, value)
        found = read_value.fields(field, given, readers, strict=strict)
        for name in ("id", "title"):
            if name in readers and name not in found and cls is not Parameter:
                raise Refused("enter one", field=f"{field}.{name}" if field else name)
        return cls(**found)

    return reader


def regex(field: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_REGEX:
        refuse(field, f"a regular expression of at most {LONGEST_REGEX} characters", value)
    try:
        expressions.compiled(value)
    except Refused as error:
        raise Refused(f"{value!r} is no regular expression: {error}", field=field) from None
    return value
