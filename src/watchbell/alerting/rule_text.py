"""What a rule does, in one sentence."""

from collections.abc import Iterable

from watchbell.alerting import expressions
from watchbell.alerting.model import KNOWN_MEDIA, Rule
from watchbell.alerting.rule_format import SEVERITIES, unreadable
from watchbell.errors import Refused
from watchbell.schedule import recurrence


def describe(rule: Rule) -> str:
    bad = unreadable(rule)
    if bad:
        return f"Matches nothing, since its {_listed(bad, 'and')} can't be read."
    conditions = [
        *([f"the entity is {_listed(rule.entities, 'or')}"] if rule.entities else []),
        *(f"its name {_matching(text)}" for text in rule.regex_entities),
        *([f"the event is tagged {_listed(rule.tags, 'and')}"] if rule.tags else []),
        *(f"one of its tags {_matching(text)}" for text in rule.regex_tags),
    ]
    times = [_when(restriction) for restriction in rule.time_restrictions]
    which = _listed(conditions, "and") if conditions else "no specific rule matches"
    when = _listed(times, "or") if times else "at any time"
    outcome = ", ".join(_outcome(rule, severity) for severity in SEVERITIES)
    return f"If {which}, {when}: {outcome}."


def _matching(text: str) -> str:
    try:
        expressions.compiled(text)
    except Refused:
        return f"matches /{text}/, which is not a valid expression and matches nothing"
    return f"matches /{text}/"


def _when(restriction: dict[str, object]) -> str:
    try:
        return recurrence.parse(restriction).describe()
    except Refused:
        return "at a time that can't be read, which is never"


def _outcome(rule: Rule, severity: str) -> str:
    if getattr(rule, f"{severity}_blackhole"):
        return f"{severity} is dropped"
    media = getattr(rule, f"{severity}_media")
    if set(KNOWN_MEDIA) <= set(media):
        return f"{severity} by every medium"
    return f"{severity} by {_listed(media, 'and')}" if media else f"{severity} is not sent"


def _listed(words: Iterable[str], last: str) -> str:
    *most, final = words
    return f"{', '.join(most)} {last} {final}" if most else final
