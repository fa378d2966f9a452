"""Tries monitors and alert definitions on the last full sample of a server, before or after they
are saved."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from watchbell.errors import Refused
from watchbell.fleet import samples
from watchbell.fleet.model import Monitor, Server
from watchbell.fleet.monitoring import alerts, counting, latest, trial
from watchbell.fleet.monitoring.compiled import concerns
from watchbell.fleet.monitoring.state import MonitorState
from watchbell.jobs import validation
from watchbell.jobs.model import AlertDef
from watchbell.store.client import Store

_MONITOR = {"id": "test", "title": "Test"}
_ALERT = {"id": "test", "title": "Test"}


class AlertTrial(Struct, frozen=True, kw_only=True):
    is_true: bool
    """Whether the sample makes the expression true."""
    message: str
    value: float | None
    count: int
    """What a sample like this would make of the count."""
    samples: int
    concerns_server: bool
    """Whether the definition is about this server, by its groups."""
    is_active: bool
    """Whether the server has the alert now."""
    would_fire: bool
    """Whether a sample like this would make the alert active."""
    would_clear: bool
    """Whether a sample like this would clear it."""


def as_monitor(given: Mapping[str, Any]) -> Monitor:
    """Of properties that are not saved. Raises Refused."""
    found = validation.read("monitor", {**_MONITOR, **given})
    assert isinstance(found, Monitor)
    return found


def as_alert(given: Mapping[str, Any]) -> AlertDef:
    """Likewise."""
    found = validation.read("alert", {**_ALERT, **given})
    assert isinstance(found, AlertDef)
    return found


async def try_monitor(store: Store, monitor: Monitor, server: Server) -> float | None:
    """What its source gives; of a counter, how far it has counted. Raises Refused."""
    return trial.monitor(monitor, await _sample(store, server))


async def try_alert(store: Store, rule: AlertDef, server: Server) -> AlertTrial:
    """Raises Refused."""
    data = await _sample(store, server)
    states = await latest.states(store, [server.id])
    state = states.get(server.id, MonitorState())
    found = trial.alert(rule, data, state)
    is_active = any(
        one.alert == rule.id and one.server == server.id for one in await alerts.active(store)
    )
    count = counting.counted(
        state.counts.get(rule.id, rule.samples if is_active else 0),
        rule.samples,
        is_true=found.is_true,
        is_active=is_active,
    )
    is_concerned = concerns(rule.groups, server.groups)
    return AlertTrial(
        is_true=found.is_true,
        message=found.message,
        value=found.value,
        count=count.reached,
        samples=rule.samples,
        concerns_server=is_concerned,
        is_active=is_active,
        would_fire=count.change == "fire" and is_concerned and rule.enabled,
        would_clear=count.change == "clear",
    )


async def _sample(store: Store, server: Server) -> dict[str, Any]:
    data = await samples.machine(store, server.id)
    if data is None:
        raise Refused(f"{server.hostname} has sent no full sample yet", code="no_sample")
    return samples.expression_values(data)
