"""Reads what is known of the jobs of events."""

import msgspec

from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import EventState
from watchbell.store.client import Store


async def every(store: Store) -> dict[str, EventState]:
    """By the ids of events; those without a finished job are missing."""
    found = await store.call("HGETALL", Jobs(store.prefix).event_states())
    return {name.decode(errors="replace"): _read(raw) for name, raw in found.items()}


def _read(raw: bytes) -> EventState:
    try:
        return msgspec.json.decode(raw, type=EventState)
    except (msgspec.MsgspecError, UnicodeDecodeError):  # written by another program
        return EventState()
