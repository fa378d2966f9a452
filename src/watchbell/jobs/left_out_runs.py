"""Scheduled runs of an event that launched nothing, and why."""

import msgspec

from watchbell.jobs.claims import LeftOut
from watchbell.jobs.keys import Jobs
from watchbell.store.client import Store


async def latest(store: Store, event: str) -> LeftOut | None:
    """The last ones; None if there are none, or other programs spoiled the note."""
    raw = await store.call("HGET", Jobs(store.prefix).left_out(), event)
    try:
        return None if raw is None else msgspec.json.decode(raw, type=LeftOut)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def words(one: LeftOut) -> str:
    if one.number == 1:
        return f"a scheduled run was left out: {one.reason}"
    count = "many" if one.number is None else f"{one.number:,}"
    return f"{count} scheduled runs were left out: {one.reason}"
