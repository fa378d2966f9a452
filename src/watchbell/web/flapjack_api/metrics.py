"""Figures about the whole: `/metrics`."""

from typing import Any

from watchbell.alerting import entities as known_entities
from watchbell.alerting import figures, history, known_checks, reports
from watchbell.web.flapjack_api.calls import Answer, Call, Failed, endpoint

NAMES = ("check_freshness", "entities", "checks", "events")


@endpoint("GET", "/metrics", "read")
async def read(call: Call) -> Answer:
    wanted = [one for one in call.query.get("filter", "").split(",") if one] or list(NAMES)
    for name in wanted:
        if name not in NAMES:
            expected = ", ".join(NAMES)
            raise Failed(422, f"filter: {name[:100]!r} is not known; expected {expected}")
    return Answer({name: await _figures(call, name) for name in wanted})


@endpoint("GET", f"/metrics/{'|'.join(NAMES)}", "read")
async def one(call: Call) -> Answer:
    return Answer(await _figures(call, call.name))


async def _figures(call: Call, name: str) -> Any:
    if name == "entities":
        enabled = await known_checks.enabled_entities(call.store)
        return {"all": len(await known_entities.names(call.store)), "enabled": len(enabled)}
    if name == "events":
        return (await figures.figures(call.store)).events
    states = await history.check_states(call.store, await known_checks.every(call.store), call.now)
    if name == "check_freshness":
        updates = [one.last_update for one in states if one.enabled and one.last_update is not None]
        return {str(age): count for age, count in reports.freshness(updates, call.now).items()}
    failing = sum(one.state not in (None, "ok") for one in states)
    return {"all": len(states), "enabled": sum(s.enabled for s in states), "failing": failing}
