"""The automatic general rule: what it does beside a first rule, and what replaces it."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.alerting.scenes import START, Stage
from watchbell.alerting import contacts, generals, rules
from watchbell.alerting.model import Contact, Medium, Rule
from watchbell.schedule import spoken
from watchbell.store.client import Store

NIGHT = tuple(spoken.windows("22:00-06:00"))  # START is at 22:13 UTC
ALWAYS = tuple(spoken.windows("00:00-24:00"))
ALICE = Contact(
    id="alice",
    first_name="Alice",
    media={"email": Medium(address="a@example.com"), "sms": Medium(address="+1")},
)
AUTOMATIC = rules.general("alice", ALICE.media, "auto")
KEPT = "the general rule applies: Alice is notified of critical by email and sms, warning by"


def prospect(
    fields: dict[str, Any], *others: Rule, replaces_general: bool = False
) -> generals.Prospect:
    rule = Rule(id="new", contact_id="alice", **fields)
    person = replace(ALICE, rules=others)
    return generals.prospect(person, rule, "UTC", START, replaces_general=replaces_general)


@pytest.mark.parametrize("others", [(), (AUTOMATIC,)])
@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"time_restrictions": NIGHT, "tags": ("db",)}, "Outside its hours"),
        ({"time_restrictions": NIGHT}, "Outside its hours"),
        ({"tags": ("db",)}, "Where it does not match"),
    ],
)
def test_the_first_rule_says_what_applies_elsewhere(
    fields: dict[str, Any], where: str, others: tuple[Rule, ...]
) -> None:
    replaced = f"{where}, Alice is not notified."
    assert prospect(fields, *others, replaces_general=True).words == replaced
    kept = prospect(fields, *others)
    is_general = "tags" not in fields
    if is_general and not others:  # being general itself, it is the only one there is
        assert kept == generals.Prospect(replaced, can_replace=False)
    else:
        assert kept.words.startswith(f"{where}, {KEPT}")
        assert kept.can_replace


@pytest.mark.parametrize("fields", [{}, {"time_restrictions": ALWAYS}])
def test_a_rule_that_always_applies_leaves_nothing_to_say(fields: dict[str, Any]) -> None:
    assert prospect(fields, AUTOMATIC) == generals.Prospect("", can_replace=False)


def test_beside_rules_of_people_nothing_is_offered() -> None:
    other = Rule(id="other", contact_id="alice", entities=("web",), critical_media=("sms",))
    found = prospect({"tags": ("db",), "time_restrictions": NIGHT}, other, AUTOMATIC)
    assert not found.can_replace
    assert found.words.endswith("unless another specific rule matches.")
    silent = Rule(id="mine", contact_id="alice", critical_media=("sms",))
    found = prospect({"tags": ("db",)}, silent)
    assert found.words.endswith("Alice is notified of critical by sms.")
    assert not found.can_replace


@pytest.mark.parametrize("tags", [(), ("http",)])
@pytest.mark.parametrize("is_used", [False, True])
async def test_a_night_only_rule_that_replaces_the_general_one_is_silent_by_day(
    store: Store, tags: tuple[str, ...], is_used: bool
) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    if is_used:  # the automatic rule is stored
        await stage.fails("web:before")
        await stage.alerts()
    await stage.rule("alice", tags=tags, time_restrictions=NIGHT, critical_media=("email",))
    await generals.replace_general(store, "alice")
    await stage.fails("web:http at night")
    assert len(await stage.alerts()) == 1
    await stage.later(12 * 3_600).fails("web:http by day")
    assert await stage.alerts() == []
    person = await contacts.known(store, "alice")
    assert not any(map(generals.is_automatic, person.rules))


async def test_without_being_asked_nothing_changes(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    await stage.rule("alice", tags=("http",), time_restrictions=NIGHT, critical_media=("email",))
    await stage.later(12 * 3_600).fails("web:http by day")
    assert len(await stage.alerts()) == 1
