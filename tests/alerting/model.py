"""A small model of alerting in plain Python: what follows from events, and who is told of it.

It is written to be read beside the rules, knows no store and none of the deciding code, and works
on one event, and then on one notification, at a time.
"""

import hashlib
import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from watchbell.schedule import spoken

FAILING = ("unknown", "warning", "critical")
"""The lightest first."""
TOLD = (*FAILING, "acknowledgement", "recovery")
"""What counts as the last notification."""
ENDING = ("recovery", "acknowledgement")
"""Notifications after which nobody is being alerted about the check any more."""
TYPES = {"ok": "recovery", "acknowledgement": "acknowledgement", "test_notifications": "test"}
DAY = 86_400


@dataclass
class Check:
    name: str
    state: str | None = None
    changed: int = 0
    updated: int = 0
    summary: str | None = None
    enabled: bool = False
    history: list[tuple[int, str, str | None]] = field(default_factory=list)
    planned: dict[int, int] = field(default_factory=dict)
    """Beginning to length of each scheduled window."""
    acknowledged: dict[int, int] = field(default_factory=dict)
    """The same of each unscheduled one."""
    scheduled: int | None = None
    """Beginning of the window the check was put into."""
    unscheduled: int | None = None
    told: dict[str, list[int]] = field(default_factory=dict)
    due: int | None = None
    """When its silence becomes `unknown`."""
    decision: dict[str, Any] | None = None
    """The last one that was worth a note: verdict, state, time, until."""
    fates: dict[str, dict[str, str]] | None = None
    """What became of the last notification: contact, medium, fate."""

    @property
    def last_told(self) -> str | None:
        kinds = [kind for kind in TOLD if kind in self.told]
        return max(kinds, key=self.last, default=None)

    def last(self, kind: str) -> int:
        return self.told[kind][-1] if kind in self.told else 0

    def scheduled_until(self, now: int) -> int | None:
        return _open_until(self.scheduled, self.planned, now)

    def unscheduled_until(self, now: int) -> int | None:
        return _open_until(self.unscheduled, self.acknowledged, now)

    def put_into_window(self, now: int) -> None:
        """Into the window that is open; into the one that ends last, where several are."""
        found = [(s + length, s) for s, length in self.planned.items() if s <= now < s + length]
        self.scheduled = max(found)[1] if found else None

    def is_alertable(self, now: int) -> bool:
        maintained = self.scheduled_until(now) or self.unscheduled_until(now)
        return self.state in FAILING and self.enabled and not maintained


def _open_until(start: int | None, lengths: dict[int, int], now: int) -> int | None:
    if start is None or now >= start + lengths[start]:
        return None
    return start + lengths[start]


@dataclass
class Medium:
    interval: int = 900
    threshold: int = 0
    alerting: dict[str, int] = field(default_factory=dict)
    """Checks that are failing and were alerted, by when last."""
    rolled_up: bool = False
    rollup_until: int = 0
    drops: dict[tuple[str, str], int] = field(default_factory=dict)
    """Until when a state of a check is not sent again."""


@dataclass
class Rule:
    name: str
    entities: tuple[str, ...] = ()
    regex_entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    regex_tags: tuple[str, ...] = ()
    hours: tuple[int, int] | None = None
    """Hours of every day, in UTC: from, to."""
    media: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Severity to the media for it."""
    blackholes: tuple[str, ...] = ()

    @property
    def is_specific(self) -> bool:
        return bool(self.entities or self.regex_entities or self.tags or self.regex_tags)

    def matches(self, entity: str, tags: set[str], now: int) -> bool:
        in_time = self.hours is None or self.hours[0] * 3600 <= now % DAY < self.hours[1] * 3600
        return (
            in_time
            and (not self.entities or entity in self.entities)
            and all(re.search(one, entity) for one in self.regex_entities)
            and set(self.tags) <= tags
            and all(any(re.search(one, tag) for tag in tags) for one in self.regex_tags)
        )


@dataclass
class Person:
    name: str
    media: dict[str, Medium]
    rules: list[Rule] = field(default_factory=list)
    links: set[str] = field(default_factory=set)
    """`ALL`, entities, or checks as ENTITY:CHECK."""
    silenced: bool = False
    """An operator holds everything back."""

    def wanted_media(self, notice: dict[str, Any], now: int) -> list[str]:
        if all(rule.is_specific for rule in self.rules):
            every = tuple(self.media)
            self.rules.append(Rule("general", media={"warning": every, "critical": every}))
        entity, severity = notice["event_id"].partition(":")[0], notice["severity"]
        found = [rule for rule in self.rules if rule.matches(entity, set(notice["tags"]), now)]
        if any(rule.is_specific for rule in found):
            found = [rule for rule in found if rule.is_specific]
        if any(severity in rule.blackholes for rule in found):
            return []
        wanted = {medium for rule in found for medium in rule.media.get(severity, ())}
        return [medium for medium in self.media if medium in wanted]


@dataclass
class Model:
    people: list[Person] = field(default_factory=list)
    delays: dict[str, int] = field(default_factory=dict)
    new_check_maintenance: int = 0
    checks: dict[str, Check] = field(default_factory=dict)
    events: deque[dict[str, Any] | bytes] = field(default_factory=deque)
    """Those that wait; what is no event is bytes."""
    notifications: deque[dict[str, Any]] = field(default_factory=deque)
    alerts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)

    def check(self, name: str) -> Check:
        return self.checks.setdefault(name, Check(name))

    # --- events

    def process(self, now: int, most: int | None = None) -> None:
        for _ in range(len(self.events) if most is None else most):
            event = self.events.popleft()
            self._count("all")
            if isinstance(event, bytes):
                self._count("invalid")
            else:
                self._processed(event, now)

    def _count(self, name: str) -> None:
        self.counters[name] = self.counters.get(name, 0) + 1

    def _processed(self, event: dict[str, Any], now: int) -> None:
        check, state = self.check(f"{event['entity'].lower()}:{event['check']}"), event["state"]
        is_new = changes = False
        before = check.scheduled_until(now)
        if event["type"] == "action":
            self._count("action")
        else:
            self._count("ok" if state == "ok" else "failure")
            is_new, changes = check.state is None, check.state != state
            self._report(check, event, now)
        if state == "ok" and check.unscheduled_until(now):
            assert check.unscheduled is not None
            check.acknowledged[check.unscheduled] = now - check.unscheduled
            check.unscheduled = None
        if is_new and state == "ok":
            verdict, until = "FIRST_OK", None
        else:
            verdict, until = self._held(check, event, now)
        if verdict == "TELL":
            self._tell(check, event, now)
        elif (changes and state == "ok") or check.scheduled_until(now) != before:
            self._spare(check)
        if verdict == "TELL" or state != "ok" or changes:
            check.decision = {"verdict": verdict, "state": state, "time": now, "until": until}

    def _report(self, check: Check, event: dict[str, Any], now: int) -> None:
        if check.state is None and self.new_check_maintenance:
            check.planned[now] = self.new_check_maintenance
        check.put_into_window(now)
        if event["state"] != check.state:
            check.state, check.changed = event["state"], max(now, check.changed + 1)
            check.history.append((check.changed, check.state or "", event.get("summary")))
        check.summary, check.updated, check.enabled = event.get("summary"), now, True
        ttl = event.get("ttl")
        check.due = now + ttl if ttl else None

    def _held(self, check: Check, event: dict[str, Any], now: int) -> tuple[str, int | None]:
        """The first thing that holds the event back, and until when."""
        state = event["state"]
        if state == "ok" and check.last_told is None:
            return "NEVER_TOLD", None
        if state == "ok" and check.last_told == "recovery":
            return "RECOVERY_TOLD", None
        if until := check.scheduled_until(now):
            return "SCHEDULED", until
        if state != "acknowledgement" and (until := check.unscheduled_until(now)):
            return "UNSCHEDULED", until
        if event["type"] == "service" and (held := self._delayed(check, event, now)):
            return held
        if state == "acknowledgement" and check.state not in FAILING:
            return "NOT_FAILING", None
        return "TELL", None

    def _delayed(self, check: Check, event: dict[str, Any], now: int) -> tuple[str, int] | None:
        usual = {"initial_failure": 30, "repeat_failure": 60, "initial_recovery": 0, **self.delays}
        delays = {name: event.get(f"{name}_delay", usual[name]) for name in usual}
        lasted = max(now - check.changed, 0)
        if event["state"] == "ok":
            due = check.changed + delays["initial_recovery"]
            return ("RECOVERY_DELAY", due) if lasted < delays["initial_recovery"] else None
        if lasted < delays["initial_failure"]:
            return "FAILURE_DELAY", check.changed + delays["initial_failure"]
        ago = max(now - check.last("problem"), 0)
        if check.last_told == event["state"] and ago < delays["repeat_failure"]:
            return "REPEAT_DELAY", check.last("problem") + delays["repeat_failure"]
        return None

    def _tell(self, check: Check, event: dict[str, Any], now: int) -> None:
        state, duration = event["state"], event.get("duration")
        kind = TYPES.get(state, "problem")
        if state == "acknowledgement":
            duration = duration or 14_400
            if check.unscheduled_until(now):
                assert check.unscheduled is not None
                check.acknowledged[check.unscheduled] = now - check.unscheduled
            check.acknowledged[now], check.unscheduled = duration, now
        before = check.history[-2] if len(check.history) > 1 else (0, None, None)
        entity, _, name = check.name.partition(":")
        host, _, domain = entity.partition(".")
        named = {host, domain, *name.lower().split()} - {""}
        self.notifications.append(
            {
                "event_id": check.name,
                "event_hash": short_id(check.name) if kind == "problem" else None,
                "state": state,
                "summary": event.get("summary"),
                "details": None,
                "time": event["time"],
                "duration": duration,
                "count": self.counters["all"],
                "last_state": before[1],
                "last_summary": before[2],
                "state_duration": max(now - check.changed, 0) if check.state else None,
                "type": kind,
                "severity": self._severity(check, state),
                "tags": sorted(named | set(event.get("tags", ()))),
            }
        )
        self._remember_told(check, kind, state, now)

    def _severity(self, check: Check, state: str) -> str:
        if state == "test_notifications":
            return "critical"
        recovered = check.last("recovery")
        worst = [one for one in FAILING if one == state or check.last(one) > recovered]
        return worst[-1] if worst else "ok"

    def _remember_told(self, check: Check, kind: str, state: str, now: int) -> None:
        """Two notifications, tests apart, never share a second."""
        taken = [check.last(one) for one in TOLD if one in check.told and kind != "test"]
        when = max([now, *(one + 1 for one in taken)])
        for one in (kind, state) if kind == "problem" else (kind,):
            check.told.setdefault(one, []).append(when)

    # --- what people do, and what they leave undone

    def plan(self, name: str, start: int, length: int, now: int) -> None:
        check = self.check(name)
        check.planned[start] = length
        check.put_into_window(now)
        if check.scheduled_until(now):
            self._spare(check)

    def end(self, name: str, start: int, now: int) -> bool:
        check = self.check(name)
        if start not in check.planned or start + check.planned[start] <= now:
            return False
        if start > now:
            del check.planned[start]
        else:
            check.planned[start] = now - start
        check.put_into_window(now)
        if check.scheduled_until(now):
            self._spare(check)
        return True

    def disable(self, name: str) -> bool:
        check = self.check(name)
        was, check.enabled, check.due = check.enabled, False, None
        self._spare(check)
        return was

    def call_silent(self, now: int) -> int:
        silent = [c for c in self.checks.values() if c.due is not None and c.due <= now]
        silent.sort(key=lambda c: (c.due, c.name))
        for check in silent:
            entity, _, name = check.name.partition(":")
            self.events.append(
                {
                    "type": "service",
                    "state": "unknown",
                    "entity": entity,
                    "check": name,
                    "time": now,
                    "summary": _overdue(now - (check.due or now)),
                    "initial_failure_delay": 0,
                }
            )
            check.due = None
        return len(silent)

    def _spare(self, check: Check) -> None:
        """What fails no more, is in maintenance, or is disabled, counts in nobody's rollup."""
        for person in self.people:
            for medium in person.media.values():
                medium.alerting.pop(check.name, None)

    # --- notifications

    def notify(self, now: int, most: int | None = None) -> None:
        for _ in range(len(self.notifications) if most is None else most):
            notice = self.notifications.popleft()
            name = notice["event_id"]
            entity = name.partition(":")[0]
            fates: dict[str, dict[str, str]] = {}
            for person in sorted(self.people, key=lambda one: one.name):
                if person.links & {"ALL", entity, name}:
                    fates[person.name] = {
                        medium: self._settled(person, medium, notice, now)
                        for medium in person.wanted_media(notice, now)
                    }
            self.check(name).fates = fates
            if notice["type"] in ENDING:
                self._spare(self.check(name))

    def _settled(self, person: Person, name: str, notice: dict[str, Any], now: int) -> str:
        """What becomes of the notification at one medium of somebody it is meant for."""
        medium, event_id, kind = person.media[name], notice["event_id"], notice["type"]
        drop = (event_id, notice["state"])
        if kind in ENDING:
            for state in FAILING:
                medium.drops.pop((event_id, state), None)
        if person.silenced:
            return "INTERVAL"
        if medium.drops.get(drop, 0) > now:
            return f"INTERVAL:{medium.drops[drop]}"
        self._recount(medium, notice, now)
        fate, rollup = self._rolled_up(name, medium, now)
        if fate in ("QUEUED", "ROLLED_UP", "ROLLUP_ENDS"):
            self._queue(person, name, notice, rollup, now)
            if kind in ("problem", "test"):
                medium.drops[drop] = now + medium.interval
        return fate

    def _recount(self, medium: Medium, notice: dict[str, Any], now: int) -> None:
        name, kind = notice["event_id"], notice["type"]
        if kind in ENDING or not self.check(name).is_alertable(now):
            medium.alerting.pop(name, None)
        elif kind == "problem":
            medium.alerting[name] = now

    def _rolled_up(self, name: str, medium: Medium, now: int) -> tuple[str, str | None]:
        if name == "pagerduty" or not medium.threshold:
            return "QUEUED", None
        if len(medium.alerting) >= medium.threshold:
            medium.rolled_up = True
            if medium.rollup_until > now:
                return f"SUMMARY_SENT:{medium.rollup_until}", None
            medium.rollup_until = now + medium.interval
            return "ROLLED_UP", "problem"
        if medium.rolled_up:
            medium.rolled_up, medium.rollup_until = False, 0
            return "ROLLUP_ENDS", "recovery"
        return "QUEUED", None

    def _queue(
        self, person: Person, name: str, notice: dict[str, Any], rollup: str | None, now: int
    ) -> None:
        medium = person.media[name]
        alert = {key: value for key, value in notice.items() if key != "severity"}
        alert["notification_type"] = alert.pop("type")
        alert["event_count"] = alert.pop("count")
        failing = [self.check(one) for one in medium.alerting] if rollup else []
        self.alerts.setdefault(name, []).append(
            {
                **alert,
                "media": name,
                "address": address(person.name, name),
                "contact_id": person.name,
                "contact_first_name": person.name.title(),
                "contact_last_name": "",
                "rollup": rollup,
                "rollup_alerts": {
                    one.name: {
                        "state": one.state,
                        "duration": max(now - one.changed, 0),
                        "summary": one.summary,
                    }
                    for one in failing
                },
                "rollup_threshold": medium.threshold if rollup else None,
            }
        )


def address(person: str, medium: str) -> str:
    return f"{person}@{medium}.example.com"


def short_id(name: str) -> str:
    return hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:8]


def _overdue(seconds: int) -> str:
    late = spoken.in_words(seconds) if seconds else "a moment"
    return f"no report came; one was due {late} ago"
