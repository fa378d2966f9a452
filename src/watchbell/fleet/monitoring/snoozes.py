"""Snoozes: for how long nobody is notified of alerts, of one definition or of all."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from watchbell.errors import Refused
from watchbell.fleet.keys import Fleet
from watchbell.store.client import Store
from watchbell.store.replies import pairs
from watchbell.store.script import READ, Script

ALL = "*"
"""In place of a definition."""
LONGEST = 366 * 86_400.0


# KEYS[1] snoozes. Returns their fields.
_READ = Script(READ + "return read('HGETALL', KEYS[1]) or {}")


class Snooze(Struct, frozen=True, kw_only=True, omit_defaults=True):
    until: float
    by: str = ""
    at: float = 0


class Snoozes(Struct, frozen=True):
    """By definition, or `ALL`."""

    found: Mapping[str, Snooze] = {}

    def reason(self, alert: str, now: float) -> str:
        """Why nobody is notified of this alert; empty if people are."""
        for name, words in ((ALL, "all alerts are snoozed"), (alert, "the alert is snoozed")):
            snooze = self.found.get(name)
            if snooze is not None and snooze.until > now:
                return words
        return ""


def parsed(fields: Mapping[bytes, bytes]) -> Snoozes:
    """What other programs spoiled counts as none."""
    found = {}
    for name, raw in fields.items():
        try:
            found[name.decode()] = msgspec.json.decode(raw, type=Snooze)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    return Snoozes(found)


async def read(store: Store) -> Snoozes:
    return parsed(dict(pairs(await _READ(store, [Fleet(store.prefix).alert_snoozes()]))))


async def begin(store: Store, alert: str, seconds: float, by: str, now: float) -> Snooze:
    """Of a definition, or `ALL`. Raises Refused."""
    if not 0 < seconds <= LONGEST:
        raise Refused("expected a time of up to 366 days", field="seconds")
    snooze = Snooze(until=round(now + seconds, 3), by=by, at=round(now, 3))
    key = Fleet(store.prefix).alert_snoozes()
    await store.call("HSET", key, alert, msgspec.json.encode(snooze))
    return snooze


async def end(store: Store, alert: str) -> bool:
    """Whether there was one."""
    return bool(await store.call("HDEL", Fleet(store.prefix).alert_snoozes(), alert))
