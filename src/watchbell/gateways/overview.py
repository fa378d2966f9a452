"""The status of media: what waits, what was delivered, what was given up."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from watchbell.alerting.keys import Alerting
from watchbell.gateways.keys import Gateways
from watchbell.gateways.outbox import Item, Unfit
from watchbell.store.client import Store
from watchbell.store.presence import is_silent
from watchbell.store.script import Script

ALIVE = 15
"""Seconds after which a gateway that did not report counts as gone."""
MANY = 3
"""A gateway is failing once it has given up so many alerts since the last delivery."""
AWAY = "the server is away"

# KEYS of each medium: queue, outbox, failed, status.
# Returns for each their lengths, how many were given up after the last success, and the status.
_STATUS = Script("""
local answers = {}
for i = 1, #KEYS, 4 do
  local success = redis.call('HGET', KEYS[i + 3], 'last_success')
  local after = tonumber(success) and '(' .. success or '-inf'
  answers[#answers + 1] = {
    redis.call('LLEN', KEYS[i]), redis.call('HLEN', KEYS[i + 1]), redis.call('ZCARD', KEYS[i + 2]),
    redis.call('ZCOUNT', KEYS[i + 2], after, '+inf'), redis.call('HGETALL', KEYS[i + 3]),
  }
end
return answers
""")


# KEYS[1] lanes, KEYS[2] outbox; ARGV[1] what sets of checks and ARGV[2] what lists of alerts begin
# with, ARGV[3] how many lanes to look at. Returns the first alert of the first check of each lane.
_HEADS = Script("""
local heads = {}
for _, lane in ipairs(redis.call('ZRANGE', KEYS[1], 0, ARGV[3] - 1)) do
  local check = redis.call('ZRANGE', ARGV[1] .. lane, 0, 0)[1]
  local id = check and redis.call('LINDEX', ARGV[2] .. check, 0)
  local item = id and redis.call('HGET', KEYS[2], id)
  if item then heads[#heads + 1] = item end
end
return heads
""")
_LANES = 500
"""Addresses whose oldest message is looked at, those that are due first."""


class _Head(Struct):
    since: float


Level = Literal["ok", "warning", "critical", "none"]


class Health(Struct, frozen=True):
    """Whether a gateway works, and why not."""

    level: Level
    """`none`: it does not run, and nothing waits for it."""
    words: str


class MediumStatus(Struct, kw_only=True):
    """The status of one medium. Times are seconds since 1970."""

    medium: str
    queued: int
    """On the queue of the notifier."""
    on_its_way: int
    failed: int
    failed_since_success: int = 0
    """Of these, given up after the last delivery."""
    state: str = ""
    seen: int = 0
    delivered: int = 0
    given_up: int = 0
    retried: int = 0
    """Attempts that failed and were followed by another one."""
    last_success: int | None = None
    last_answer: str = ""
    last_failure: int | None = None
    last_error: str = ""

    def is_alive(self, now: float) -> bool:
        return not is_silent(self.seen, now, ALIVE)


def health(medium_status: MediumStatus, now: float) -> Health:
    """Whether the medium's gateway works, as the command line, the pages and the API show it."""
    waiting, gave_up = (
        medium_status.queued + medium_status.on_its_way,
        medium_status.failed_since_success,
    )
    if not medium_status.is_alive(now):
        return _not_running(waiting)
    if medium_status.state.startswith(AWAY):
        return Health("critical", medium_status.state)
    error = f": {medium_status.last_error}" if medium_status.last_error else ""
    if gave_up and (not medium_status.delivered or gave_up >= MANY):
        since = "since the last delivery" if medium_status.delivered else "and delivered none"
        return Health("critical", f"failing: gave up {_alerts(gave_up)} {since}{error}")
    if medium_status.last_failure and medium_status.last_failure > (
        medium_status.last_success or 0
    ):
        return Health("warning", f"the last message failed{error}")
    if medium_status.failed:
        return Health("warning", f"gave up {_alerts(medium_status.failed)} that can be sent again")
    return Health(
        "ok", "running" if medium_status.state.endswith(" delivered") else medium_status.state
    )


def _not_running(waiting: int) -> Health:
    if not waiting:
        return Health("none", "not running")
    return Health("critical", f"not running; {_alerts(waiting)} waiting")


def _alerts(count: int) -> str:
    return f"{count:,} alert{'' if count == 1 else 's'}"


async def statuses(store: Store, media: Sequence[str]) -> list[MediumStatus]:
    keys, queues = Gateways(store.prefix), Alerting(store.prefix)
    names = [
        name
        for medium in media
        for name in (
            *(queues.queue(medium), keys.outbox(medium), keys.failed(medium)),
            keys.status(medium),
        )
    ]
    answers = await _STATUS(store, names) if names else []
    return [_medium_status(medium, *answer) for medium, answer in zip(media, answers, strict=True)]


def _medium_status(
    medium: str, queued: int, underway: int, failed: int, since: int, status: list[bytes]
) -> MediumStatus:
    texts = [word.decode(errors="replace") for word in status]
    known = dict(zip(texts[::2], texts[1::2], strict=True))
    fields = {
        name: value for name, value in known.items() if name in MediumStatus.__struct_fields__
    }
    counts = {"queued": queued, "on_its_way": underway, "failed": failed}
    given = {**fields, **counts, "medium": medium, "failed_since_success": since}
    return msgspec.convert(given, MediumStatus, strict=False)


async def oldest(store: Store, media: Sequence[str]) -> dict[str, float]:
    """When the oldest waiting message of each medium came in, in seconds since 1970."""
    keys = Gateways(store.prefix)
    found = {}
    for medium in media:
        names = [keys.lanes(medium), keys.outbox(medium)]
        begin = [keys.checks(medium, ""), keys.alerts(medium, "")]
        heads = await _HEADS(store, names, [*begin, _LANES])
        waiting = [msgspec.json.decode(head, type=_Head).since for head in heads]
        if waiting:
            found[medium] = min(waiting)
    return found


async def failed(store: Store, medium: str, first: int, count: int) -> list[Item | Unfit]:
    """What was given up, the newest first."""
    keys = Gateways(store.prefix)
    last = first + count - 1 if count else -1
    names = await store.call("ZRANGE", keys.failed(medium), first, last, "REV")
    if not names:
        return []
    records = await store.call("HMGET", keys.failures(medium), *names)
    return [failure(record) for record in records if record is not None]


def failure(record: bytes) -> Item | Unfit:
    """Decodes what is kept of one."""
    fields = msgspec.json.decode(record)
    if "raw" in fields:
        return msgspec.convert(fields, Unfit)
    return msgspec.convert(fields, Item)
