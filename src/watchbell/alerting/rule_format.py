"""Notification rules as they are stored: a hash of JSON lists and flags."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from watchbell.alerting.model import Rule

SEVERITIES = ("critical", "warning", "unknown")
FIELDS = (
    *("entities", "regex_entities", "tags", "entity_tags", "regex_tags", "time_restrictions"),
    *("unknown_media", "warning_media", "critical_media"),
    *("unknown_blackhole", "warning_blackhole", "critical_blackhole"),
)
"""The fields of a rule's hash besides its id and its contact."""
LISTS = ("entities", "regex_entities", "regex_tags", *(f"{s}_media" for s in SEVERITIES))

_texts = msgspec.json.Decoder(tuple[str, ...] | None)
_objects = msgspec.json.Decoder(tuple[dict[str, Any], ...] | None)
_NEVER_FORM = re.compile(r"\(\?!\)\(\?#(\w+)\)")


def parse(fields: Mapping[bytes, bytes]) -> Rule:
    """The rule of a stored hash. One with a list that can't be read matches nothing, so that what
    it was to narrow or to silence goes the contact's other ways; `unreadable` lists those."""
    found: dict[str, Any] = {name: _read(_texts, fields.get(name.encode())) for name in LISTS}
    tags = fields.get(b"tags")
    given = fields.get(b"entity_tags") if tags in (None, b"", b"null") else tags
    found["tags"] = _read(_texts, given)
    found["time_restrictions"] = _read(_objects, fields.get(b"time_restrictions"))
    bad = [name for name, value in found.items() if value is None]
    found.update(dict.fromkeys(bad, ()))
    found["regex_entities"] += tuple(map(never, bad))
    return Rule(
        id=fields.get(b"id", b"").decode(errors="replace"),
        contact_id=fields.get(b"contact_id", b"").decode(errors="replace"),
        unknown_blackhole=fields.get(b"unknown_blackhole") == b"true",
        warning_blackhole=fields.get(b"warning_blackhole") == b"true",
        critical_blackhole=fields.get(b"critical_blackhole") == b"true",
        **found,
    )


def _read(decoder: msgspec.json.Decoder[Any], text: bytes | None) -> tuple[Any, ...] | None:
    if not text:
        return ()
    try:
        return decoder.decode(text) or ()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def never(field: str) -> str:
    """An expression that matches nothing and names the unreadable field."""
    return f"(?!)(?#{field})"


def unreadable(rule: Rule) -> tuple[str, ...]:
    """The stored fields that can't be read."""
    found = (_NEVER_FORM.fullmatch(text) for text in rule.regex_entities)
    return tuple(match[1] for match in found if match)


def without_unreadable(rule: Rule, fields: Iterable[str]) -> Rule:
    """The rule after these of its fields were entered again."""
    mended = set(map(never, fields))
    return replace(
        rule, regex_entities=tuple(text for text in rule.regex_entities if text not in mended)
    )


def fields(rule: Rule) -> dict[str, str]:
    """The hash that is stored."""
    lists = {name: _written(getattr(rule, name)) for name in (*LISTS, "time_restrictions")}
    holes = {f"{s}_blackhole": getattr(rule, f"{s}_blackhole") for s in SEVERITIES}
    tags = _written(rule.tags)
    return {
        "id": rule.id,
        "contact_id": rule.contact_id,
        "tags": tags,
        "entity_tags": tags,
        **lists,
        **{name: "true" if hole else "false" for name, hole in holes.items()},
    }


def _written(values: tuple[Any, ...]) -> str:
    return msgspec.json.encode(values or None).decode()


def owned(
    contact_id: str, stored: Iterable[tuple[bytes, Mapping[bytes, bytes]]]
) -> tuple[Rule, ...]:
    """A contact's rules, by id and hash; an id that is no text is nobody's."""
    rules = []
    for raw, found in stored:
        with suppress(UnicodeDecodeError):
            rules.append(replace(parse(found), id=raw.decode(), contact_id=contact_id))
    return tuple(rules)


def flat(rule: Rule) -> list[str]:
    return [text for pair in fields(rule).items() for text in pair]
