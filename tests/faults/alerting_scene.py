"""A crew of processors and notifiers for alerting under fire, and what is left when it is done."""

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Any

import msgspec

from tests.alerting.scenes import Stage
from tests.families import FAMILIES
from tests.faults.invariants import history_as_modelled
from tests.waiting import eventually
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.store import key_counts
from watchbell.store.client import Store, patiently
from watchbell.store.families import Family
from watchbell.store.keys import StoreKeys, tagged
from watchbell.store.script import Script

LEASE = 0.5
# With these the outcome does not depend on when an event is processed: every change is told.
AT_ONCE: dict[str, Any] = {"initial_failure_delay": 0, "repeat_failure_delay": 1_000_000}
Row = dict[str, Any]
POINTS = {
    role: [
        *(f"queue.{point}" for point in ("taken", "before_acknowledge", "acknowledged")),
        *(f"{role}.{point}" for point in ("loaded", "decided", "applied")),
    ]
    for role in ("processor", "notifier")
}


class Crew:
    """So many processors and notifiers; each that falls is replaced by one that is sound."""

    def __init__(self, url: str, clock: str, chance: random.Random, each: int = 1) -> None:
        self._url, self._clock, self._chance = url, clock, chance
        self._everyone: list[subprocess.Popen[bytes]] = []
        self._faults: dict[int, str] = {}
        self._rounds = 0
        self.deaths: Counter[str] = Counter()
        """How many died, by the probe point or by our hand."""
        self.posts = [
            (name, self._hired(name)) for name in ("processor", "notifier") for _ in range(each)
        ]

    def _hired(self, name: str, fault: str = "") -> "subprocess.Popen[bytes]":
        most = "50" if name == "processor" else "10"
        command = [self._url, name, self._clock, str(LEASE), most, *([fault] if fault else [])]
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.alerting_worker", *command],
            stdin=subprocess.DEVNULL,
        )
        self._everyone.append(worker)
        self._faults[worker.pid] = fault.partition(":")[0]
        return worker

    def arm(self) -> None:
        """One of each kind gives way to one that will kill itself at the next of the points."""
        for name, points in POINTS.items():
            at = self._chance.choice([n for n, post in enumerate(self.posts) if post[0] == name])
            self._end(self.posts[at][1])
            point = points[self._rounds % len(points)]
            self.posts[at] = (name, self._hired(name, f"{point}:{self._chance.randint(1, 3)}"))
        self._rounds += 1

    def strike(self) -> None:
        """Kills somebody at whatever they are doing."""
        at = self._chance.randrange(len(self.posts))
        name, worker = self.posts[at]
        self._end(worker)
        self.deaths["our hand"] += 1
        self.posts[at] = (name, self._hired(name))

    def muster(self) -> None:
        for at, (name, worker) in enumerate(self.posts):
            if worker.poll() is not None:
                assert worker.returncode == -signal.SIGKILL, "a worker ended by itself"
                self.deaths[self._faults[worker.pid] or "what it held"] += 1
                self.posts[at] = (name, self._hired(name))

    def _end(self, worker: "subprocess.Popen[bytes]") -> None:
        worker.kill()
        worker.wait()

    def dismiss(self) -> None:
        for worker in self._everyone:
            self._end(worker)


# ARGV: for each queue its key, its takers, and what the list of a taker begins with. Returns how
# many items wait or are in somebody's hands.
_UNDONE = Script("""
local undone = 0
for i = 1, #ARGV, 3 do
  undone = undone + redis.call('LLEN', ARGV[i])
  for _, taker in ipairs(redis.call('ZRANGE', ARGV[i + 1], 0, -1)) do
    undone = undone + redis.call('LLEN', ARGV[i + 2] .. taker)
  end
end
return undone
""")


async def is_drained(store: Store) -> bool:
    """Nothing waits and nothing is in anybody's hands, neither events nor what they led to."""
    keys, own = Alerting(store.prefix), StoreKeys()
    queues = [keys.events(), keys.notifications()]
    named = [(key, own.takers(tagged(key)), own.taken(tagged(key), "")) for key in queues]
    args = [part for queue in named for part in queue]
    return not await patiently(lambda: _UNDONE(store, [], args))


def encoded(events: Iterable[Row]) -> list[bytes]:
    return [json.dumps(event).encode() for event in events]


def every(state: str, checks: Iterable[tuple[str, str]], **more: Any) -> list[Row]:
    """One report of each of the checks."""
    return [
        {"type": "service", "state": state, "entity": entity, "check": name, **more}
        for entity, name in checks
    ]


async def processed(store: Store) -> int:
    counters = Alerting(store.prefix).counters()
    return int(await patiently(lambda: store.call("HGET", counters, "all")) or 0)


async def reach(store: Store, count: int) -> None:
    async def reached() -> bool:
        return await processed(store) >= count

    await eventually(reached, 150, f"{count} events are processed")


async def drained(store: Store) -> None:
    await eventually(lambda: is_drained(store), 60, "everything is processed and told")


async def wrong_histories(store: Store, events: list[Row]) -> list[str]:
    keys = Alerting(store.prefix)
    wrong = []
    by_check: dict[tuple[str, str], list[Row]] = {}
    for number, event in enumerate(events):
        if event["type"] == "service":
            row = {"id": number, "time": number, "state": event["state"]}
            by_check.setdefault((event["entity"], event["check"]), []).append(row)
    for at, rows in by_check.items():
        times = await store.call("LRANGE", keys.states(*at), 0, -1)
        history = [(await store.call("GET", keys.state(*at, int(t)))).decode() for t in times]
        found = history_as_modelled(history, rows, changes)
        wrong += [f"{':'.join(at)}: {line}" for line in found]
    return wrong


def changes(rows: list[Row]) -> list[str]:
    return [state for state, _ in groupby(row["state"] for row in rows)]


async def alice(store: Store) -> None:
    media = dict.fromkeys(("warning_media", "critical_media"), ("email",))
    await Stage(store).contact("alice", "email", rule={"id": "alice-general", **media})


# ARGV: keys. Returns what each holds, in one order whatever the order of writing was.
_CONTENTS = Script("""
local readers = {
  string = function(key) return redis.call('GET', key) end,
  list = function(key) return redis.call('LRANGE', key, 0, -1) end,
  hash = function(key) return redis.call('HGETALL', key) end,
  set = function(key) return redis.call('SORT', key, 'BY', 'nosort', 'ALPHA') end,
  zset = function(key) return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end,
}
local answers = {}
for i, key in ipairs(ARGV) do answers[i] = readers[redis.call('TYPE', key).ok](key) end
return answers
""")

# Who did it, by which number and under which id: what differs from run to run although all is well.
_WHO: Collection[Family] = {
    *StoreKeys.families(),
    Alerting.instance,
    Alerting.instance_counters,
    Alerting.count,
    Alerting.alerts,
    Alerting.alerts_by_contact,
    Alerting.alerts_by_medium,
    Alerting.alerts_by_check,
    Alerting.alerts_by_date,
    Alerting.entity,
    Alerting.entity_id,
    Alerting.entity_ids,
    Alerting.entity_names,
    AlertingOwn.decisions,
}
_QUEUES = (Alerting.queue, Alerting.jabber_queue, Alerting.pagerduty_queue)


async def contents(store: Store) -> dict[str, Any]:
    """Everything in the store that must be the same whoever did the work in whatever pieces."""
    found: dict[str, Any] = {}
    records = []
    seen = [one async for _, one in key_counts.look(store, FAMILIES) if one.family not in _WHO]
    for first in range(0, len(seen), 500):
        some = seen[first : first + 500]
        values = await _CONTENTS(store, [], [one.key for one in some])
        for one, value in zip(some, values, strict=True):
            if one.family is Alerting.alert:
                records.append(sorted(pairs(value).items()))
            elif one.family in _QUEUES:
                found[one.key] = sorted(map(_anonymous, value))
            elif one.family is AlertingOwn.drop_expiries:  # by the store's clock
                found[one.key] = sorted(pairs(value))
            elif one.family is Alerting.archive or one.kind == "set":
                found[one.key] = sorted(value)
            else:
                found[one.key] = pairs(value) if one.kind in ("hash", "zset") else value
    return {**found, "records of alerts": sorted(records)}


def pairs(flat: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _anonymous(alert: bytes) -> bytes:
    fields = msgspec.json.decode(alert)
    return msgspec.json.encode({**fields, "id": "", "event_count": 0}, order="sorted")


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What is there and should not be, and the other way round, entry by entry."""
    wanted, there = _entries(expected), _entries(found)
    return [
        *(f"{entry}: {n} too many" for entry, n in (there - wanted).items()),
        *(f"{entry}: {n} missing" for entry, n in (wanted - there).items()),
    ]


def _entries(whole: dict[str, Any]) -> Counter[str]:
    entries: Counter[str] = Counter()
    for key, value in whole.items():
        rows = [*value.items()] if isinstance(value, dict) else value
        entries.update(f"{key} {row}" for row in (rows if isinstance(rows, list) else [rows]))
    return entries
