"""Tries an expression on the last sample of a server, as the evaluation of a sample would. Pure."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from watchbell.errors import Refused
from watchbell.expressions import Template
from watchbell.fleet.model import AlertRule, Monitor
from watchbell.fleet.monitoring import compiled, judgement, values
from watchbell.fleet.monitoring.state import MonitorState
from watchbell.fleet.monitoring.values import Measured


class AlertTrial(Struct, frozen=True):
    is_true: bool
    """Whether a sample like this counts up."""
    message: str
    value: float | None
    """Of the monitor that the definition names."""


def monitor(given: Monitor, data: dict[str, Any]) -> float | None:
    """What the source gives; of a counter, how far it has counted. Raises Refused."""
    return values.evaluated(compiled.monitor(given), data)


def alert(rule: AlertRule, data: dict[str, Any], state: MonitorState) -> AlertTrial:
    """Raises Refused."""
    one = compiled.alert(rule)
    measured = Measured(state.values, state.deltas)
    seen = judgement.context(data, measured)
    return AlertTrial(
        judgement.is_true(one, seen),
        judgement.message(one, seen),
        judgement.value(rule, measured),
    )


def check_monitor(given: Monitor) -> None:
    """Raises Refused with the field that is wrong."""
    _check("source", compiled.expression, given.source)
    if given.data_match:
        _check("data_match", compiled.search, given.data_match)


def check_alert(rule: AlertRule) -> None:
    """Raises Refused with the field that is wrong."""
    _check("expression", compiled.expression, rule.expression)
    if rule.message:
        _check("message", Template.parse, rule.message)


def _check(field: str, parse: Callable[[str], object], text: str) -> None:
    if not text.strip():
        raise Refused("enter one", field=field)
    try:
        parse(text)
    except Refused as error:
        raise Refused(error.reason, field=field) from None
