"""Predicts who would be notified if a check entered a state, and why others would not.

The code that decides on real events answers; nothing is written.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from watchbell.alerting import history, rule_text, rules
from watchbell.alerting.decide.outlook import Outlook, outlook
from watchbell.alerting.decide.routing import (
    Addressee,
    Alerting,
    Route,
    RuleVerdict,
    Standing,
    route,
    rule_verdicts,
    settle,
)
from watchbell.alerting.event import ephemeral_tags
from watchbell.alerting.explanations import NOBODY_INTERESTED
from watchbell.alerting.facts import CheckFacts
from watchbell.alerting.model import CheckEvent, Contact, Notification, State, split_id
from watchbell.alerting.processor import policy
from watchbell.alerting.routing_facts import Loaded, RoutingFacts
from watchbell.settings import Alerting as Settings
from watchbell.store.client import Store

IMAGINED = "the general rule"
"""The id of the rule that a contact without one would be given."""


class HeldBack(Struct, frozen=True):
    """What would follow from a report at a time."""

    time: int
    words: str
    until: int | None = None


class RuleAsked(RuleVerdict, frozen=True, kw_only=True):
    sentence: str
    """What the rule does."""


class MediumAsked(Struct, frozen=True, kw_only=True):
    medium: str
    address: str
    is_called: bool
    words: str
    until: int | None = None


class Callee(Struct, frozen=True, kw_only=True):
    """A contact that is linked to the check."""

    contact: str
    name: str
    zone: str
    """The time zone of its rules."""
    is_called: bool
    reason: str
    rules: list[RuleAsked]
    media: list[MediumAsked]


class Callees(Struct, frozen=True, kw_only=True):
    check: str
    state: str
    at: int
    tags: list[str]
    """Tags of the assumed report, with those that its names imply."""
    held: list[HeldBack]
    """What would happen, step by step, while the check stays in the state."""
    told_at: int | None
    """When contacts would be notified; null for never."""
    severity: str | None
    words: str
    """A summary in one sentence, without names and times."""
    contacts: list[Callee]


async def callees(
    store: Store,
    event_id: str,
    state: State,
    settings: Settings,
    at: int,
    tags: Sequence[str] | None = None,
) -> Callees:
    """Who would be notified if the check reported this state from `at` on.

    `tags` are added to those that its name implies; by default, those of its latest report.
    """
    entity, check = split_id(event_id)
    facts, _, _ = await CheckFacts(store.prefix).load(store, [(entity, check, True)], at)
    event = await _imagined(store, event_id, state, at)
    all_tags = ephemeral_tags(entity, check).union(facts[0].tags if tags is None else tags)
    found = outlook(facts[0], event, frozenset(all_tags), policy(settings), at)
    told_at = found.steps[-1].time if found.notification else None
    contacts: list[Callee] = []
    if found.notification is not None and told_at is not None:
        contacts = await _asked(store, found.notification, settings.timezone, told_at)
    return Callees(
        check=event_id,
        state=state,
        at=at,
        tags=sorted(all_tags),
        held=[HeldBack(step.time, step.verdict.value, step.until) for step in found.steps],
        told_at=told_at,
        severity=found.notification.severity if found.notification else None,
        words=_sentence(found, contacts),
        contacts=contacts,
    )


async def _imagined(store: Store, event_id: str, state: State, at: int) -> CheckEvent:
    """A report with the delays of the check's latest one."""
    entity, check = split_id(event_id)
    event = CheckEvent(type="service", state=state, entity=entity, check=check, time=at)
    for known in await history.check_states(store, [event_id], at):
        return replace(
            event,
            initial_failure_delay=known.initial_failure_delay,
            repeat_failure_delay=known.repeat_failure_delay,
            initial_recovery_delay=known.initial_recovery_delay,
        )
    return event


async def _asked(
    store: Store, notification: Notification, default_zone: str, now: int
) -> list[Callee]:
    addressees = RoutingFacts(store.prefix, default_zone, _with_general)
    loaded = await addressees.load(store, [notification], {}, 1, now)
    return [_callee(to, notification, loaded, now) for to in loaded.addressees[0]]


async def _with_general(_: Store, contact: Contact) -> Contact:
    """Adds the rule that the contact would be given, without storing it."""
    general = rules.general(contact.id, contact.media, IMAGINED)
    return replace(contact, rules=(*contact.rules, general))


def _callee(to: Addressee, notification: Notification, loaded: Loaded, now: int) -> Callee:
    way, contact = route(to, notification, now), to.contact
    media = [_medium(contact, name, way, notification, loaded, now) for name in contact.media]
    return Callee(
        contact=contact.id,
        name=f"{contact.first_name} {contact.last_name}".strip(),
        zone=to.zone.key,
        is_called=any(medium.is_called for medium in media),
        reason=way.reason,
        rules=_rules(to, way),
        media=media,
    )


def _rules(to: Addressee, way: Route) -> list[RuleAsked]:
    asked = zip(rule_verdicts(to, way), to.conditions, strict=True)
    return [
        RuleAsked(**asdict(verdict), sentence=rule_text.describe(condition.rule))
        for verdict, condition in asked
    ]


def _medium(
    contact: Contact,
    name: str,
    way: Route,
    notification: Notification,
    loaded: Loaded,
    now: int,
) -> MediumAsked:
    settings = contact.media[name]
    if name not in way.media:
        words = f"no matching rule names it for {notification.severity}"
        return MediumAsked(
            medium=name,
            address=settings.address,
            is_called=False,
            words=words if way.media else way.reason,
        )
    standing = loaded.standings.get((contact.id, name), Standing())
    read = loaded.alerting.get((contact.id, name, notification.event_id), Alerting())
    # It would fail, outside all maintenance.
    about = replace(read, is_countable=notification.type == "problem")
    settled = settle(name, settings, standing, about, notification, now)
    return MediumAsked(
        medium=name,
        address=settings.address,
        is_called=settled.is_sent,
        words=settled.fate.value,
        until=settled.until or None,
    )


def _sentence(found: Outlook, contacts: Sequence[Callee]) -> str:
    if found.notification is None:
        return f"nobody would be notified: {found.steps[-1].verdict.value}"
    called = sum(one.is_called for one in contacts)
    if called == 0:
        reason = "rules or intervals exclude every contact" if contacts else NOBODY_INTERESTED
        return f"nobody would be notified: {reason}"
    others = len(contacts) - called
    rest = f", {others} more would not" if others else ""
    return f"{called} {'contact' if called == 1 else 'contacts'} would be notified{rest}"
