"""Tries a contact's rules on a sample: which match, and which media would be used."""

from msgspec import Struct
from msgspec.structs import replace

from watchbell.alerting.decide.routing import RuleVerdict, addressee, route, rule_verdicts
from watchbell.alerting.event import ephemeral_tags
from watchbell.alerting.model import Contact, Notification, Rule, State


class Sample(Struct, frozen=True, kw_only=True):
    """An event to try rules on."""

    entity: str
    check: str
    state: State
    tags: tuple[str, ...] = ()
    """Besides those by its names."""
    time: int


class Trial(Struct, frozen=True, kw_only=True):
    rules: list[RuleVerdict]
    media: list[str]
    """The media by which the contact would be notified, regardless of intervals and rollups."""
    reason: str
    zone: str
    """The time zone of the rules."""
    tags: list[str]
    """All tags of the sample."""


def tried(contact: Contact, sample: Sample, general: Rule, default_zone: str) -> Trial:
    """`general` is the rule that holds for everything if the contact has none such."""
    if all(rule.is_specific for rule in contact.rules):
        contact = replace(contact, rules=(*contact.rules, general))
    to = addressee(contact, default_zone)
    tags = sorted(ephemeral_tags(sample.entity, sample.check).union(sample.tags))
    way = route(to, _notification(sample, tags), sample.time)
    rules = rule_verdicts(to, way)
    return Trial(rules=rules, media=way.media, reason=way.reason, zone=to.zone.key, tags=tags)


def _notification(sample: Sample, tags: list[str]) -> Notification:
    return Notification(
        event_id=f"{sample.entity}:{sample.check}",
        state=sample.state,
        type="problem",
        severity=sample.state,
        tags=tags,
    )
