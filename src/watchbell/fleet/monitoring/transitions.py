"""What a change of an alert writes: its record, its check and its actions. Pure."""

from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.fleet.model import AlertRecord, AlertRule
from watchbell.fleet.monitoring import check_reports
from watchbell.fleet.monitoring.check_reports import CheckReport
from watchbell.units import counted, in_words

Trigger = Literal["alert_new", "alert_snoozed", "alert_cleared"]
"""`alert_snoozed`: it became active while it was snoozed. That has no actions; jobs are aborted."""

_ALWAYS = (
    *("id", "alert", "server", "hostname", "title", "groups", "date", "reason"),
    *("active", "modified", "notified"),
)
_WHILE_ACTIVE = ("exp", "count")
_WHILE_TRUE = ("message", "value")
_AT_THE_END = ("cleared", "clear_reason")


class Active(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of an alert while it is active."""

    id: str
    alert: str
    server: str
    hostname: str
    title: str
    date: float
    groups: tuple[str, ...] = ()
    notified: bool = False
    limits: bool = False
    """Whether its server gets no new jobs."""
    modified: float = 0
    """When a sample last said so."""
    reason: str = ""


class Change(Struct, frozen=True, kw_only=True):
    """What is written at once for one alert."""

    active: Active
    is_over: bool
    is_true: bool = False
    """Whether the sample says so; if not, the alert keeps its message."""
    record: AlertRecord
    report: CheckReport | None = None
    trigger: Trigger | None = None
    """What is queued."""

    @property
    def field(self) -> str:
        return field(self.active.server, self.active.alert)

    @property
    def indexes(self) -> list[str]:
        """Where it is found, as field and value."""
        active = self.active
        found = [f"alert:{active.alert}", f"server:{active.server}"]
        return found + [f"group:{group}" for group in active.groups]

    @property
    def fields(self) -> list[bytes]:
        """Of the record's hash, each name followed by its value. What others write is left out."""
        names = [*_ALWAYS, *(_AT_THE_END if self.is_over else _WHILE_ACTIVE)]
        names += _WHILE_TRUE if self.is_true else ()
        values = [(name, msgspec.json.encode(getattr(self.record, name))) for name in names]
        return [part for name, value in values for part in (name.encode(), value)]

    @property
    def item(self) -> bytes:
        """What is queued for its actions; empty for none."""
        if self.trigger is None:
            return b""
        return msgspec.json.encode({"alert": self.active.id, "trigger": self.trigger})


def field(server: str, alert: str) -> str:
    """By which an active alert is found. The id of a definition has no colon."""
    return f"{server}:{alert}"


class Seen(Struct, frozen=True, kw_only=True):
    """What a sample says of an alert that is active."""

    rule: AlertRule
    message: str
    count: int
    value: float | None
    is_true: bool
    at: float


def goes_on(known: Active, seen: Seen, *, snoozed: str) -> Change:
    """It is active, from now on or still. People are notified as soon as it is not snoozed."""
    now, rule = seen.at, seen.rule
    is_new = not known.notified and not snoozed
    active = replace(
        known,
        notified=known.notified or is_new,
        limits=rule.limit_jobs,
        modified=now,
        title=rule.title,
    )
    report = (
        check_reports.active(active.hostname, active.alert, active.title, seen.message, now)
        if is_new
        else None
    )
    return Change(
        active=active,
        is_over=False,
        is_true=seen.is_true,
        record=_record(active, seen),
        report=report,
        trigger="alert_new" if is_new else None if known.modified else "alert_snoozed",
    )


def ends(known: Active, reason: str, now: float, *, silent: bool = False) -> Change:
    """It is cleared. `silent`: without actions."""
    record = AlertRecord(
        **_base(known),
        active=False,
        modified=now,
        cleared=now,
        notified=known.notified,
        clear_reason=reason,
    )
    report = check_reports.cleared(known.hostname, known.alert, known.title, reason, now)
    return Change(
        active=known,
        is_over=True,
        record=record,
        report=report if known.notified else None,
        trigger="alert_cleared" if known.notified and not silent else None,
    )


def _base(active: Active) -> dict[str, Any]:
    return {
        "id": active.id,
        "alert": active.alert,
        "server": active.server,
        "hostname": active.hostname,
        "title": active.title,
        "groups": active.groups,
        "date": active.date,
        "reason": active.reason,
    }


def _record(active: Active, seen: Seen) -> AlertRecord:
    return AlertRecord(
        **_base(active),
        active=True,
        modified=seen.at,
        exp=seen.rule.expression,
        message=seen.message,
        count=seen.count,
        value=seen.value,
        notified=active.notified,
    )


def fired_reason(rule: AlertRule, message: str) -> str:
    """`message`: what it said then; later samples change it."""
    who = "a sample" if rule.samples <= 1 else counted(rule.samples, "sample")
    return f"{who} made `{rule.expression}` true" + (f": {message}" if message else "")


def cleared_reason(rule: AlertRule, lasted: float) -> str:
    if rule.samples <= 1:
        words = f"a sample made `{rule.expression}` false"
    else:
        words = f"as many samples made `{rule.expression}` false as had made it true"
    return f"{words}, after {in_words(max(int(lasted), 0))}"
