"""Endpoints for rules: when and by which media a contact is alerted about what."""

import asyncio
from contextlib import suppress
from typing import Annotated
from zoneinfo import ZoneInfo

from litestar import Router, delete, get, post, put
from litestar.params import JSONBody, QueryParameter
from msgspec.structs import asdict, replace

from watchbell import ids
from watchbell.alerting import (
    contacts,
    generals,
    records,
    rule_text,
    rules,
    validation,
)
from watchbell.alerting.decide.routing import zone_of
from watchbell.alerting.decide.trial import Sample, tried
from watchbell.alerting.generals import Prospect
from watchbell.alerting.model import LARGEST, Contact, Rule, split_id
from watchbell.errors import Changed, NotFound, Refused
from watchbell.schedule import spoken, week
from watchbell.web.access import needs
from watchbell.web.alerting import rule_view
from watchbell.web.alerting.rule_shapes import (
    RuleBody,
    RuleDescription,
    RuleView,
    SampleEvent,
    Times,
    TrialView,
    TryBody,
)
from watchbell.web.listing import Page
from watchbell.web.problems import FieldError, HttpProblem, field_error
from watchbell.web.refused import RefusedField
from watchbell.web.services import Asked, Services, audited, services_of
from watchbell.web.versions import STALE, TRIES, IfMatch, fits, version

_NOT_STORED = ("week", "id", "replace_general")
GENERAL = "the general rule"
"""The name of the rule that a contact without rules gets."""

Of = Annotated[str, QueryParameter(min_length=1, max_length=500, description="A contact's id.")]
OptionalContact = Annotated[str, QueryParameter(max_length=500, description="A contact's id.")]
OptionalId = Annotated[
    str, QueryParameter(max_length=500, description="The id of the rule that it would replace.")
]
Id = Annotated[str, QueryParameter(min_length=1, max_length=500, description="A rule's id.")]
TimesText = Annotated[
    str, QueryParameter(max_length=500, description="For example `mon-fri 08:00-18:00; sat,sun`.")
]


@get("/rules", opt=needs("read"))
async def all_rules(request: Asked, contact: Of) -> Page[RuleView]:
    """List the rules of a contact."""
    person = await contacts.known(services_of(request).store, contact)
    return Page([rule_view.view(rule, person, services_of(request).now()) for rule in person.rules])


@post("/rules", opt=needs("write"))
async def add_rule(request: Asked, contact: Of, data: JSONBody[RuleBody]) -> RuleView:
    """Add a rule to a contact."""
    services = services_of(request)
    person = await contacts.known(services.store, contact)
    rule = validation.checked_rule(_rule(data, ids.token(), contact))
    await rules.save(services.store, rule)
    await audited(request, "rule.add", contact, _audit_details(rule))
    await _generalised(request, contact, data)
    return rule_view.view(rule, person, services.now())


@get("/rule", opt=needs("read"))
async def one_rule(request: Asked, contact: Of, id: Id) -> RuleView:  # noqa: A002
    """Get a rule of a contact."""
    services = services_of(request)
    person = await contacts.known(services.store, contact)
    return rule_view.view(_own(person, id), person, services.now())


@put("/rule", opt=needs("write"), responses=STALE)
async def change_rule(
    request: Asked,
    contact: Of,
    id: Id,  # noqa: A002
    data: JSONBody[RuleBody],
    if_match: IfMatch = "",
) -> RuleView:
    """Replace a rule."""
    services = services_of(request)
    person = await contacts.known(services.store, contact)
    _own(person, id)
    rule = validation.checked_rule(_rule(data, id, contact))
    await _replaced(services, rule, if_match)
    await audited(request, "rule.change", contact, _audit_details(rule))
    await _generalised(request, contact, data)
    return rule_view.view(rule, person, services.now())


async def _generalised(request: Asked, contact: str, data: RuleBody) -> None:
    if data.replace_general:
        await generals.replace_general(services_of(request).store, contact)
        await audited(request, "rule.change", contact, "the automatic general rule is replaced")


async def _replaced(services: Services, rule: Rule, if_match: str) -> None:
    for _ in range(TRIES):
        before, stamp = await rules.stamped(services.store, rule.id)
        fits(if_match, version(replace(before, contact_id=rule.contact_id)))
        with suppress(Changed):
            return await rules.save(services.store, rule, stamp)
    raise HttpProblem(412, f"rule {rule.id} is being changed by others; try again")


@delete("/rule", opt=needs("write"))
async def remove_rule(request: Asked, contact: Of, id: Id) -> None:  # noqa: A002
    """Delete a rule.

    A contact without a general rule gets one again when it is needed.
    """
    services = services_of(request)
    rule = _own(await contacts.known(services.store, contact), id)
    await rules.remove(services.store, id)
    await audited(request, "rule.remove", contact, _audit_details(rule))


@post("/rules/describe", status_code=200, opt=needs("read"))
async def describe_rule(
    request: Asked,
    data: JSONBody[RuleBody],
    contact: OptionalContact = "",
    id: OptionalId = "",  # noqa: A002
) -> RuleDescription:
    """Describe what a rule would do.

    The answer also lists what is wrong with it. Nothing is stored.
    """
    services = services_of(request)
    person = await contacts.known(services.store, contact) if contact else None
    problems: list[FieldError] = []
    try:
        rule = _rule(data, id or "new", contact or "nobody")
    except Refused as error:
        problems.append(field_error(error))
        plain = replace(data, week=None, time_restrictions=())
        rule = _rule(plain, id or "new", contact or "nobody")
    problems += map(field_error, validation.rule_problems(rule))
    grid, reasons = rule_view.week_of(rule.time_restrictions, services.now())
    after = (
        await _prospect(services, person, rule, data) if person else Prospect("", can_replace=False)
    )
    return RuleDescription(
        words=rule_text.describe(rule),
        problems=problems,
        week=grid,
        not_weekly=reasons,
        times=[rule_view.time_text(one) for one in rule.time_restrictions],
        is_specific=rule.is_specific,
        missing_media=rule_view.missing_media(rule, person) if person else [],
        outside=after.words,
        can_replace_general=after.can_replace,
    )


async def _prospect(services: Services, person: Contact, rule: Rule, data: RuleBody) -> Prospect:
    return await asyncio.to_thread(  # as below
        generals.prospect,
        person,
        rule,
        services.settings.alerting.timezone,
        services.now(),
        replaces_general=data.replace_general,
    )


@get("/rules/times", opt=needs("read"))
async def said_times(request: Asked, text: TimesText) -> Times:
    """Convert times in words to the form that rules have."""
    with RefusedField("text"):
        found = spoken.windows(text)
    grid, reasons = rule_view.week_of(found, services_of(request).now())
    texts = [rule_view.time_text(one) for one in found]
    return Times(time_restrictions=found, week=grid, not_weekly=reasons, words=texts)


@post("/rules/try", status_code=200, opt=needs("read"))
async def try_rules(request: Asked, data: JSONBody[TryBody]) -> TrialView:
    """Try rules with a sample event.

    The answer says whether the contact would be notified, by which media, which rules match,
    and why others do not. The rules are those of the contact, or those given in their place.
    Nothing is sent or stored.
    """
    services = services_of(request)
    person = await contacts.known(services.store, data.contact)
    if data.rules is not None:
        given = [
            _rule(one, one.id or f"rule {number}", person.id)
            for number, one in enumerate(data.rules, 1)
        ]
        person = replace(person, rules=tuple(given))
        for rule, one in zip(given, data.rules, strict=True):
            if one.replace_general:
                person = generals.saved(person, rule, replaces_general=True)
    zone = services.settings.alerting.timezone
    sample = _sample(data.event, services.now(), zone_of(person, zone))
    if not sample.tags:
        name = f"{sample.entity}:{sample.check}"
        sample = replace(sample, tags=await records.event_tags(services.store, name))
    general = rules.general(person.id, person.media, GENERAL)
    # Elsewhere, since times that begin in antiquity and are counted take a while.
    found = await asyncio.to_thread(tried, person, sample, general, zone)
    return rule_view.trial_view(found, person, sample)


def _sample(event: SampleEvent, now: int, zone: ZoneInfo) -> Sample:
    entity, check = split_id(event.check)
    if not entity.strip() or not check.strip():
        raise HttpProblem(422, "expected ENTITY:CHECK", field="check")
    time = now if event.time is None else event.time
    if event.at:
        time = _moment(event.at, now, zone)
    return Sample(
        entity=entity.lower(),
        check=check,
        state=event.state,
        tags=tuple(tag for tag in event.tags if tag.strip()),
        time=time,
    )


def _moment(text: str, now: int, zone: ZoneInfo) -> int:
    with RefusedField("at"):
        time = spoken.moment(text, now, zone)
    if not 0 <= time <= LARGEST:
        raise HttpProblem(422, f"{text!r} is too far away", field="at")
    return time


def _rule(data: RuleBody, rule_id: str, contact_id: str) -> Rule:
    """Refused where a week is given in which nothing is painted."""
    fields = {name: value for name, value in asdict(data).items() if name not in _NOT_STORED}
    if data.week is not None:
        fields["time_restrictions"] = tuple(week.restrictions_of(data.week))
    for name in ("entities", "tags", "critical_media", "warning_media", "unknown_media"):
        fields[name] = tuple(dict.fromkeys(fields[name]))
    return Rule(id=rule_id, contact_id=contact_id, **fields)


def _own(person: Contact, rule_id: str) -> Rule:
    for rule in person.rules:
        if rule.id == rule_id:
            return rule
    raise NotFound(f"{person.first_name} has no rule {rule_id[:80]}")


def _audit_details(rule: Rule) -> str:
    return f"{rule.id}: {rule_text.describe(rule)}"[:1_000]


ROUTES = Router(
    "/",
    tags=["Rules"],
    route_handlers=[
        *(all_rules, add_rule, one_rule, change_rule, remove_rule),
        *(describe_rule, said_times, try_rules),
    ],
)
