"""Parses check events; rejects what is not one, with a reason."""

import json
import math
import re
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, get_args

import msgspec
from msgspec.structs import force_setattr

from watchbell.alerting.keys import RESERVED_BEGINNING, RESERVED_ENTITIES, is_reserved
from watchbell.alerting.model import (
    LARGEST,
    LONGEST_NAME,
    CheckEvent,
    EventState,
    EventType,
    Rejection,
)
from watchbell.alerting.record_keys import is_record

MOST_BYTES = 8 << 20
"""The longest check event, in bytes."""
NOOP = Rejection("a noop")
"""What some programs push to wake a processor that should stop."""

REQUIRED = ("type", "state", "entity", "check")

# States that no check has: an event with one is an action, whatever its type.
_ACTIONS = dict.fromkeys(("acknowledgement", "test_notifications"), "action")
_DEEPEST = 64
_MOST_NAMED = 10
_OPENINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_DIGITS = re.compile("[0-9]{1,20}")
_NUMBER = re.compile("[+-]?[0-9]{1,300}(?:[.][0-9]{0,300})?(?:[eE][+-]?[0-9]{1,3})?")
_PERFDATA = re.compile(r"(?:'((?:[^']|'')*)'|([^\s=]*))(?:=([^\s;]*)\S*)?")

_shown = reprlib.Repr()
_shown.maxstring = _shown.maxother = _shown.maxlong = 60

_decode = msgspec.json.Decoder(CheckEvent).decode
_encode = msgspec.json.Encoder().encode


def parse(raw: bytes, now: int | None) -> CheckEvent | Rejection:
    """The event, or why the bytes are not one. Never raises.

    `now` is the time of an event that has none; None leaves that to the processor.
    """
    if len(raw) > MOST_BYTES:
        return Rejection(f"too long: {len(raw):,} bytes, expected at most {MOST_BYTES:,}")
    try:
        event = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _judged(raw, now)
    name, check, summary = event.entity, event.check, event.summary
    entity = name.lower()
    if (
        not (entity.isprintable() and check.isprintable())
        or ":" in entity
        or entity[0] == RESERVED_BEGINNING
        or entity in RESERVED_ENTITIES
        or is_record(entity, check)
        or entity.isspace()
        or check.isspace()
        or event.acknowledgement_id is not None
        or event.state in _ACTIONS
    ):
        return _judged(raw, now)
    if entity != name:
        force_setattr(event, "entity", entity)
    if event.time is None:
        force_setattr(event, "time", now)
    if summary is not None and (not summary or summary != summary.strip()):
        force_setattr(event, "summary", summary.strip() or None)
    if event.tags != () or event.details is not None or event.perfdata is not None:
        _tidy(event)
    return event


def _tidy(event: CheckEvent) -> None:
    """Normalises fields that most events do not have."""
    if event.tags != ():
        force_setattr(event, "tags", _distinct(event.tags) if event.tags else ())
    details, perfdata = event.details, event.perfdata
    if details is not None and (not details or details != details.strip()):
        force_setattr(event, "details", details.strip() or None)
    if perfdata is not None and (not perfdata or perfdata != perfdata.strip()):
        force_setattr(event, "perfdata", perfdata.strip() or None)


def from_fields(fields: Mapping[str, object], now: int | None) -> CheckEvent | Rejection:
    """The event with these fields, which may have any type: `parse` for decoded fields."""
    if fields == {"type": "noop"}:
        return NOOP
    missing = [name for name in REQUIRED if _is_empty(fields.get(name))]
    if missing:
        return Rejection(f"missing or empty: {', '.join(missing)}", missing[0])
    unknown = [name for name in fields if name not in _READERS]
    if unknown:
        named = ", ".join(map(_shown.repr, unknown[:_MOST_NAMED]))
        more = len(unknown) - _MOST_NAMED
        return Rejection(f"unknown fields: {named}{f' and {more:,} more' if more > 0 else ''}")
    values, wrong = _read_fields(fields)
    if wrong:
        return Rejection(". ".join(wrong.values()), next(iter(wrong)))
    values.setdefault("time", now)
    values["type"] = _ACTIONS.get(values["state"], values["type"])
    return CheckEvent(**values)


def _read_fields(fields: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of the fields, and what is wrong with which."""
    values: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for name, value in fields.items():
        if value is not None:
            try:
                values[name] = _READERS[name](value)
            except _Unfit as error:
                wrong[name] = f"{name} is {_shown.repr(value)}; expected {error}"
    if not wrong and is_record(values["entity"], values["check"]):
        wrong["check"] = (
            f"check is {_shown.repr(values['check'])}; expected a name that no record has"
        )
    return values, wrong


def encode(event: CheckEvent) -> bytes:
    """The event as it is pushed to `events`."""
    try:
        return _encode(event)
    except UnicodeEncodeError:
        return _encode(msgspec.structs.replace(event, **_scrubbed_fields(event)))


def acknowledge(
    entity: str,
    check: str,
    *,
    summary: str | None = None,
    duration: int | None = None,
    acknowledgement_id: str | None = None,
    time: int | None = None,
) -> CheckEvent:
    """An action that acknowledges a failure for `duration` seconds."""
    return CheckEvent(
        type="action",
        state="acknowledgement",
        entity=entity,
        check=check,
        summary=summary,
        duration=duration,
        acknowledgement_id=acknowledgement_id,
        time=time,
    )


def try_notifications(
    entity: str,
    check: str,
    *,
    summary: str | None = None,
    details: str | None = None,
    time: int | None = None,
) -> CheckEvent:
    """An action that notifies the check's contacts of a test."""
    return CheckEvent(
        type="action",
        state="test_notifications",
        entity=entity,
        check=check,
        summary=summary,
        details=details,
        time=time,
    )


def perfdata_items(text: str | None) -> list[dict[str, str]]:
    """Measurements, `label=value;…` separated by spaces; a label with spaces is in quotes."""
    return [
        {"key": quoted.replace("''", "'") or bare, "value": value}
        for quoted, bare, value in _PERFDATA.findall(text or "")
        if quoted or bare or value
    ]


def ephemeral_tags(entity: str, check: str) -> set[str]:
    """Tags that names imply: host, domain, and the words of the check."""
    host, _, domain = entity.lower().partition(".")
    return {host, domain, *check.lower().split()} - {""}


def _judged(raw: bytes, now: int | None) -> CheckEvent | Rejection:
    """As `parse`, for what the fast path can't read: slower, and with reasons."""
    if _is_deep(raw):
        return Rejection(f"nested more than {_DEEPEST} deep")
    try:
        value = json.loads(raw.decode(errors="surrogateescape"), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        return Rejection(f"not JSON: {error.msg} (character {error.pos})")
    except ValueError as error:
        known = isinstance(error, _NotJSON)
        return Rejection(f"not JSON: {error if known else 'a number has too many digits'}")
    if not isinstance(value, dict):
        return Rejection(f"not a JSON object but {_shown.repr(value)}")
    return from_fields(value, now)


class _NotJSON(ValueError):
    """Rejects a constant that only Python's JSON knows."""


def _refuse_constant(word: str) -> None:
    raise _NotJSON(f"{word} is no number")


def _is_deep(raw: bytes) -> bool:
    """Whether the JSON is nested too deeply to be read safely."""
    if raw.count(b"[") + raw.count(b"{") <= _DEEPEST:
        return False
    depth = 0
    for found in _OPENINGS.finditer(raw):
        token = raw[found.start()]
        if token in b"[{":
            depth += 1
            if depth > _DEEPEST:
                return True
        elif token in b"]}":
            depth -= 1
    return False


def _is_empty(value: object) -> bool:
    return value is None or value in ([], {}) or (isinstance(value, str) and not value.strip())


def _scrubbed(text: str) -> str:
    """The text with a question mark for each character that is not Unicode."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _distinct(tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple({tag: None for each in tags if (tag := each.strip())})


def _scrubbed_fields(event: CheckEvent) -> dict[str, Any]:
    texts = {n: v for n, v in msgspec.structs.asdict(event).items() if isinstance(v, str)}
    return {
        **{name: _scrubbed(text) for name, text in texts.items()},
        "tags": tuple(map(_scrubbed, event.tags)),
    }


# Readers of one field each: the value in its normal form, or _Unfit with what was expected.


class _Unfit(Exception):
    """Its text says what was expected."""


def _one_of(words: tuple[str, ...]) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str) or value.lower() not in words:
            raise _Unfit(f"one of {', '.join(words)}")
        return value.lower()

    return read


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise _Unfit("text")
    if _CONTROL.search(value):
        raise _Unfit("a name without control characters")
    if len(value) > LONGEST_NAME:
        raise _Unfit(f"a name of at most {LONGEST_NAME:,} characters")
    return _scrubbed(value)


def _entity(value: object) -> str:
    name = _name(value).lower()
    if ":" in name:
        raise _Unfit("a name without a colon")
    if is_reserved(name):
        raise _Unfit("a name that no other keys begin with")
    return _name(name)


def _whole(value: object) -> int:
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise _Unfit(f"a whole number of seconds from 0 to {LARGEST}")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _Unfit("a number")
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise _Unfit("a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _Unfit("a number that is not so large")
    return number


def is_number(text: str) -> bool:
    """Whether the text is a number that an event may have."""
    try:
        _number(text)
    except _Unfit:
        return False
    return True


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        raise _Unfit("text")
    return _scrubbed(value).strip() or None


def _id(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _Unfit("text or a whole number")
    text = _text(str(value))
    if text is not None and len(text) > LONGEST_NAME:
        raise _Unfit(f"at most {LONGEST_NAME:,} characters")
    return text


def _tags(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(tag, str) for tag in value):
        raise _Unfit("a list of texts")
    return _distinct(tuple(map(_scrubbed, value)))


_READERS: dict[str, Callable[[object], Any]] = {
    "type": _one_of(get_args(EventType)),
    "state": _one_of(get_args(EventState)),
    "entity": _entity,
    "check": _name,
    "time": _whole,
    "summary": _text,
    "details": _text,
    "perfdata": _text,
    "tags": _tags,
    "acknowledgement_id": _id,
    "duration": _whole,
    "initial_failure_delay": _whole,
    "repeat_failure_delay": _whole,
    "initial_recovery_delay": _whole,
    "ttl": _whole,
    "check_latency": _number,
}
