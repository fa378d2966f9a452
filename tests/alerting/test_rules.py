"""Rules: read whatever is stored, written as others read it, told in words, one general rule."""

import asyncio
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from watchbell.alerting import contacts, rule_format, rule_text, rules, validation
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import KNOWN_MEDIA, Contact, Medium, Rule
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store

keys = Alerting()

OFFICE: dict[str, object] = {
    "start_time": "2013-01-28 08:00:00",
    "end_time": "2013-01-28 18:00:00",
    "rrules": [
        {
            "rule_type": "Weekly",
            "interval": 1,
            "week_start": 0,
            "validations": {"day": [1, 2, 3, 4, 5]},
        }
    ],
}
ALICE = Contact(
    id="alice", first_name="Alice", media={"email": Medium(address="alice@example.com")}
)
RULE = Rule(
    id="r1",
    contact_id="alice",
    entities=("web-1", "web-2"),
    regex_entities=("^web",),
    tags=("db", "prod"),
    regex_tags=("^eu-",),
    time_restrictions=(OFFICE,),
    unknown_media=("jabber",),
    warning_media=("email",),
    critical_media=("email", "sms"),
    warning_blackhole=True,
)

words = st.from_regex(r"[a-z][a-z0-9 .é-]{0,10}", fullmatch=True)
lists = st.lists(words, max_size=3).map(tuple)
media = st.lists(st.sampled_from(KNOWN_MEDIA), max_size=3, unique=True).map(tuple)
some_rules = st.builds(
    Rule,
    id=words,
    contact_id=words,
    entities=lists,
    regex_entities=lists.map(lambda texts: tuple(re.escape(text) for text in texts)),
    tags=lists,
    regex_tags=lists.map(lambda texts: tuple(re.escape(text) for text in texts)),
    time_restrictions=st.sampled_from([(), (OFFICE,), (OFFICE, OFFICE)]),
    unknown_media=media,
    warning_media=media,
    critical_media=media,
    unknown_blackhole=st.booleans(),
    warning_blackhole=st.booleans(),
    critical_blackhole=st.booleans(),
)


def raw(fields: dict[str, str]) -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in fields.items()}


@given(some_rules)
def test_what_is_written_is_read_again(rule: Rule) -> None:
    assert rule_format.parse(raw(rule_format.fields(rule))) == rule


def test_a_rule_is_written_as_others_read_it() -> None:
    written = rule_format.fields(replace(RULE, regex_tags=(), unknown_media=()))
    assert written["tags"] == written["entity_tags"] == '["db","prod"]'
    assert written["regex_tags"] == written["unknown_media"] == "null"
    assert (written["warning_blackhole"], written["critical_blackhole"]) == ("true", "false")
    assert json.loads(written["time_restrictions"]) == [OFFICE]
    assert set(written) == {"id", "contact_id", *rule_format.FIELDS}


@pytest.mark.parametrize(
    ("stored", "tags"),
    [
        ({}, ()),
        ({"tags": "null", "entity_tags": "null"}, ()),
        ({"entity_tags": '["a"]'}, ("a",)),
        ({"tags": "null", "entity_tags": '["a"]'}, ("a",)),
        ({"tags": "", "entity_tags": '["a"]'}, ("a",)),
        ({"tags": '["b"]', "entity_tags": '["a"]'}, ("b",)),
        ({"tags": "[]", "entity_tags": '["a"]'}, ()),
    ],
)
def test_tags_are_read_from_either_name(stored: dict[str, str], tags: tuple[str, ...]) -> None:
    assert rule_format.parse(raw(stored)).tags == tags


@pytest.mark.parametrize("field", [f for f in rule_format.FIELDS if not f.endswith("_blackhole")])
@pytest.mark.parametrize(
    "value", [b"[", b"5", b'{"a": 1}', b"[1]", b'["\xff"]', b"[" * 100_000, b'["\\ud800"]', b"x"]
)
def test_a_rule_that_cannot_be_read_matches_nothing_and_says_so(field: str, value: bytes) -> None:
    name = field.replace("entity_tags", "tags")
    rule = rule_format.parse({field.encode(): value})
    assert rule_format.unreadable(rule) == (name,)
    assert rule.is_specific
    assert not any(re.search(rule.regex_entities[-1], text) for text in ("", "web-1", name))
    assert rule_text.describe(rule) == f"Matches nothing, since its {name} can't be read."
    with pytest.raises(Refused, match=f"{name}: what is stored can't be read; enter it again"):
        validation.checked_rule(replace(rule, id="r", contact_id="alice"))
    assert rule_format.unreadable(rule_format.without_unreadable(rule, [name])) == ()


@given(st.dictionaries(st.sampled_from([f.encode() for f in rule_format.FIELDS]), st.binary()))
def test_any_bytes_can_be_read(fields: dict[bytes, bytes]) -> None:
    rule_text.describe(rule_format.parse(fields))


@pytest.mark.parametrize("value", [b"True", b"1", b"yes", b"", b"null", b"\xff"])
def test_only_the_word_true_silences(value: bytes) -> None:
    assert not rule_format.parse({b"critical_blackhole": value}).critical_blackhole


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"id": ""}, "id: '' is not allowed"),
        ({"id": "a:b"}, "id: 'a:b' is not allowed"),
        ({"contact_id": "a\nb"}, r"contact_id: 'a\?b' is not allowed"),
        ({"entities": ("web:1",)}, "entities: 'web:1' is not allowed"),
        ({"tags": ("",)}, "tags: '' is not allowed"),
        ({"tags": ("\ud800",)}, r"tags: '\?' is not allowed"),
        ({"regex_entities": ("(",)}, r"regex_entities: '\(' is no regular expression: missing"),
        ({"regex_entities": ("",)}, "regex_entities: '' is not allowed"),
        ({"regex_tags": ("a{9999}",)}, "regex_tags: .* is no regular expression"),
        ({"regex_tags": ("(?!a)",)}, r"regex_tags: '\(\?!a\)' is no regular expression: .* RE2"),
        ({"regex_tags": (r"(a)\1",)}, "regex_tags: .* has no look-around and no back-references"),
        ({"regex_tags": ("((a{99}){99}){99}",)}, "regex_tags: .* is no regular expression"),
        ({"regex_tags": ("a" * 1001,)}, "regex_tags: an expression has 1001 characters"),
        ({"critical_media": ("E-Mail",)}, "critical_media: 'E-Mail' is no name of a medium"),
        ({"unknown_media": ("",)}, "unknown_media: '' is no name"),
        ({"time_restrictions": ({"start_time": "soon"},)}, "time_restrictions: "),
        ({"time_restrictions": ({},)}, "time_restrictions: "),
    ],
)
def test_what_may_not_be_stored_is_refused_by_field(change: dict[str, Any], says: str) -> None:
    with pytest.raises(Refused, match=says) as refused:
        validation.checked_rule(replace(RULE, **change))
    assert "\n" not in str(refused.value)


def test_entities_are_kept_in_lower_case() -> None:
    assert validation.checked_rule(replace(RULE, entities=("WEB-1",))).entities == ("web-1",)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (
            replace(RULE, time_restrictions=()),
            (
                "If the entity is web-1 or web-2, its name matches /^web/, the event is tagged db "
                "and prod and one of its tags matches /^eu-/, at any time: critical by email and "
                "sms, warning is dropped, unknown by jabber."
            ),
        ),
        (
            rules.general("alice", ["email"], "g"),
            (
                "If no specific rule matches, at any time: critical by every medium, "
                "warning by every medium, unknown is not sent."
            ),
        ),
        (
            Rule(id="r", contact_id="alice", tags=("db",), time_restrictions=({},)),
            (
                "If the event is tagged db, at a time that can't be read, which is never: critical "
                "is not sent, warning is not sent, unknown is not sent."
            ),
        ),
        (
            Rule(id="r", contact_id="alice", regex_tags=("^(?!db)",), critical_media=("sms",)),
            (
                "If one of its tags matches /^(?!db)/, which is not a valid expression and matches "
                "nothing, at any time: critical by sms, warning is not sent, unknown is not sent."
            ),
        ),
    ],
)
def test_a_rule_is_told_in_one_sentence(rule: Rule, told: str) -> None:
    assert rule_text.describe(rule) == told


def test_its_times_are_told_in_words() -> None:
    told = rule_text.describe(RULE)
    assert "08:00" in told
    assert "18:00" in told
    assert "Monday to Friday" in told


def test_the_general_rule_covers_all_media_but_not_the_unknown() -> None:
    rule = rules.general("alice", ["email", "pigeon"], "g1")
    assert rule.critical_media == rule.warning_media == (*KNOWN_MEDIA, "pigeon")
    assert rule.unknown_media == ()
    assert not rule.is_specific


async def test_a_rule_is_stored_found_changed_and_removed(store: Store) -> None:
    await contacts.save(store, ALICE)
    await rules.save(store, RULE)
    assert await rules.find(store, "r1") == RULE
    assert await store.call("SMEMBERS", keys.rules("alice")) == {b"r1"}
    changed = replace(RULE, tags=())
    await rules.save(store, changed)
    assert (await contacts.load(store, ["alice"]))["alice"].rules == (changed,)
    await rules.remove(store, "r1")
    assert await store.call("EXISTS", keys.rule("r1"), keys.rules("alice")) == 0
    for asked in (rules.find, rules.remove):
        with pytest.raises(NotFound, match="there is no rule r1"):
            await asked(store, "r1")


async def test_a_rule_needs_its_contact_and_stays_with_it(store: Store) -> None:
    with pytest.raises(NotFound, match="there is no contact alice"):
        await rules.save(store, RULE)
    await contacts.save(store, ALICE)
    await contacts.save(store, replace(ALICE, id="bob"))
    await rules.save(store, RULE)
    with pytest.raises(Refused, match="the rule r1 belongs to alice"):
        await rules.save(store, replace(RULE, contact_id="bob"))


@pytest.mark.parametrize("existing", [(), (RULE,), (RULE, replace(RULE, id="r2"))])
async def test_many_at_once_store_one_general_rule(
    store: Store, existing: tuple[Rule, ...]
) -> None:
    alice = replace(ALICE, rules=existing)
    await contacts.save(store, alice, with_rules=True)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(rules.ensure_general(store, alice)) for _ in range(20)]
    stored = (await contacts.load(store, ["alice"]))["alice"]
    assert len(stored.rules) == len(existing) + 1
    assert len([rule for rule in stored.rules if not rule.is_specific]) == 1
    for task in tasks:
        assert set(map(str, task.result().rules)) == set(map(str, stored.rules))


async def test_a_contact_with_a_general_rule_is_left_as_it_is(store: Store) -> None:
    at_night = replace(RULE, entities=(), regex_entities=(), tags=(), regex_tags=())
    alice = replace(ALICE, rules=(at_night,))
    assert await rules.ensure_general(store, alice) is alice


async def test_a_rule_that_others_made_meanwhile_is_seen(store: Store) -> None:
    made = rules.general("alice", (), "theirs")
    await contacts.save(store, ALICE)
    await rules.save(store, made)
    assert (await rules.ensure_general(store, ALICE)).rules == (made,)


async def test_odd_ids_and_dangling_ones_do_not_hold_up_the_general_rule(store: Store) -> None:
    await contacts.save(store, ALICE)
    await store.call("SADD", keys.rules("alice"), "dangling", b"\xff")
    await store.call("HSET", keys.rule("").encode() + b"\xff", "tags", '["a"]')
    alice = await rules.ensure_general(store, ALICE)
    assert [rule.is_specific for rule in alice.rules] == [False]
    assert (await contacts.load(store, ["alice"]))["alice"] == alice


async def test_no_rule_is_stored_for_a_contact_that_is_gone(store: Store) -> None:
    assert len((await rules.ensure_general(store, ALICE)).rules) == 1
    assert await store.call("DBSIZE") == 0
