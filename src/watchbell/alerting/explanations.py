"""Explains the latest decisions about a check: why contacts were notified, or why not."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from watchbell.alerting import contacts, rule_text
from watchbell.alerting.decide.check_facts import Verdict
from watchbell.alerting.decide.routing import Fate
from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.model import ContactDecision, Decision, decode_rule_result, split_id
from watchbell.store.client import Store

NOBODY_INTERESTED = "no contact is linked to this check"

_NOTIFIER = {"TOLD": "alerts queued", "NOBODY": "no alerts"}
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class MediumExplained(Struct, frozen=True):
    medium: str
    words: str
    until: int | None = None


class ContactExplained(Struct, frozen=True, kw_only=True):
    contact: str
    reason: str
    rules: list[str]
    """Each rule with whether it matches, or why it does not."""
    media: list[MediumExplained]


class Explained(Struct, frozen=True, kw_only=True):
    """A decision as people read it."""

    time: int
    by: str
    """`processor`, which decides whether to notify; `notifier`, which decides whom."""
    state: str
    outcome: str
    is_notified: bool
    """Whether a notification was created, or an alert was queued."""
    reason: str = ""
    until: int | None = None
    """Until when it is held back."""
    summary: str = ""
    tags: list[str] = []
    """The tags that rules were matched with."""
    contacts: list[ContactExplained] = []


async def decisions(store: Store, event_id: str, limit: int) -> list[Decision]:
    """The latest `limit` decisions, newest first; 0 for all. Unreadable records are skipped."""
    key = AlertingOwn(store.prefix).decisions(*split_id(event_id))
    found = [_decision(raw) for raw in await store.call("LRANGE", key, 0, limit - 1)]
    return [one for one in found if one is not None]


def _decision(raw: bytes) -> Decision | None:
    try:
        return msgspec.json.decode(raw, type=Decision)
    except _UNREADABLE:
        return None


async def rule_sentences(store: Store, found: Sequence[Decision]) -> dict[str, str]:
    """The sentence of each rule that these decisions considered and that still exists, by id."""
    ids = {one.contact for decision in found for one in decision.contacts}
    people = await contacts.load(store, sorted(ids)) if ids else {}
    return {rule.id: rule_text.describe(rule) for one in people.values() for rule in one.rules}


def explained(decision: Decision, sentences: Mapping[str, str]) -> Explained:
    """`sentences` are those of rules, by id; a rule without one counts as removed."""
    if decision.by == "processor":
        is_notified = decision.verdict == Verdict.TELL.name
        outcome = "notification created" if is_notified else "held back"
        reason = _value(Verdict, decision.verdict)
    else:
        is_notified = decision.verdict == "TOLD"
        outcome = _NOTIFIER.get(decision.verdict, decision.verdict)
        reason = "" if decision.contacts else NOBODY_INTERESTED
    return Explained(
        time=decision.time,
        by=decision.by,
        state=decision.state,
        outcome=outcome,
        is_notified=is_notified,
        reason=reason,
        until=decision.until,
        summary=decision.summary,
        tags=decision.tags,
        contacts=[_contact(one, sentences) for one in decision.contacts],
    )


def _rule(stored: str, sentences: Mapping[str, str]) -> str:
    rule_id, words = decode_rule_result(stored)
    sentence = sentences.get(rule_id, f"removed rule {rule_id[:8]}")
    return f"{sentence.removesuffix('.')}: {words}"


def _contact(decision: ContactDecision, sentences: Mapping[str, str]) -> ContactExplained:
    return ContactExplained(
        contact=decision.contact,
        reason=decision.reason,
        rules=[_rule(one, sentences) for one in decision.rules],
        media=[_medium(name, stored) for name, stored in decision.media.items()],
    )


def _medium(name: str, stored: str) -> MediumExplained:
    fate, _, until = stored.partition(":")
    is_time = until.isascii() and until.isdigit()
    return MediumExplained(name, _value(Fate, fate), int(until[:20]) if is_time else None)


def _value(kind: type[Verdict] | type[Fate], name: str) -> str:
    """The words of a verdict; its name where a newer version stored one that we don't know."""
    return kind[name].value if name in kind.__members__ else name
