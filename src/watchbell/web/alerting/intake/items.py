"""Posted items: each becomes a check event, or is rejected with the reason."""

import hashlib
from typing import Literal

import msgspec
from msgspec import Struct

from watchbell.alerting.event import encode, parse
from watchbell.alerting.model import LONGEST_NAME, CheckEvent, Rejection

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode
_many = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Item(Struct, frozen=True):
    """An event as it is pushed, and the id by which a repetition is recognised."""

    event: bytes
    id: bytes = b""


class Answer(Struct, frozen=True, omit_defaults=True):
    """The result for one item."""

    status: Literal["accepted", "repeated", "rejected"]
    reason: str = ""
    """Why it was rejected; names all fields that are wrong."""


def split(body: bytes) -> list[msgspec.Raw] | Rejection:
    """The items of a JSON array, each still as it was sent."""
    try:
        return _many(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Rejection(f"not a JSON array: {error}")


class Terms(Struct, frozen=True):
    """How the items of a request are read."""

    now: int | None
    """The time of an item that has none; None leaves that to the processor."""
    sender: str
    """Ids are unique per sender."""
    actions: bool
    """Whether acknowledgements and tests are accepted, too."""


def read(raw: bytes, terms: Terms) -> Item | Rejection:
    name = b""
    if b'"id"' in raw:
        found = _named(raw, terms.sender)
        if isinstance(found, Rejection):
            return found
        raw, name = found
    event = parse(raw, terms.now)
    if isinstance(event, Rejection):
        return event
    return item(event, name, actions=terms.actions)


def item(event: CheckEvent, name: bytes = b"", *, actions: bool) -> Item | Rejection:
    if event.type == "action" and not actions:
        reason = "type is 'action'; expected 'service' of a key that may only post"
        return Rejection(reason, "type")
    return Item(encode(event), name)


def _named(raw: bytes, sender: str) -> tuple[bytes, bytes] | Rejection:
    """The item without its id, and a digest of that."""
    try:
        fields = _fields(raw)
        text = fields.pop("id", None)
        if text is None or text == b"null":
            return msgspec.json.encode(fields), b""
        name = _text(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # What is not JSON is rejected like any other item.
        return (raw, b"") if not _is_object(raw) else Rejection("id: expected text", "id")
    if not 0 < len(name) <= LONGEST_NAME:
        return Rejection(f"id: expected text of 1 to {LONGEST_NAME:,} characters", "id")
    return msgspec.json.encode(fields), named(sender, name)


def named(sender: str, name: str) -> bytes:
    """The digest of a sender's id for an item."""
    return hashlib.sha256(f"{sender} {name}".encode(errors="replace")).digest()[:16]


def _is_object(raw: bytes) -> bool:
    try:
        return isinstance(_fields(raw), dict)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
