"""Ready-made messages of other domains: queued once, delivered as alerts are, outcome recorded."""

from typing import Literal

import msgspec
from msgspec import Struct

from watchbell.gateways.keys import Gateways
from watchbell.gateways.message import Message
from watchbell.gateways.outbox import Item, Outbox
from watchbell.probes import probe
from watchbell.store.client import Store
from watchbell.store.replies import number, pairs, text
from watchbell.store.script import Script

# KEYS[1] record; ARGV[1…2] what stands around a medium's name in the key of its outbox.
# Returns all fields of the record and the item in the outbox, or nothing without a record.
_OUTCOME = Script("""
local known = redis.call('HMGET', KEYS[1], 'medium', 'id')
if not known[1] then return false end
local item = redis.call('HGET', ARGV[1] .. known[1] .. ARGV[2], known[2])
return {redis.call('HGETALL', KEYS[1]), item}
""")


class Outcome(Struct, frozen=True):
    """What became of a message. Times are seconds since 1970."""

    state: Literal["waiting", "sent", "failed"]
    medium: str
    address: str
    queued_at: int
    ended_at: int | None = None
    reason: str = ""
    """The server's answer, or why the last attempt failed."""

    def __str__(self) -> str:
        """`email to alice@example.com failed: 550 no such user`"""
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.medium} to {self.address} {self.state}{reason}"


async def send_later(store: Store, medium: str, message: Message, record: str, now: float) -> bool:
    """Queues a message for a medium; its gateway sends it within about a second.

    `record` is the key of a hash of the caller's own family. It is made here, and the outcome is
    written to it for as long as the caller keeps it. Where it exists the message was queued before
    and nothing happens, so a caller may repeat the call; the result says whether it was the first.
    """
    probe("message.queueing")
    item = Item(message=message, record=record, since=now)
    fields: dict[str, str | int] = {
        "medium": medium,
        "id": message.id,
        "address": message.address,
        "subject": message.subject,
        "queued_at": int(now),
    }
    is_first = await Outbox(store, medium).add(item, fields)
    probe("message.queued")
    return is_first


async def outcome(store: Store, record: str) -> Outcome | None:
    """What became of the message with this record; None where there is no record."""
    around = Gateways(store.prefix).outbox.literals
    found = await _OUTCOME(store, [record], [*around])
    if found is None:
        return None
    fields = {text(name): value for name, value in pairs(found[0])}
    known = text(fields["medium"]), text(fields["address"]), number(fields["queued_at"]) or 0
    if "delivered_at" in fields:
        answer, ended_at = text(fields["answer"]), number(fields["delivered_at"])
        return Outcome("sent", *known, ended_at, answer)
    if found[1] is not None:
        error = msgspec.json.decode(found[1], type=Item).error
        return Outcome("waiting", *known, reason=error)
    error, ended_at = text(fields.get("error", b"")), number(fields.get("failed_at"))
    return Outcome("failed", *known, ended_at, error)
