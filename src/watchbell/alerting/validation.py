"""Validates contacts, rules and entities; raises Refused with the invalid field."""

import difflib
import re
import zoneinfo
from collections.abc import Iterable

from msgspec.structs import replace

from watchbell.alerting import contact_loading, expressions
from watchbell.alerting.keys import RESERVED_MEDIA
from watchbell.alerting.model import Contact, Medium, Rule
from watchbell.alerting.rule_format import LISTS, SEVERITIES, unreadable
from watchbell.errors import Refused
from watchbell.schedule import recurrence

PAGERDUTY = ("subdomain", "username", "password", "token")
"""The fields of a contact's PagerDuty account."""
LONGEST_REGEX = 1_000

_MEDIUM = re.compile(r"[a-z0-9_]{1,64}")
# Control characters, line breaks, and halves of characters, which no store and no mail takes.
_UNPRINTABLE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff]")


def plain(field: str, text: str, expected: str = "text without control characters") -> str:
    """The text, if it can be stored, sent and shown."""
    if not text.strip() or _UNPRINTABLE.search(text):
        raise Refused(f"{_quoted(text)} is not allowed; expected {expected}", field=field)
    return text


def identifier(field: str, text: str, what: str = "an id") -> str:
    expected = f"{what}: text without colons and control characters"
    if ":" in text:
        raise Refused(f"{_quoted(text)} is not allowed; expected {expected}", field=field)
    return plain(field, text, expected)


def medium_name(field: str, text: str) -> str:
    if not _MEDIUM.fullmatch(text):
        raise Refused(
            f"{_quoted(text)} is no name of a medium; expected lower-case letters, "
            "digits and _, as in email or sms_twilio",
            field=field,
        )
    if text in RESERVED_MEDIA:
        raise Refused(
            f"{_quoted(text)} is not allowed; expected a medium whose queue has a name of its own",
            field=field,
        )
    return text


def zone_name(field: str, text: str) -> str:
    zones = zoneinfo.available_timezones()
    if text in zones:
        return text
    cities = {zone.rpartition("/")[2].lower(): zone for zone in sorted(zones)}
    wanted = text.rpartition("/")[2].replace(" ", "_").lower()
    near = difflib.get_close_matches(wanted, cities, n=1)
    hint = f"did you mean {cities[near[0]]}?" if near else "expected a name as Europe/Rome"
    raise Refused(f"there is no time zone {_quoted(text)}; {hint}", field=field)


def _quoted(text: str) -> str:
    return repr(_UNPRINTABLE.sub("?", text if len(text) <= 60 else text[:60] + "…"))


def checked_rule(rule: Rule) -> Rule:
    """The rule in its stored form; raises Refused with the invalid field."""
    identifier("id", rule.id)
    identifier("contact_id", rule.contact_id)
    if bad := unreadable(rule):
        raise Refused("what is stored can't be read; enter it again", field=bad[0])
    for name in rule.entities:
        identifier("entities", name, "a name")
    for tag in rule.tags:
        plain("tags", tag)
    for field in ("regex_entities", "regex_tags"):
        for text in getattr(rule, field):
            _check_regex(field, text)
    for field in (f"{severity}_media" for severity in SEVERITIES):
        for name in getattr(rule, field):
            medium_name(field, name)
    _check_times(rule.time_restrictions)
    return replace(rule, entities=tuple(name.lower() for name in rule.entities))


def rule_problems(rule: Rule) -> list[Refused]:
    """The problems of a rule, one for each invalid field."""
    found = []
    for field in (*LISTS, "tags", "time_restrictions"):
        try:
            checked_rule(Rule(id="r", contact_id="c", **{field: getattr(rule, field)}))
        except Refused as error:
            found.append(error)
    return found


def _check_times(restrictions: Iterable[dict[str, object]]) -> None:
    for restriction in restrictions:
        try:
            recurrence.parse(restriction)
        except Refused as error:
            raise Refused(str(error), field="time_restrictions") from error


def _check_regex(field: str, text: str) -> None:
    if len(text) > LONGEST_REGEX:
        raise Refused(
            f"an expression has {len(text)} characters; expected {LONGEST_REGEX} at most",
            field=field,
        )
    plain(field, text, "a regular expression")
    try:
        expressions.compiled(text)
    except Refused as error:
        reason = f"{_quoted(text)} is no regular expression: {error}"
        raise Refused(reason, field=field) from error


def checked_contact(contact: Contact) -> Contact:
    """The contact in its stored form; raises Refused with the invalid field."""
    identifier("id", contact.id)
    plain("first_name", contact.first_name)
    for field, text in (("last_name", contact.last_name), ("email", contact.email)):
        if text:
            plain(field, text)
    for name, medium in contact.media.items():
        _check_medium(medium_name("media", name), medium)
    for name, value in contact.pagerduty.items():
        _check_credential(name, value)
    for tag in contact.tags:
        plain("tags", tag)
    if contact.timezone:
        zone_name("timezone", contact.timezone)
    own = (replace(rule, contact_id=contact.id) for rule in contact.rules)
    return replace(contact, rules=tuple(checked_rule(rule) for rule in own))


def _check_medium(name: str, medium: Medium) -> None:
    plain(f"media.{name}.address", medium.address)
    if name == "email" and not all(medium.address.rpartition("@")):
        reason = f"{medium.address!r} is no mail address"
        raise Refused(reason, field="media.email.address")
    for field, low, high in (
        ("interval", 1, contact_loading.LONGEST_INTERVAL),
        ("rollup_threshold", 0, contact_loading.MOST),
    ):
        if not low <= (number := getattr(medium, field)) <= high:
            reason = f"{number} is not allowed; expected {low} to {high}"
            raise Refused(reason, field=f"media.{name}.{field}")


def _check_credential(name: str, value: str) -> None:
    if name not in PAGERDUTY:
        raise Refused(f"expected one of {', '.join(PAGERDUTY)}", field=f"pagerduty.{name}")
    plain(f"pagerduty.{name}", value)
    if value == "***":
        reason = "*** stands for a secret that is not shown; enter it again"
        raise Refused(reason, field=f"pagerduty.{name}")
