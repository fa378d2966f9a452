"""The check that an API key of scope `ping` reports for."""

from msgspec import Struct

from watchbell.alerting import event
from watchbell.alerting.model import LARGEST, Rejection, split_id
from watchbell.errors import Refused


class Ping(Struct, frozen=True):
    entity: str
    check: str
    ttl: int
    """Seconds after which silence is a failure."""


def ping_of(text: str, ttl: int, now: int) -> Ping:
    """The check of `ENTITY:CHECK`; Refused where that can't be the name of a check."""
    entity, check = split_id(text)
    fields = {"type": "service", "state": "ok", "entity": entity, "check": check, "ttl": ttl}
    judged = event.from_fields(fields, now)
    if isinstance(judged, Rejection):
        raise Refused(f"{text[:80]!r} can't be a check, ENTITY:CHECK: {judged.reason}")
    if not 1 <= ttl <= LARGEST:
        raise Refused("a ping key needs a ttl: the seconds after which silence is a failure")
    return Ping(judged.entity, judged.check, ttl)
