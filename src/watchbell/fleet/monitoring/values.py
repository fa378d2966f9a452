"""The values of monitors, from a minute sample and what is known of the one before. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from watchbell.errors import Refused
from watchbell.fleet.model import Monitor
from watchbell.fleet.monitoring.compiled import CompiledMonitor

LONGEST_DELTA = 180.0
"""Seconds between two samples beyond which nothing is said about what was counted between them."""
_LARGEST = 1e18
"""A larger number is an error of whoever counted it."""
_DIGITS = 5


class Measured(Struct, frozen=True):
    """What a sample says."""

    values: dict[str, float] = {}
    """What the source of each monitor gives; of a counter, how far it has counted."""
    deltas: dict[str, float] = {}
    errors: dict[str, str] = {}
    """By monitor."""

    def of(self, monitor: Monitor) -> float | None:
        """What goes into the series."""
        return (self.deltas if monitor.delta else self.values).get(monitor.id)


class Before(NamedTuple):
    """What is known of the sample before."""

    values: Mapping[str, float]
    """How far the counters had counted."""
    elapsed: float | None
    """Seconds between the two; None where that is not known, or the server has started anew."""


FIRST = Before({}, None)


def measure(
    monitors: Iterable[CompiledMonitor], data: dict[str, Any], before: Before = FIRST
) -> Measured:
    """An error concerns one monitor alone."""
    found = Measured({}, {}, {})
    for one in monitors:
        try:
            value = evaluated(one, data)
        except Refused as error:
            found.errors[one.monitor.id] = str(error)
            continue
        if value is None:
            continue
        found.values[one.monitor.id] = value
        if one.monitor.delta and (delta := _delta(one.monitor, value, before)) is not None:
            found.deltas[one.monitor.id] = delta
    return found


def evaluated(one: CompiledMonitor, data: dict[str, Any]) -> float | None:
    """None where the sample has nothing about it. Raises Refused."""
    if one.source is None:
        raise Refused(one.error)
    found = one.source.evaluate(data)
    if isinstance(found, str) and one.search is not None:
        text = one.search(found)
        if text is None:
            raise Refused(f"{one.monitor.data_match!r} does not match {found[:100]!r}")
        found = text
    return None if found is None else _number(found, one.monitor)


def _number(found: Any, monitor: Monitor) -> float:
    try:
        number = found if isinstance(found, int) else float(found)
    except (TypeError, ValueError):
        raise Refused(f"expected a number, got {_shown(found)}") from None
    if not -_LARGEST <= number <= _LARGEST:
        raise Refused(f"expected a number up to {_LARGEST:g}, got {_shown(found)}")
    return rounded(number, monitor)


def _shown(value: Any) -> str:
    """Short, however large it is: a list of a sample may have thousands of items."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value):,}"
    if isinstance(value, int) and value.bit_length() > 100:
        return "a huge number"
    return repr(value)[:100]


def rounded(number: float, monitor: Monitor) -> float:
    return round(number, _DIGITS) if monitor.data_type == "float" else int(number)


def _delta(monitor: Monitor, value: float, before: Before) -> float | None:
    """None after a gap, after a start of the server, and where the counter was set back."""
    known = before.values.get(monitor.id)
    if known is None or before.elapsed is None or not 0 < before.elapsed <= LONGEST_DELTA:
        return None
    delta = value - known
    least = monitor.delta_min_value
    if delta < 0 and (least is None or least >= 0):
        return None
    if least is not None:
        delta = max(delta, least)
    return rounded(delta / before.elapsed if monitor.divide_by_delta else delta, monitor)


def uptime(data: Mapping[str, Any]) -> float:
    """Seconds since the server started; 0 where that is not known."""
    found = data.get("uptime_sec")
    if isinstance(found, bool) or not isinstance(found, int | float):
        return 0.0
    return float(found) if 0 < found < _LARGEST else 0.0
