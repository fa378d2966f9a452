"""Counters and queue lengths of alerting, for metrics."""

import msgspec
from msgspec import Struct

from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.store.client import Store
from watchbell.store.script import Script

# KEYS[1] event counters, KEYS[2] notification counters, KEYS[3] all checks, KEYS[4] failed checks,
# KEYS[5] events, KEYS[6] notifications. Of each queue it returns the length and its oldest item.
_READ = Script("""
return {
  redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2]),
  redis.call('ZCARD', KEYS[3]), redis.call('ZCARD', KEYS[4]),
  {redis.call('LLEN', KEYS[5]), redis.call('LINDEX', KEYS[5], -1)},
  {redis.call('LLEN', KEYS[6]), redis.call('LINDEX', KEYS[6], 0)},
}
""")


class Waiting(Struct, frozen=True):
    length: int
    oldest: float | None
    """The time of its oldest item, in seconds since 1970, if the item has one."""


class Figures(Struct, frozen=True):
    events: dict[str, int]
    notifications: dict[str, int]
    checks: int
    failing: int
    queues: dict[str, Waiting]


async def figures(store: Store) -> Figures:
    keys, own = Alerting(store.prefix), AlertingOwn(store.prefix)
    names = [
        *(keys.counters(), own.notification_counters(), keys.all_checks(), keys.failed_checks()),
        *(keys.events(), keys.notifications()),
    ]
    counters, notifications, checks, failing, *queues = await _READ(store, names)
    return Figures(
        events=_counts(counters),
        notifications=_counts(notifications),
        checks=checks,
        failing=failing,
        queues={
            name: Waiting(length, _made_at(oldest))
            for name, (length, oldest) in zip(("events", "notifications"), queues, strict=True)
        },
    )


def _counts(pairs: list[bytes]) -> dict[str, int]:
    """Fields that hold a number; another program may have written others."""
    return {
        name.decode(): int(value)
        for name, value in zip(pairs[::2], pairs[1::2], strict=True)
        if value.isdigit() and name.isascii()
    }


class _Dated(Struct):
    time: float | str | None = None


def _made_at(item: bytes | None) -> float | None:
    if item is None:
        return None
    try:
        time = msgspec.json.decode(item, type=_Dated).time
        return None if time is None else float(time)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError):
        return None
