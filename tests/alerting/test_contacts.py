"""Contacts on every kind of store: read in one go, replaced whole, removed without a trace."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.conftest import watched
from watchbell.alerting import contact_links, contacts, validation
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import Contact, Medium, Rule
from watchbell.errors import Changed, NotFound, Refused
from watchbell.store.client import Store

PREFIX = "{a*[07]?}:"
"""Of one slot, as a cluster needs it, and with every letter that means something in a pattern."""
keys, own = Alerting(PREFIX), AlertingOwn(PREFIX)

ALICE = Contact(
    id="alice",
    first_name="Alice",
    last_name="Ünal",
    email="alice@example.com",
    timezone="Europe/Rome",
    media={
        "sms": Medium(address="+39 055 1", interval=60, rollup_threshold=3),
        "email": Medium(address="alice@example.com"),
        "pagerduty": Medium(address="0123456789abcdef"),
    },
    pagerduty={"subdomain": "example", "username": "alice", "password": "env:ALICE_PAGERDUTY"},
    rules=(
        Rule(id="r1", contact_id="alice", entities=("web-1",), critical_media=("sms",)),
        Rule(id="r2", contact_id="alice", warning_media=("email",), unknown_blackhole=True),
    ),
)
BOB = Contact(id="bob *?[x]", first_name="Bob")


# An embedded store has roles at work in it, under no prefix.
everywhere = pytest.mark.parametrize(
    "topology", ["debian", "sentinel", "cluster"], indirect=True, scope="session"
)


@pytest.fixture
async def shard(topology: Any) -> AsyncIterator[Store]:
    """Every kind of store, with our keys in one slot where it has slots."""
    async for store in watched(f"{topology.url}?prefix={quote(PREFIX)}"):
        yield store


@pytest.fixture
async def plain(server: Any) -> AsyncIterator[Store]:
    async for store in watched(f"{server.url}?prefix={quote(PREFIX)}"):
        yield store


async def all_keys(store: Store) -> set[bytes]:
    found: set[bytes] = set()
    for primary in await store.primaries():
        _, page = await primary.call("SCAN", 0, "COUNT", 100_000)
        found.update(page)
    return found


@everywhere
async def test_what_is_saved_is_loaded_in_the_order_of_its_media(shard: Store) -> None:
    await contacts.save(shard, ALICE, with_rules=True)
    await contacts.save(shard, BOB)
    found = await contacts.load(shard, [BOB.id, "nobody", "alice", BOB.id])
    assert found == {BOB.id: BOB, "alice": ALICE}
    assert list(found) == [BOB.id, "alice"]
    assert list(found["alice"].media) == ["sms", "email", "pagerduty"]


async def test_a_contact_is_stored_as_others_read_it(plain: Store) -> None:
    await contacts.save(plain, ALICE, with_rules=True)
    assert await plain.call("HGETALL", keys.contact("alice")) == {
        b"first_name": b"Alice",
        b"last_name": "Ünal".encode(),
        b"email": b"alice@example.com",
    }
    assert await plain.call("HGET", keys.media("alice"), "pagerduty") == b"0123456789abcdef"
    assert await plain.call("HGETALL", keys.intervals("alice")) == {
        b"sms": b"60",
        b"email": b"900",
        b"pagerduty": b"900",
    }
    assert await plain.call("HGETALL", keys.rollup_thresholds("alice")) == {b"sms": b"3"}
    assert await plain.call("GET", keys.timezone("alice")) == b"Europe/Rome"
    assert await plain.call("HGET", keys.pagerduty("alice"), "subdomain") == b"example"
    assert await plain.call("SMEMBERS", keys.rules("alice")) == {b"r1", b"r2"}


async def test_a_contact_without_a_first_name_does_not_count(plain: Store) -> None:
    await plain.call("HSET", keys.contact("ghost"), "last_name", "Ghost")
    await plain.call("HSET", keys.media("ghost"), "email", "ghost@example.com")
    assert await contacts.load(plain, ["ghost"]) == {}
    assert await contacts.all_ids(plain) == []


async def test_a_change_by_another_program_is_seen_at_once(plain: Store) -> None:
    await contacts.save(plain, ALICE, with_rules=True)
    await contacts.load(plain, ["alice"])
    await plain.call("HSET", keys.media("alice"), "sms", "+1")
    await plain.call("HSET", keys.rule("r1"), "critical_media", '["email"]')
    alice = (await contacts.load(plain, ["alice"]))["alice"]
    assert alice.media["sms"].address == "+1"
    assert alice.rules[0].critical_media == ("email",)


@pytest.mark.parametrize(
    ("interval", "threshold", "read"),
    [
        (None, None, (900, 0)),
        ("0", "0", (900, 0)),
        ("-5", "-5", (900, 0)),
        ("", "", (900, 0)),
        ("5m", "few", (900, 0)),
        ("60", "5", (60, 5)),
        ("9" * 30, "9" * 30, (900, 0)),
        ("9" * 15, "9" * 15, (1 << 31, 1_000_000)),
    ],
)
async def test_odd_numbers_are_read_as_what_holds_without_them(
    plain: Store, interval: str | None, threshold: str | None, read: tuple[int, int]
) -> None:
    await plain.call("HSET", keys.contact("a"), "first_name", "A")
    await plain.call("HSET", keys.media("a"), "sms", "+1")
    for key, value in ((keys.intervals("a"), interval), (keys.rollup_thresholds("a"), threshold)):
        if value is not None:
            await plain.call("HSET", key, "sms", value)
    medium = (await contacts.load(plain, ["a"]))["a"].media["sms"]
    assert (medium.interval, medium.rollup_threshold) == read


async def test_any_bytes_and_any_types_are_read(plain: Store) -> None:
    long = b"\xff" * 70_000
    await plain.call("HSET", keys.contact("a"), "first_name", b"\xff\x00", "last_name", long)
    await plain.call("HSET", keys.media("a"), "sms", b"\xfe" * 200, b"\xff", b"")
    await plain.call("SADD", keys.rules("a"), b"\xff", "gone", "r", *range(20))
    await plain.call("HSET", keys.rule("r"), "entities", b"\xff", "tags", "[" * 5000)
    alice = (await contacts.load(plain, ["a", "\udcff"]))["a"]
    assert alice.first_name == "\ufffd\x00"
    assert alice.media["sms"].address == "\ufffd" * 200
    assert [rule.id for rule in alice.rules] == ["r"]
    for family in (keys.media, keys.intervals, keys.pagerduty, keys.timezone, keys.rules):
        await plain.call("DEL", family("a"))
        await plain.call("RPUSH", family("a"), "x")
    assert (await contacts.load(plain, ["a"]))["a"].media == {}
    await contacts.save(plain, replace(ALICE, id="a"), with_rules=True)  # and put right
    assert (await contacts.load(plain, ["a"]))["a"].media == ALICE.media


@everywhere
async def test_saving_replaces_all_but_rules_and_tags(shard: Store) -> None:
    await contacts.save(shard, replace(ALICE, tags=("ops",)), with_rules=True, tags_before=())
    bare = Contact(id="alice", first_name="Alicia")
    await contacts.save(shard, bare)
    assert await contacts.load(shard, ["alice"]) == {"alice": replace(bare, rules=ALICE.rules)}
    assert await contacts.tags(shard) == {"alice": ("ops",)}
    await contacts.save(shard, replace(bare, tags=("b", "a")), with_rules=True, tags_before=["ops"])
    assert await contacts.load(shard, ["alice"]) == {"alice": bare}
    assert await contacts.tags(shard) == {"alice": ("a", "b")}
    assert await shard.call("EXISTS", keys.rule("r1")) == 0


async def test_only_the_contact_that_was_meant_is_replaced(plain: Store) -> None:
    await contacts.save(plain, ALICE, with_rules=True, tags_before=(), replaces="")
    with pytest.raises(Changed, match="contact alice was changed by somebody else"):
        await contacts.save(plain, replace(BOB, id="alice"), replaces="")
    _, stamp = await contacts.stamped(plain, "alice")
    await plain.call("HSET", keys.rule("r1"), "warning_media", '["sms"]')  # also by others
    with pytest.raises(Changed):
        await contacts.save(plain, replace(BOB, id="alice"), replaces=stamp)
    alice, stamp = await contacts.stamped(plain, "alice")
    with pytest.raises(Changed):  # a tag that it has no more
        await contacts.save(plain, replace(BOB, id="alice"), tags_before=["gone"], replaces=stamp)
    assert (await contacts.known(plain, "alice")).first_name == ALICE.first_name
    await contacts.save(plain, replace(alice, first_name="Alina"), replaces=stamp)
    assert (await contacts.known(plain, "alice")).first_name == "Alina"
    with pytest.raises(NotFound):
        await contacts.stamped(plain, "charlie")


async def test_a_medium_that_goes_takes_its_alerting_along(plain: Store) -> None:
    await contacts.save(plain, ALICE)
    for medium in ("sms", "email"):
        await plain.call("ZADD", keys.alerting_checks("alice", medium), 1, "web:HTTP:80")
        await plain.call("SADD", own.alerting_media("web", "HTTP:80"), f"alice:media:{medium}")
        await plain.call("SADD", own.rollups(), f"alice:media:{medium}")
    await contacts.save(plain, replace(ALICE, media={"email": ALICE.media["email"]}))
    assert await plain.call("EXISTS", keys.alerting_checks("alice", "sms")) == 0
    assert await plain.call("ZCARD", keys.alerting_checks("alice", "email")) == 1
    left = {b"alice:media:email"}
    assert await plain.call("SMEMBERS", own.alerting_media("web", "HTTP:80")) == left
    assert await plain.call("SMEMBERS", own.rollups()) == left


async def test_a_rule_of_another_contact_is_not_taken(plain: Store) -> None:
    await contacts.save(plain, ALICE, with_rules=True)
    with pytest.raises(Refused, match="notification_rules: the rule r1 belongs to another"):
        await contacts.save(plain, replace(BOB, rules=ALICE.rules), with_rules=True)
    assert list(await contacts.load(plain, ["alice", BOB.id])) == ["alice"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"id": ""}, "id: ''"),
        ({"id": "a:b"}, "id: 'a:b' is not allowed; expected an id: text without colons"),
        ({"id": "a\x7fb"}, r"id: 'a\?b'"),
        ({"id": "a\udcff"}, r"id: 'a\?'"),
        ({"first_name": " "}, "first_name: ' ' is not allowed"),
        ({"last_name": "a\r\nBcc: all"}, r"last_name: 'a\?\?Bcc: all'"),
        ({"email": "\0"}, "email: "),
        ({"timezone": "Europe/Rom"}, "no time zone 'Europe/Rom'; did you mean Europe/Rome?"),
        ({"timezone": "Adelaide"}, "did you mean Australia/Adelaide?"),
        ({"timezone": "../../etc/passwd"}, "timezone: there is no time zone"),
        ({"timezone": "\0"}, r"no time zone '\?'; expected a name as Europe/Rome"),
        ({"tags": ("ok", "")}, "tags: '' is not allowed"),
        ({"media": {"SMS": Medium(address="1")}}, "media: 'SMS' is no name of a medium"),
        ({"media": {"sms": Medium(address="")}}, "media.sms.address: ''"),
        ({"media": {"email": Medium(address="alice")}}, "'alice' is no mail address"),
        ({"media": {"sms": Medium(address="1", interval=0)}}, "media.sms.interval: 0 is not"),
        (
            {"media": {"sms": Medium(address="1", rollup_threshold=-1)}},
            "media.sms.rollup_threshold: -1 is not allowed; expected 0 to 1000000",
        ),
        ({"pagerduty": {"pin": "1"}}, "pagerduty.pin: expected one of subdomain, username"),
        ({"pagerduty": {"password": "***"}}, "pagerduty.password: .* stands for a secret"),
        ({"rules": (Rule(id="r", contact_id="x", regex_tags=("(",)),)}, "regex_tags: "),
    ],
)
def test_what_may_not_be_stored_is_refused_by_field(change: dict[str, Any], says: str) -> None:
    with pytest.raises(Refused, match=says) as refused:
        validation.checked_contact(replace(ALICE, **change))
    assert "\n" not in str(refused.value)


@given(st.text(st.characters()), st.text(st.characters()))
def test_any_text_is_refused_in_one_line_or_can_be_stored(text: str, other: str) -> None:
    medium = Medium(address=other)
    told = ""
    try:
        kept = validation.checked_contact(Contact(id=text, first_name=other, media={"sms": medium}))
        told = kept.id + kept.first_name
    except Refused as refused:
        told = str(refused)
    assert told.encode().splitlines() == [told.encode()]


@everywhere
async def test_all_ids_are_found_and_nothing_else(shard: Store) -> None:
    await contacts.save(shard, ALICE)
    await contacts.save(shard, BOB)
    await shard.call("HSET", keys.actions("contact", "HTTP"), "1", "acknowledgement")
    await shard.call("HSET", keys.contact("").encode() + b"\xff", "first_name", "Nobody")
    assert await contacts.all_ids(shard) == ["alice", BOB.id]
    assert await contacts.tags(shard) == {}


@everywhere
async def test_a_removed_contact_leaves_nothing_and_others_alone(shard: Store) -> None:
    await contacts.save(shard, replace(BOB, id="alice2", tags=("ops",)), tags_before=())
    await contact_links.link(shard, "alice2", "ALL")
    await contact_links.link(shard, "alice2", "e1")
    await shard.call("SET", keys.medium_drop("alice2", "sms"), "d", "EX", 60)
    await shard.call("ZADD", keys.alerting_checks("alice2", "sms"), 1, "web:HTTP")
    await shard.call("SADD", own.alerting_media("web", "HTTP"), "alice2:media:sms")
    before = await all_keys(shard)

    await contacts.save(shard, replace(ALICE, tags=("ops", "x:y")), with_rules=True, tags_before=())
    await contact_links.link(shard, "alice", "ALL")
    await contact_links.link(shard, "alice", "e1")
    await contact_links.link(shard, "alice", "e1", "HTTP:80")
    drops = [
        keys.contact_drop("alice"),
        keys.medium_drop("alice", "sms"),
        keys.state_drop("alice", "sms", "web", "HTTP:80", "critical"),
        keys.rollup_drop("alice", "email"),
    ]
    for drop in drops:
        await shard.call("SET", drop, "d", "EX", 60)
        await shard.call("ZADD", own.drops(), 1, drop)
    for medium in ("sms", "former"):
        await shard.call("ZADD", keys.alerting_checks("alice", medium), 1, "web:HTTP")
        await shard.call("SADD", own.alerting_media("web", "HTTP"), f"alice:media:{medium}")
        await shard.call("SADD", own.rollups(), f"alice:media:{medium}")
    await shard.call("ZADD", keys.alerts_by_contact("alice"), 1, "a1")
    await shard.call("ZADD", keys.alerts_by_medium("alice", "sms"), 1, "a1")

    await contacts.remove(shard, "alice")
    assert await all_keys(shard) == before
    assert await contact_links.interested(shard, "e1", "HTTP:80") == ["alice2"]
    assert await contacts.tags(shard) == {"alice2": ("ops",)}
    assert await shard.call("SMEMBERS", own.alerting_media("web", "HTTP")) == {b"alice2:media:sms"}
    with pytest.raises(NotFound, match="there is no contact alice"):
        await contacts.remove(shard, "alice")


async def test_a_contact_with_an_odd_id_is_removed_alone(plain: Store) -> None:
    await contacts.save(plain, BOB)
    await contacts.save(plain, replace(BOB, id="bob y"))
    await plain.call("SET", keys.medium_drop("bob *?x", "sms"), "d", "EX", 60)
    await contacts.remove(plain, BOB.id)
    assert await contacts.all_ids(plain) == ["bob y"]
    assert await plain.call("EXISTS", keys.medium_drop("bob *?x", "sms")) == 1


@everywhere
async def test_the_interested_come_once_by_entity_all_and_check(shard: Store) -> None:
    for name in ("a", "b", "c", "d"):
        await contacts.save(shard, replace(BOB, id=name))
    await contact_links.link(shard, "c", "e1")
    await contact_links.link(shard, "b", "e1")
    await contact_links.link(shard, "d", "ALL")
    await contact_links.link(shard, "b", "ALL")
    await contact_links.link(shard, "a", "e1", "HTTP:80")
    await contact_links.link(shard, "c", "e1", "HTTP:80")
    await shard.call("SADD", keys.entity_contacts("ALL"), b"\xff")
    assert await contact_links.interested(shard, "e1", "HTTP:80") == ["b", "c", "d", "a"]
    assert await contact_links.interested(shard, "e1", "HTTP") == ["b", "c", "d"]
    assert await contact_links.interested(shard, "e2", "HTTP:80") == ["b", "d"]
    await contact_links.unlink(shard, "c", "e1", "HTTP:80")
    await contact_links.unlink(shard, "b", "ALL")
    assert await contact_links.interested(shard, "e2", "HTTP") == ["d"]
    with pytest.raises(NotFound, match="b is not linked"):
        await contact_links.unlink(shard, "b", "ALL")


async def test_links_need_a_contact_and_a_check_needs_an_entity(plain: Store) -> None:
    with pytest.raises(NotFound, match="there is no contact alice"):
        await contact_links.link(plain, "alice", "e1")
    await contacts.save(plain, ALICE)
    with pytest.raises(Refused, match="a check belongs to one entity"):
        await contact_links.link(plain, "alice", "ALL", "HTTP")


async def test_thousands_are_loaded(plain: Store) -> None:
    names = [f"c{n}" for n in range(2_500)]
    for name in names[::2]:
        await plain.call("HSET", keys.contact(name), "first_name", name)
    assert list(await contacts.load(plain, names)) == names[::2]
