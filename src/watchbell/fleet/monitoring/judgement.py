"""What a minute sample of a server means: values of its series, changes of its alerts. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from watchbell.errors import Refused
from watchbell.fleet.model import AlertRule, Server
from watchbell.fleet.monitoring import counting, transitions, values
from watchbell.fleet.monitoring import state as states
from watchbell.fleet.monitoring.compiled import CompiledAlert, Definitions, concerns
from watchbell.fleet.monitoring.snoozes import Snoozes
from watchbell.fleet.monitoring.state import MonitorState, Turn
from watchbell.fleet.monitoring.transitions import Active, Change, Seen
from watchbell.fleet.monitoring.values import FIRST, Before, Measured

LONGEST_MESSAGE = 2_000
NewId = Callable[[str], str]
"""Gives the id of a new alert of a definition."""


class Reading(Struct, frozen=True):
    """A minute sample."""

    server: str
    at: float
    """When it came, by our clock."""
    data: dict[str, Any]


class Facts(Struct, frozen=True, kw_only=True):
    """What is known of the server that the sample is of."""

    server: Server
    state: MonitorState = MonitorState()
    active: Mapping[str, Active] = {}
    """Its active alerts, by definition."""
    snoozes: Snoozes = Snoozes()


class Errors(Struct, frozen=True):
    """Why definitions could not be evaluated, by their ids."""

    monitors: dict[str, str] = {}
    alerts: dict[str, str] = {}


class Verdict(Struct, frozen=True, kw_only=True):
    turn: Turn
    state: MonitorState | None = None
    """None where nothing is to be written."""
    series: tuple[tuple[str, float], ...] = ()
    """Monitors and the values that are added to their series."""
    changes: tuple[Change, ...] = ()
    errors: Errors = Errors()


def judge(reading: Reading, facts: Facts, definitions: Definitions, new_id: NewId) -> Verdict:
    at, known = reading.at, facts.state
    turn = states.turn(known, at)
    if turn in (Turn.DUPLICATE, Turn.LATE):
        return Verdict(turn=turn)
    groups = facts.server.groups
    monitors = [one for one in definitions.monitors if concerns(one.monitor.groups, groups)]
    uptime = values.uptime(reading.data)
    before = Before(known.values, states.elapsed(known, at, uptime)) if known.minute else FIRST
    measured = values.measure(monitors, reading.data, before)
    counts, changes, errors = dict[str, int](), list[Change](), dict[str, str]()
    for one in definitions.alerts:
        if not concerns(one.rule.groups, groups):
            continue
        try:
            count, change = _judged(one, facts, reading, measured, new_id)
        except Refused as error:
            errors[one.rule.id] = str(error)
            count, change = known.counts.get(one.rule.id, 0), None
        if count:
            counts[one.rule.id] = count
        if change is not None:
            changes.append(change)
    series = ((one.monitor.id, measured.of(one.monitor)) for one in monitors)
    return Verdict(
        turn=turn,
        state=MonitorState(
            minute=int(at // 60),
            at=at,
            uptime=uptime,
            values=measured.values,
            deltas=measured.deltas,
            counts=counts,
        ),
        series=tuple((name, value) for name, value in series if value is not None),
        changes=tuple(changes),
        errors=Errors(measured.errors, errors),
    )


def context(data: dict[str, Any], measured: Measured) -> dict[str, Any]:
    """What the expressions of alerts see: the sample, with the values of monitors."""
    return {**data, "monitors": measured.values, "deltas": measured.deltas}


def is_true(one: CompiledAlert, seen: dict[str, Any]) -> bool:
    """Raises Refused."""
    if one.expression is None:
        raise Refused(one.error)
    return bool(one.expression.evaluate(seen))


def message(one: CompiledAlert, seen: dict[str, Any]) -> str:
    """It is written although a part of it can't be evaluated, which then says so."""
    return one.message.render(seen)[:LONGEST_MESSAGE]


def value(rule: AlertRule, measured: Measured) -> float | None:
    """Of the monitor that it names."""
    name = rule.monitor_id
    return measured.deltas.get(name, measured.values.get(name))


def _judged(
    one: CompiledAlert, facts: Facts, reading: Reading, measured: Measured, new_id: NewId
) -> tuple[int, Change | None]:
    """The count of an alert after a sample, and what changes. Raises Refused where its expression
    can't be evaluated: then nothing is known, and nothing changes."""
    rule, at, seen = one.rule, reading.at, context(reading.data, measured)
    known = facts.active.get(rule.id)
    holds = is_true(one, seen)
    count = counting.counted(
        facts.state.counts.get(rule.id, rule.samples if known else 0),
        rule.samples,
        is_true=holds,
        is_active=known is not None,
    )
    if known is not None and count.change == "clear":
        reason = transitions.cleared_reason(rule, at - known.date)
        silent = bool(facts.snoozes.reason(rule.id, at))
        return count.reached, transitions.ends(known, reason, at, silent=silent)
    if known is None and count.change != "fire":
        return count.reached, None
    sight = Seen(
        rule=rule,
        message=message(one, seen),
        count=count.reached,
        value=value(rule, measured),
        is_true=holds,
        at=at,
    )
    active = known or _new(sight, facts.server, new_id(rule.id))
    snoozed = facts.snoozes.reason(rule.id, at)
    return count.reached, transitions.goes_on(active, sight, snoozed=snoozed)


def _new(seen: Seen, server: Server, id_: str) -> Active:
    return Active(
        id=id_,
        alert=seen.rule.id,
        server=server.id,
        hostname=server.hostname,
        title=seen.rule.title,
        date=seen.at,
        groups=server.groups,
        reason=transitions.fired_reason(seen.rule, seen.message),
    )


def unfounded(known: Active, rules: Mapping[str, AlertRule], servers: Mapping[str, Server]) -> str:
    """Why an active alert is over whatever samples say; empty where it is not."""
    rule, server = rules.get(known.alert), servers.get(known.server)
    if server is None:
        return "the server was removed"
    if rule is None:
        return "the definition was deleted"
    if not rule.enabled:
        return "the definition was disabled"
    if not concerns(rule.groups, server.groups):
        return "the server left the groups of the definition"
    return ""


def errors_of(found: Iterable[tuple[str, Verdict]]) -> tuple[dict[str, tuple[str, str]], ...]:
    """For monitors and for alerts: of each definition that failed, a server and the reason."""
    monitors, alerts = dict[str, tuple[str, str]](), dict[str, tuple[str, str]]()
    for server, verdict in found:
        for name, reason in verdict.errors.monitors.items():
            monitors.setdefault(name, (server, reason))
        for name, reason in verdict.errors.alerts.items():
            alerts.setdefault(name, (server, reason))
    return monitors, alerts
