"""Handlers for what monitors say of servers, and for alerts of servers."""

from typing import Any

import msgspec

from watchbell.errors import NotFound, Refused
from watchbell.fleet import permissions as fleet_permissions
from watchbell.fleet import samples, servers
from watchbell.fleet.model import AlertRecord, Server
from watchbell.fleet.monitoring import alerts, buckets, latest, series
from watchbell.fleet.monitoring.buckets import RINGS, Resolution
from watchbell.fleet.monitoring.state import MonitorState
from watchbell.jobs import monitor_trials
from watchbell.web.app_api.calls import Answer, Call, Group

SAMPLES = Group("monitor")
INVOCATIONS = Group("alert")
_SYSTEMS: dict[str, Resolution] = {
    "hourly": "hour",
    "daily": "day",
    "monthly": "month",
    "yearly": "year",
}
_MOST_ROWS = 1_080


async def _server(call: Call) -> Server:
    server = await servers.get(call.store, call.text("server"))
    fleet_permissions.check_readable(call.actor, server)
    return server


@SAMPLES.changes("edit_monitors", takes="server source data_match data_type", gives="value fail")
async def test_monitor(call: Call) -> Answer:
    """Tries an expression on the last sample of a server."""
    given = {
        "source": call.text("source"),
        "data_match": call.text("data_match", ""),
        "data_type": call.text("data_type", "float"),
    }
    monitor = monitor_trials.as_monitor(given)
    try:
        value = await monitor_trials.try_monitor(call.store, monitor, await _server(call))
    except Refused as error:
        if error.code == "no_sample":
            raise
        value = None
    return {"value": value, "fail": value is None}


@SAMPLES.reads(takes="server sys limit", gives="rows data")
async def get_latest_monitor_data(call: Call) -> Answer:
    """The last rows of a series of each monitor, and the last sample."""
    server, limit = await _server(call), _limit(call)
    system = _system(call)
    ring = RINGS[system]
    rows = await _rows(call, server, system, call.now - ring.slots * ring.step, call.now)
    found = await samples.machine(call.store, server.id)
    data = {} if found is None else samples.expression_values(found)
    states = await latest.states(call.store, [server.id])
    state = states.get(server.id, MonitorState())
    return {
        "rows": rows[-limit:],
        "data": {**data, "monitors": state.values, "deltas": state.deltas},
    }


@SAMPLES.reads(takes="server sys date limit", gives="rows")
async def get_historical_monitor_data(call: Call) -> Answer:
    """Rows of a series of each monitor from a time on."""
    server, limit, system = await _server(call), _limit(call), _system(call)
    since = call.number("date", 0)
    until = min(since + (limit - 1) * RINGS[system].step, call.now)
    return {"rows": await _rows(call, server, system, since, until) if until >= since else []}


def _limit(call: Call) -> int:
    return max(1, min(call.number("limit", 1), _MOST_ROWS))


def _system(call: Call) -> Resolution:
    found = _SYSTEMS.get(call.text("sys"))
    if found is None:
        raise Refused(f"expected one of {', '.join(_SYSTEMS)}", field="sys")
    return found


async def _rows(
    call: Call, server: Server, system: Resolution, since: float, until: float
) -> list[dict[str, Any]]:
    """One for each bucket in which there was a sample: the averages."""
    monitors = sorted((await call.catalogue()).monitors)
    pairs = [(server.id, one) for one in monitors]
    found = await series.read(call.store, pairs, system, since=since, until=until)
    window = buckets.window(system, since, until)
    rows = []
    for place in range(window.count):
        values = {
            name: value
            for name, points in zip(monitors, found, strict=False)
            if (value := points.values[place]) is not None
        }
        if values:
            date = window.start + place * RINGS[system].step
            rows.append({"date": date, "count": 1, "totals": values})
    return rows


@INVOCATIONS.changes("edit_alerts", takes="server expression message", gives="result message")
async def test_alert(call: Call) -> Answer:
    """Tries an expression and a message on the last sample of a server."""
    given = {"expression": call.text("expression"), "message": call.text("message", "")}
    rule = monitor_trials.as_alert(given)
    found = await monitor_trials.try_alert(call.store, rule, await _server(call))
    return {"result": found.is_true, "message": found.message}


@INVOCATIONS.reads(takes="ids", gives="alerts")
async def get_alert_invocations(call: Call) -> Answer:
    """Alerts of servers, in the order of their ids; null for one that does not exist."""
    ids = call.texts("ids")
    found = {one.id: one for one in await alerts.some(call.store, ids) if _may_read(call, one)}
    return {"alerts": [invocation(found[id]) if id in found else None for id in ids]}  # noqa: A001


@INVOCATIONS.changes("delete_alerts", takes="id")
async def delete_alert_invocation(call: Call) -> Answer:
    """Deletes an alert of a server from the history."""
    found = await alerts.get(call.store, call.text("id"))
    if not _may_read(call, found):
        raise NotFound(f"there is no server alert {found.id!r}")
    fleet_permissions.check_alert(call.actor, "delete_alerts", found)
    await alerts.delete(call.store, found.id)
    await call.audit("server_alert.delete", found.id, found.title)
    return {}


def _may_read(call: Call, alert: AlertRecord) -> bool:
    groups = fleet_permissions.readable_groups(call.actor)
    return groups is None or not groups.isdisjoint(alert.groups)


def invocation(alert: AlertRecord) -> dict[str, Any]:
    """All properties, those that say nothing too."""
    fields = AlertRecord.__struct_fields__
    return {name: msgspec.to_builtins(getattr(alert, name)) for name in fields}
