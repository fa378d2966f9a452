"""Decides which contacts are alerted of a notification, by which media, and why others are not."""

import enum
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct
from msgspec.structs import replace

from watchbell.alerting import expressions
from watchbell.alerting.model import (
    FAILING,
    KNOWN_MEDIA,
    Contact,
    Medium,
    Notification,
    Rule,
    encode_rule_result,
)
from watchbell.errors import Refused
from watchbell.schedule import recurrence
from watchbell.schedule.recurrence import Restriction

NEVER_ROLLED_UP = ("pagerduty",)
OVERRIDDEN = "matches, but a specific rule overrides it"
ENDING = ("recovery", "acknowledgement")
"""Notifications after which nobody is being alerted about the check any more."""


class Route(Struct, kw_only=True, gc=False):
    """The media by which a contact is alerted, and what led there."""

    media: list[str] = []
    reason: str = ""
    mismatches: list[str | None] = []
    """Why each of the contact's conditions does not match; None where it does."""


class Fate(enum.Enum):
    """What happened to one medium; people read the values."""

    QUEUED = "queued"
    ROLLED_UP = "queued as a summary of all failing checks"
    ROLLUP_ENDS = "queued as the last summary"
    INTERVAL = "already notified within its interval"
    SUMMARY_SENT = "a summary was already sent within its interval"


_NONE: frozenset[str] = frozenset()
_EVERY = frozenset(KNOWN_MEDIA)
SENDING = (Fate.QUEUED, Fate.ROLLED_UP, Fate.ROLLUP_ENDS)
"""Fates by which an alert is sent."""


class Standing(Struct, kw_only=True, gc=False):
    """The state of a contact's medium; `settle` updates it."""

    failing: int = 0
    """Checks that the contact is being alerted about by this medium."""
    in_rollup: bool = False
    summary_until: int = 0
    """Until when no further summary is sent."""


class Alerting(Struct, kw_only=True, gc=False):
    """The facts of one check at one contact's medium."""

    is_counted: bool = False
    """Whether the check is among those the contact is being alerted about."""
    is_countable: bool = True
    """Whether it is failing by now, enabled, and in no maintenance."""
    held_until: int = 0
    """Until when alerts about the check are suppressed."""
    dropped_until: dict[str, int] = {}
    """Until when alerts about a state of the check are suppressed; 0 for not at all."""


class Settled(Struct, kw_only=True, gc=False):
    fate: Fate
    until: int = 0
    rollup: Literal["problem", "recovery"] | None = None
    counted: bool | None = None
    """Whether the check counts among the failing ones from now on; None for: as before."""

    @property
    def is_sent(self) -> bool:
        return self.fate in SENDING


class Condition(Struct, frozen=True, kw_only=True, gc=False):
    """A rule, prepared for matching."""

    rule: Rule
    """Without its times, and with the contact's media where it means every one."""
    entities: frozenset[str]
    is_timed: bool
    times: tuple[Restriction, ...]
    is_specific: bool

    def mismatch(self, entity: str, tags: frozenset[str], zone: ZoneInfo, now: int) -> str | None:
        """Why the rule does not match; None where it does."""
        rule = self.rule
        if self.entities and entity not in self.entities:
            return "it applies to other entities"
        for pattern in rule.regex_entities:
            if not expressions.matches(pattern, entity):
                return f"/{pattern}/ does not match the entity"
        missing = [tag for tag in rule.tags if tag not in tags]
        if missing:
            return f"the event has no tag {', '.join(missing)}"
        for pattern in rule.regex_tags:
            if not any(expressions.matches(pattern, tag) for tag in tags):
                return f"/{pattern}/ matches none of the tags"
        return None if self.is_its_time(zone, now) else "it does not apply at this time"

    def is_its_time(self, zone: ZoneInfo, now: int) -> bool:
        return not self.is_timed or any(_covers(time, now, zone) for time in self.times)


class Addressee(Struct, frozen=True, gc=False):
    """A contact, prepared for routing many notifications."""

    contact: Contact
    """Without its rules."""
    conditions: tuple[Condition, ...]
    zone: ZoneInfo
    has_general: bool
    """Whether one of the rules asks for nothing in particular."""


def addressee(contact: Contact, default_zone: str) -> Addressee:
    conditions = tuple(_condition(rule, contact.media) for rule in contact.rules)
    return Addressee(
        replace(contact, rules=()),
        conditions,
        zone_of(contact, default_zone),
        not all(condition.is_specific for condition in conditions),
    )


def _condition(rule: Rule, media: Iterable[str]) -> Condition:
    times = []
    for restriction in rule.time_restrictions:
        with suppress(Refused):  # one that can't be read never covers
            times.append(recurrence.parse(restriction))
    return Condition(
        rule=replace(
            rule,
            time_restrictions=(),
            critical_media=_all_media(rule.critical_media, media),
            warning_media=_all_media(rule.warning_media, media),
            unknown_media=_all_media(rule.unknown_media, media),
        ),
        entities=frozenset(rule.entities) if rule.entities else _NONE,
        is_timed=bool(rule.time_restrictions),
        times=tuple(times),
        is_specific=rule.is_specific,
    )


def _all_media(named: tuple[str, ...], media: Iterable[str]) -> tuple[str, ...]:
    """The media that a rule names: all of the contact's where it names every known one."""
    return (*named, *media) if _EVERY.issubset(named) else named


def route(to: Addressee, notification: Notification, now: int) -> Route:
    """The media by the contact's rules, in the contact's own order."""
    found = Route()
    matching: list[Condition] = []
    entity, tags = notification.entity, frozenset(notification.tags)
    for condition in to.conditions:
        why_not = condition.mismatch(entity, tags, to.zone, now)
        found.mismatches.append(why_not)
        if why_not is None:
            matching.append(condition)
    rules = [one.rule for one in matching if one.is_specific] or [one.rule for one in matching]
    severity = notification.severity
    if not rules:
        found.reason = "no rule matches"
    elif severity == "ok":
        found.reason = "nobody was notified of the failure, so no rule can name its severity"
    elif any(getattr(rule, f"{severity}_blackhole") for rule in rules):
        found.reason = f"a matching rule drops {severity} alerts"
    else:
        wanted = {medium for rule in rules for medium in getattr(rule, f"{severity}_media")}
        found.media = [medium for medium in to.contact.media if medium in wanted]
        found.reason = _media_reason(wanted, found.media, severity)
    return found


class RuleVerdict(Struct, frozen=True, kw_only=True):
    """The result of one rule of a contact."""

    id: str
    matches: bool
    counts: bool
    """Whether the rule is one of those that decide."""
    words: str


def rule_verdicts(to: Addressee, way: Route) -> list[RuleVerdict]:
    """The verdict on each rule, in the order of the contact's conditions."""
    asked = list(zip(to.conditions, way.mismatches, strict=True))
    has_specific = any(why_not is None and one.is_specific for one, why_not in asked)
    found = []
    for one, why_not in asked:
        counts = why_not is None and (one.is_specific or not has_specific)
        words = why_not or ("matches" if counts else OVERRIDDEN)
        verdict = RuleVerdict(id=one.rule.id, matches=why_not is None, counts=counts, words=words)
        found.append(verdict)
    return found


def rule_records(to: Addressee, way: Route) -> list[str]:
    """The results of all rules, as they are stored with a decision."""
    asked = zip(to.conditions, way.mismatches, strict=True)
    return [encode_rule_result(one.rule.id, why_not or "matches") for one, why_not in asked]


def settle(
    medium: str,
    settings: Medium,
    standing: Standing,
    alerting: Alerting,
    notification: Notification,
    now: int,
) -> Settled:
    """Decides on one medium that a rule selected; updates `standing` and `alerting`."""
    if notification.type in ENDING:
        alerting.dropped_until |= dict.fromkeys(FAILING, 0)
    until = max(alerting.held_until, alerting.dropped_until.get(notification.state, 0))
    if until > now:
        return Settled(fate=Fate.INTERVAL, until=until)
    counted = _counted(alerting, notification)
    if counted is not None:
        standing.failing += counted - alerting.is_counted
        alerting.is_counted = counted
    settled = _rolled_up(medium, settings, standing, now)
    settled.counted = counted
    if settled.is_sent and notification.type not in ENDING:
        alerting.dropped_until[notification.state] = now + settings.interval
    return settled


def refresh(known: Alerting, read: Alerting) -> None:
    """Updates what was read anew, except what `settle` changes."""
    known.is_countable, known.held_until = read.is_countable, read.held_until
    known.dropped_until = read.dropped_until | known.dropped_until


def zone_of(contact: Contact, default: str) -> ZoneInfo:
    return _zone(contact.timezone) or _zone(default) or ZoneInfo("UTC")


def _counted(alerting: Alerting, notification: Notification) -> bool | None:
    """A problem may be over when its notification is routed; what followed has a notification of
    its own, which counts."""
    if notification.type in ENDING or not alerting.is_countable:
        return False
    return True if notification.type == "problem" else None


def _rolled_up(medium: str, settings: Medium, standing: Standing, now: int) -> Settled:
    threshold = settings.rollup_threshold
    if medium in NEVER_ROLLED_UP or threshold <= 0:
        return Settled(fate=Fate.QUEUED)
    if standing.failing >= threshold:
        standing.in_rollup = True
        if standing.summary_until > now:
            return Settled(fate=Fate.SUMMARY_SENT, until=standing.summary_until)
        standing.summary_until = now + settings.interval
        return Settled(fate=Fate.ROLLED_UP, rollup="problem")
    if standing.in_rollup:
        standing.in_rollup, standing.summary_until = False, 0
        return Settled(fate=Fate.ROLLUP_ENDS, rollup="recovery")
    return Settled(fate=Fate.QUEUED)


def _media_reason(wanted: set[str], media: list[str], severity: str) -> str:
    if media:
        return f"{severity}: {', '.join(media)}"
    if wanted:
        return f"there is no address for {', '.join(sorted(wanted))}"
    return f"no rule names a medium for {severity}"


# Many rules are restricted to the same times, and many notifications come in one second.
@lru_cache(4096)
def _covers(time: Restriction, now: int, zone: ZoneInfo) -> bool:
    return time.covers(now, zone)


@lru_cache(1024)
def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
