"""Maintenance and test notifications of checks, which are named themselves or by entities."""

from functools import partial
from typing import Any

from watchbell.alerting import event, known_checks, maintenance
from watchbell.alerting.intake import submit
from watchbell.alerting.model import split_id
from watchbell.alerting.windows import Window
from watchbell.web.flapjack_api import checks, entities, patches
from watchbell.web.flapjack_api.calls import (
    DONE,
    Answer,
    Call,
    Failed,
    endpoint,
    moment,
    text,
    whole,
)

ACKNOWLEDGED = 4 * 3_600
"""Seconds of an acknowledgement that names no duration."""
_AT_ONCE = 200


async def checks_of(call: Call) -> list[str]:
    """The checks that a path names. Those of an entity may be none."""
    if call.name.endswith("checks"):
        return await checks.to_change(call)
    found = await entities.find(call)
    of_each = await known_checks.of_entities(call.store, [one.name for one in found])
    return [event_id for several in of_each.values() for event_id in several]


@endpoint("POST", "/scheduled_maintenances/entities|checks/REST", "operate")
async def schedule(call: Call) -> Answer:
    windows = [_window(item) for item in call.items("scheduled_maintenances")]
    ids = await named(call)
    for window in windows:
        await maintenance.create(call.store, ids, "scheduled", window, call.now)
    await call.audit("maintenance.add", _words(ids))
    return DONE


async def named(call: Call) -> list[str]:
    if not call.ids:
        raise Failed(404, "name the entities or checks in the path")
    return await checks_of(call)


def _window(item: dict[str, Any]) -> Window:
    duration = whole("duration", item.get("duration"))
    if not duration:
        raise Failed(422, "duration: 0 is not allowed; expected at least one second")
    start = moment("start_time", item.get("start_time"))
    return Window(start, duration, text("summary", item.get("summary"), ""))


def _words(ids: list[str]) -> str:
    return ids[0] if len(ids) == 1 else f"{len(ids)} checks"


@endpoint("DELETE", "/scheduled_maintenances/entities|checks/REST", "operate")
async def unschedule(call: Call) -> Answer:
    if "start_time" not in call.query:
        raise Failed(403, "start time must be provided")
    start, ids = moment("start_time", call.query["start_time"]), await named(call)
    await maintenance.end(call.store, ids, "scheduled", start, call.now, call.now)
    await call.audit("maintenance.end", _words(ids))
    return DONE


@endpoint("POST", "/unscheduled_maintenances/entities|checks/REST", "operate")
async def acknowledge(call: Call) -> Answer:
    """Queued as acknowledgements, which the processor handles in their turn."""
    given = [
        (
            whole("duration", item.get("duration"), ACKNOWLEDGED) or ACKNOWLEDGED,
            text("summary", item.get("summary"), ""),
        )
        for item in call.items("unscheduled_maintenances", is_optional=True)
    ]
    ids = await named(call)
    for duration, summary in given:
        make = partial(event.acknowledge, summary=summary, duration=duration, time=call.now)
        await _submit(call, ids, make)
    await call.audit("check.acknowledge", _words(ids), given[0][1])
    return DONE


async def _submit(call: Call, ids: list[str], make: Any) -> None:
    for first in range(0, len(ids), _AT_ONCE):
        await submit(call.store, *(make(*split_id(one)) for one in ids[first : first + _AT_ONCE]))


@endpoint("PATCH", "/unscheduled_maintenances/entities|checks/REST", "operate")
async def end(call: Call) -> Answer:
    ends = []
    for operation in patches.parse("unscheduled_maintenances", call):
        if operation.op != "replace" or operation.field != "end_time":
            raise patches.unknown("unscheduled_maintenances", operation)
        ends.append(moment("end_time", operation.value))
    ids = await named(call)
    for until in ends:
        await maintenance.end(call.store, ids, "unscheduled", 0, until, call.now)
    await call.audit("maintenance.end", _words(ids))
    return DONE


@endpoint("POST", "/test_notifications/entities|checks/REST", "operate")
async def test(call: Call) -> Answer:
    summaries = [
        text("summary", item.get("summary"), "") or "Testing notifications to all contacts"
        for item in call.items("test_notifications", is_optional=True)
    ]
    ids = await named(call)
    for summary in summaries:
        make = partial(event.try_notifications, summary=summary, time=call.now)
        await _submit(call, ids, make)
    await call.audit("check.test", _words(ids))
    return DONE
