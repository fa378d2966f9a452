"""An event of a stream, and its wire format."""

from collections.abc import AsyncGenerator
from typing import NamedTuple


class Event(NamedTuple):
    id: str
    """By which a reader resumes after a cut; empty where it can't."""
    name: str
    data: bytes
    """Without line breaks."""


Source = AsyncGenerator[Event, None]


def framed(event: Event) -> bytes:
    id_ = f"id: {event.id}\n" if event.id else ""
    return f"{id_}event: {event.name}\ndata: ".encode() + event.data + b"\n\n"
