"""States that were posted with a lifetime, and how failures among them are reported again.

A sender posts a state once, but a failure must last before anybody is notified. So it is reported
every few seconds until its lifetime is over, another state is posted, or another source reports.
"""

import enum
from collections.abc import AsyncIterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.event import encode
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import FAILING, CheckEvent
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script
from watchbell.web.keys import Web

EVERY = 10
"""Seconds between two reports of a failure."""
FORGOTTEN = 86_400
"""Seconds after which the state of a check that is not enabled is dropped."""
_PAGE = 500

# The state of a check that is enabled.
_STATE = CheckScript("""
if not redis.call('ZSCORE', key('current_checks', entity), check) then return false end
return redis.call('HGET', key('current', entity, check), 'state')
""")

# KEYS[1] states, KEYS[2] events; ARGV of each: its check, its record as it was read, and the event
# to push, or nothing to delete the record. One that has changed since it was read is left alone.
# Returns how many were pushed.
_REPEAT = Script("""
local pushed = 0
for i = 1, #ARGV, 3 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    if ARGV[i + 2] == '' then
      redis.call('HDEL', KEYS[1], ARGV[i])
    else
      redis.call('LPUSH', KEYS[2], ARGV[i + 2])
      pushed = pushed + 1
    end
  end
end
return pushed
""")


class Held(Struct, frozen=True):
    """A state as it was posted."""

    event: CheckEvent
    since: int

    @property
    def ends(self) -> int | None:
        """When its lifetime ends; infinite without one."""
        return None if self.event.ttl is None else self.since + self.event.ttl


class Fate(enum.Enum):
    REPEAT = "it is a failure, and holds"
    LEAVE = "there is nothing to say"
    DROP = "it holds no more"


def fate(held: Held, state: str | None, now: int) -> Fate:
    """What to do with it, by the check's present state; None where it is not enabled."""
    age = now - held.since
    if held.ends is not None and now >= held.ends:
        return Fate.DROP
    if state is None and age >= FORGOTTEN:
        return Fate.DROP
    if held.event.state in FAILING and state == held.event.state and age >= EVERY:
        return Fate.REPEAT
    return Fate.LEAVE


def repeated(held: Held, now: int) -> CheckEvent:
    """The report to repeat; its lifetime counts from when it was posted."""
    left = None if held.ends is None else held.ends - now
    return replace(held.event, time=now, ttl=left)


class States:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._states = Web(store.prefix).states()
        self._events = Alerting(store.prefix).events()

    async def page(self, cursor: int, count: int) -> tuple[int, dict[str, Held]]:
        """About so many of those that are held, in no order, and where the next ones begin; 0
        after the last."""
        after, found = await self._store.call("HSCAN", self._states, cursor, "COUNT", count)
        records = {name.decode(errors="replace"): _decoded(raw) for name, raw in found.items()}
        return int(after), {name: held for name, held in records.items() if held is not None}

    async def repeat(self, now: int) -> int:
        """Reports failures that hold once more, and drops states that no longer hold. Returns how
        many reports were made."""
        pushed = 0
        async for found in self._pages():
            ids = list(found)
            states = {
                name: state.decode(errors="replace")
                async for name, state in _STATE.over(self._store, ids, [], _PAGE)
            }
            arguments: list[Argument] = []
            for name, raw in found.items():
                arguments += self._arguments(name, raw, states.get(name), now)
            if arguments:
                pushed += await _REPEAT(self._store, [self._states, self._events], arguments)
        return pushed

    def _arguments(self, name: str, raw: bytes, state: str | None, now: int) -> list[Argument]:
        held = _decoded(raw)
        what = Fate.DROP if held is None else fate(held, state, now)
        if what is Fate.LEAVE:
            return []
        again = encode(repeated(held, now)) if held is not None and what is Fate.REPEAT else b""
        return [name, raw, again]

    async def _pages(self) -> AsyncIterator[dict[str, bytes]]:
        cursor = 0
        while True:
            cursor, found = await self._store.call("HSCAN", self._states, cursor, "COUNT", _PAGE)
            if found:
                yield {name.decode(errors="replace"): raw for name, raw in found.items()}
            if int(cursor) == 0:
                return


def encoded(event: CheckEvent, now: int) -> bytes:
    """As it is stored."""
    return msgspec.json.encode(Held(event, now))


def _decoded(raw: bytes) -> Held | None:
    try:
        return msgspec.json.decode(raw, type=Held)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
