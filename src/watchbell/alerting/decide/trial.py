"""A contact's rules tried on a sample: which would match, and by which media it would be told."""

from msgspec import Struct
from msgspec.structs import replace

from watchbell.alerting.decide.routing import addressee, route
from watchbell.alerting.event import ephemeral_tags
from watchbell.alerting.model import Contact, Notification, Rule, State

LEFT_ASIDE = "matches, and is left aside for a specific rule that does"


class Sample(Struct, frozen=True, kw_only=True):
    """Something that might be told."""

    entity: str
    check: str
    state: State
    tags: tuple[str, ...] = ()
    """Besides those by its names."""
    time: int


class Tried(Struct, frozen=True, kw_only=True):
    """What a rule has to say to a sample."""

    id: str
    matches: bool
    counts: bool
    """Whether its media, or its silence, are among what decides."""
    words: str


class Trial(Struct, frozen=True, kw_only=True):
    rules: list[Tried]
    media: list[str]
    """Those by which the contact would be told; intervals and rollups are not looked at."""
    reason: str
    zone: str
    """In which the rules were read."""
    tags: list[str]
    """All that the sample has."""


def tried(contact: Contact, sample: Sample, general: Rule, default_zone: str) -> Trial:
    """`general` is the rule that holds for everything if the contact has none such."""
    if all(rule.is_specific for rule in contact.rules):
        contact = replace(contact, rules=(*contact.rules, general))
    to = addressee(contact, default_zone)
    tags = sorted(ephemeral_tags(sample.entity, sample.check).union(sample.tags))
    way = route(to, _notification(sample, tags), sample.time)
    asked = [
        (one, one.mismatch(sample.entity, frozenset(tags), to.zone, sample.time))
        for one in to.conditions
    ]
    has_specific = any(why_not is None and one.is_specific for one, why_not in asked)
    rules = []
    for one, why_not in asked:
        counts = why_not is None and (one.is_specific or not has_specific)
        words = why_not or ("matches" if counts else LEFT_ASIDE)
        rules.append(Tried(id=one.rule.id, matches=why_not is None, counts=counts, words=words))
    return Trial(rules=rules, media=way.media, reason=way.reason, zone=to.zone.key, tags=tags)


def _notification(sample: Sample, tags: list[str]) -> Notification:
    return Notification(
        event_id=f"{sample.entity}:{sample.check}",
        state=sample.state,
        type="problem",
        severity=sample.state,
        tags=tags,
    )
