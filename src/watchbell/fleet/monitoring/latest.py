"""What monitors say now: the values of each server at its last sample, and what failed."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Monitor
from watchbell.fleet.monitoring import series
from watchbell.fleet.monitoring.evaluator import Failure
from watchbell.fleet.monitoring.minute_scripts import state_of
from watchbell.fleet.monitoring.state import MonitorState
from watchbell.store.client import Store
from watchbell.store.replies import pairs
from watchbell.store.script import READ, Script

FAILING = 180.0
"""Seconds for which a definition counts as failing after a sample for which it failed."""
_AT_ONCE = 1_000

# KEYS[1] monitoring; ARGV servers. Returns the state of each.
_STATES = Script(READ + "return read('HMGET', KEYS[1], unpack(ARGV)) or {}")


async def states(store: Store, servers: Sequence[str]) -> dict[str, MonitorState]:
    """By server; those without a sample are missing."""
    found = dict[str, MonitorState]()
    for first in range(0, len(servers), _AT_ONCE):
        some = servers[first : first + _AT_ONCE]
        raws = await _STATES(store, [Fleet(store.prefix).monitoring()], some)
        known = zip(some, map(state_of, raws), strict=False)
        found |= {server: state for server, state in known if state.minute}
    return found


def value(state: MonitorState, monitor: Monitor) -> float | None:
    return (state.deltas if monitor.delta else state.values).get(monitor.id)


# KEYS monitor errors, alert errors. Returns the fields of both.
_FAILURES = Script(READ + "return {read('HGETALL', KEYS[1]) or {}, read('HGETALL', KEYS[2]) or {}}")


class Failures(Struct, frozen=True):
    """By definition: why it could not be evaluated last."""

    monitors: dict[str, Failure] = {}
    alerts: dict[str, Failure] = {}


async def failures(store: Store, now: float) -> Failures:
    """Of the last minutes."""
    keys = Fleet(store.prefix)
    monitors, alerts = await _FAILURES(store, [keys.monitor_errors(), keys.alert_errors()])
    return Failures(_failures(monitors, now), _failures(alerts, now))


def _failures(fields: Sequence[bytes], now: float) -> dict[str, Failure]:
    found = {}
    for name, raw in pairs(fields):
        try:
            one = msgspec.json.decode(raw, type=Failure)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if now - one.at < FAILING:
            found[name.decode(errors="replace")] = one
    return found


async def forget(store: Store, server: str) -> None:
    """Of a server that was removed: its state and its series. Its alerts are ended by the
    conductor."""
    known = (await states(store, [server])).get(server, MonitorState())
    await store.call("HDEL", Fleet(store.prefix).monitoring(), server)
    await series.delete(store, [server], {*known.values, *known.deltas})
