"""The automatic general rule of a contact: what it decides beside other rules, and its replacement.

A contact whose rules are all specific is given a general rule for all media when it is first
needed. So a rule for certain hours alone does not end the alerts outside of them. What replaces the
automatic rule is a general rule without media: while there is one, no other is made.
"""

from msgspec import Struct
from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting import contacts, rules
from watchbell.alerting.decide.remainder import remainder
from watchbell.alerting.model import Contact, Rule
from watchbell.store.client import Store


class Prospect(Struct, frozen=True):
    """What follows if a rule is saved."""

    words: str
    """What applies where the rule does not, in one sentence; empty where it always applies."""
    can_replace: bool
    """Whether the contact has no other rules than this one and the automatic one, and something
    else would apply if it were replaced."""


def is_automatic(rule: Rule) -> bool:
    """Whether the rule equals the automatic one; the contact's media may have changed since."""
    made = rules.general(rule.contact_id, (), rule.id)
    media = set(rule.critical_media)
    return (
        replace(rule, critical_media=(), warning_media=())
        == replace(made, critical_media=(), warning_media=())
        and media == set(rule.warning_media)
        and media >= set(made.critical_media)
    )


def saved(contact: Contact, rule: Rule, *, replaces_general: bool) -> Contact:
    """The contact as it would be with the rule, and with the general rule that goes with it."""
    others = [one for one in contact.rules if one.id != rule.id]
    if replaces_general:
        others = [one for one in others if not is_automatic(one)]
    found = (*others, rule)
    if all(one.is_specific for one in found):
        general = rules.general(contact.id, contact.media, ids.token())
        found = (*found, silent(general) if replaces_general else general)
    return replace(contact, rules=found)


def silent(rule: Rule) -> Rule:
    """A general rule by which nothing is sent."""
    return Rule(id=rule.id, contact_id=rule.contact_id)


def prospect(
    contact: Contact, rule: Rule, default_zone: str, now: int, *, replaces_general: bool
) -> Prospect:
    others = [one for one in contact.rules if one.id != rule.id]
    kept, replaced = (
        remainder(saved(contact, rule, replaces_general=choice), rule, default_zone, now)
        for choice in (False, True)
    )
    can_replace = kept != replaced and all(is_automatic(one) for one in others)
    return Prospect(replaced if replaces_general else kept, can_replace)


async def replace_general(store: Store, contact_id: str) -> None:
    """Takes the automatic general rule away; where no other general rule is left, one without media
    takes its place."""
    contact = await contacts.known(store, contact_id)
    automatic = [rule for rule in contact.rules if is_automatic(rule)]
    general = [rule for rule in contact.rules if not rule.is_specific and rule not in automatic]
    if not general:
        kept = automatic.pop() if automatic else Rule(id=ids.token(), contact_id=contact_id)
        await rules.save(store, silent(kept))
    for rule in automatic:
        await rules.remove(store, rule.id)
