"""Reports on checks: status, outages, downtime and maintenance, by entities or by checks."""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from watchbell.alerting import history, reports
from watchbell.alerting.history import Status
from watchbell.alerting.model import split_id
from watchbell.alerting.reports import Outage
from watchbell.alerting.windows import Kind, Window
from watchbell.web.flapjack_api import checks, entities, maintenances
from watchbell.web.flapjack_api.calls import Answer, Call, Failed, endpoint, moment

KINDS = "status|outage|downtime|scheduled_maintenance|unscheduled_maintenance"
_PATHS = "|".join(f"{kind}_report" for kind in KINDS.split("|"))
_LAST = ("problem", "recovery", "acknowledgement")

Reports = dict[str, dict[str, Any]]
"""By check."""


@endpoint("GET", f"/{_PATHS}/entities|checks/REST", "read")
async def report(call: Call) -> Answer:
    kind, _, subject = call.name.partition("_report/")
    start, end = _bound(call, "start_time"), _bound(call, "end_time")
    if start is not None and end is not None and end < start:
        raise Failed(422, "end_time: expected a time after start_time")
    if subject == "checks":
        ids = await checks.find(call)
    else:
        ids = await maintenances.checks_of(call)
    found = await _reports(call, kind, ids, start, end)
    return Answer(await _linked(call, f"{kind}_reports", found))


def _bound(call: Call, name: str) -> int | None:
    given = call.query.get(name, "")
    return moment(name, given) if given else None


async def _reports(
    call: Call, kind: str, ids: Sequence[str], start: int | None, end: int | None
) -> Reports:
    if kind == "status":
        states = await history.check_states(call.store, ids, call.now)
        return {one.id: _status(one) for one in states}
    if kind == "outage":
        return {
            event_id: {"outages": [_outage(one) for one in reports.outages(changes, start, end)]}
            async for event_id, changes in history.histories(call.store, ids, start, end)
        }
    if kind == "downtime":
        return await _downtime(call, ids, start, end)
    window_kind: Kind = "scheduled" if kind == "scheduled_maintenance" else "unscheduled"
    return {
        event_id: {f"{kind}s": [_window(one) for one in reports.in_range(windows, start, end)]}
        async for event_id, windows in history.windows_of(call.store, ids, window_kind)
    }


async def _downtime(call: Call, ids: Sequence[str], start: int | None, end: int | None) -> Reports:
    planned = {
        one: several async for one, several in history.windows_of(call.store, ids, "scheduled")
    }
    found: Reports = {}
    async for event_id, changes in history.histories(call.store, ids, start, end):
        outages = reports.outages(changes, start, end)
        down = reports.downtime(outages, planned.get(event_id, []), start, end)
        found[event_id] = {
            "total_seconds": down.seconds,
            "percentages": down.percentages,
            "downtime": [_outage(one) for one in down.pieces],
        }
    return found


def _status(status: Status) -> dict[str, Any]:
    last = status.last_notifications
    return {
        "name": split_id(status.id)[1],
        "entity_name": split_id(status.id)[0],
        "state": status.state,
        "enabled": status.enabled,
        "summary": status.summary,
        "details": status.details,
        "perfdata": status.perfdata,
        "in_unscheduled_maintenance": status.unscheduled is not None,
        "in_scheduled_maintenance": status.scheduled is not None,
        "initial_failure_delay": status.initial_failure_delay,
        "repeat_failure_delay": status.repeat_failure_delay,
        "last_update": status.last_update,
        "last_change": status.last_change,
        **{f"last_{kind}_notification": last.get(kind) for kind in _LAST},
    }


def _outage(outage: Outage) -> dict[str, Any]:
    found = structs.asdict(outage)
    return {"start_time": found.pop("start"), "end_time": found.pop("end"), **found}


def _window(window: Window) -> dict[str, Any]:
    return {
        "start_time": window.start,
        "end_time": window.end,
        "duration": window.duration,
        "summary": window.summary or None,
    }


async def _linked(call: Call, name: str, found: Reports) -> dict[str, Any]:
    """The reports, with the checks and entities that they are about."""
    shown = await checks.shown(call, list(found))
    links = {one["id"]: one["links"]["entities"] for one in shown}
    rows = [
        {**row, "links": {"entity": links.get(event_id, []), "check": [event_id]}}
        for event_id, row in found.items()
    ]
    directory = await call.directory.current()
    names: dict[str, list[str]] = {}
    for one in shown:
        names.setdefault(one["entity_name"], []).append(one["id"])
    linked = [
        entities.shown(one, names[one.name]) for one in directory.entities if one.name in names
    ]
    return {name: rows, "linked": {"entities": linked, "checks": shown}}
