"""Entities: one id for a name whoever asks, renamed and removed with all that names them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.conftest import watched
from watchbell.alerting import contact_links, contacts, entities
from watchbell.alerting.entities import Entity
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Contact
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.store.search import scanned

PREFIX = "{a07}:"
keys = Alerting(PREFIX)
WEB = Entity(id="10001", name="web-1", contacts=("alice", "bob"), tags=("db", "source:x"))


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


async def indexed(store: Store) -> dict[str, str]:
    """Id to name, once all four places are known to say the same."""
    by_id = await store.call("HGETALL", keys.entity_names())
    by_name = await store.call("HGETALL", keys.entity_ids())
    assert by_id == {entity_id: name for name, entity_id in by_name.items()}
    for raw_id, raw_name in by_id.items():
        assert await store.call("HGET", keys.entity(raw_id.decode()), "name") == raw_name
        assert await store.call("GET", keys.entity_id(raw_name.decode())) == raw_id
    for begin, kind in ((keys.entity(""), "hash"), (keys.entity_id(""), "string")):
        found = {key async for _, page in scanned(store, begin, kind) for key in page}
        assert len(found) == len(by_id)
    return {raw_id.decode(): raw_name.decode() for raw_id, raw_name in by_id.items()}


@everywhere
async def test_many_at_once_make_one_entity(shard: Store) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(entities.ensure(shard, name)) for name in ["web-1", "WEB-1"] * 10
        ]
    (entity_id,) = {task.result() for task in tasks}
    assert await indexed(shard) == {entity_id: "web-1"}
    assert await entities.id_of(shard, "Web-1") == entity_id
    assert await entities.id_of(shard, entity_id) == entity_id


async def test_an_entity_that_others_wrote_keeps_its_id(plain: Store) -> None:
    await plain.call("HSET", keys.entity("7"), "name", "db-1")
    await plain.call("SET", keys.entity_id("db-1"), "7")
    await plain.call("SET", keys.entity_id("bare"), "")  # made by an event, without an id
    assert [found.name for found in await entities.find(plain)] == ["db-1"]
    assert await entities.id_of(plain, "db-1") == "7"
    assert await entities.ensure(plain, "db-1") == "7"
    assert len(await entities.ensure(plain, "bare")) == 32
    assert len(await indexed(plain)) == 2


@pytest.mark.parametrize("name", ["", " ", "a:b", "a\nb", "\ud800"])
async def test_what_is_no_name_is_refused(plain: Store, name: str) -> None:
    with pytest.raises(Refused, match="name: "):
        await entities.ensure(plain, name)
    with pytest.raises(Refused, match="name: "):
        await entities.save(plain, Entity(id="1", name=name))


@everywhere
async def test_an_entity_is_saved_whole_and_found(shard: Store) -> None:
    await entities.save(shard, WEB)
    assert await entities.find(shard) == [WEB]
    assert await shard.call("SMEMBERS", keys.entity_contacts("10001")) == {b"alice", b"bob"}
    assert await shard.call("SMEMBERS", keys.known_tags("entity_tag")) == {b"db", b"source:x"}
    less = Entity(id="10001", name="Web-1", contacts=("bob",), tags=("eu",))
    await entities.save(shard, less)
    assert await entities.find(shard) == [Entity(id="10001", name="web-1", **_rest(less))]
    assert await shard.call("SMEMBERS", keys.known_tags("entity_tag")) == {b"eu"}
    assert await indexed(shard) == {"10001": "web-1"}


def _rest(entity: Entity) -> dict[str, Any]:
    return {"contacts": entity.contacts, "tags": entity.tags}


@everywhere
async def test_an_id_is_renamed(shard: Store) -> None:
    await entities.save(shard, WEB)
    await entities.save(shard, Entity(id="10001", name="www"))
    assert await indexed(shard) == {"10001": "www"}
    with pytest.raises(NotFound, match="there is no entity web-1"):
        await entities.id_of(shard, "web-1")


@everywhere
async def test_a_name_that_an_event_made_goes_over_to_the_id_that_is_given(shard: Store) -> None:
    made = await entities.ensure(shard, "web-1")
    await contacts.save(shard, Contact(id="charlie", first_name="Charlie"))
    await contact_links.link(shard, "charlie", made)
    await contact_links.link(shard, "charlie", made, "HTTP:80")
    await entities.save(shard, Entity(id=made, name="web-1", tags=("old",)))
    await entities.save(shard, WEB)
    assert await indexed(shard) == {"10001": "web-1"}
    (found,) = await entities.find(shard)
    assert (found.contacts, found.tags) == (WEB.contacts, WEB.tags)
    assert found.check_contacts == {"HTTP:80": ("charlie",)}
    assert await shard.call("EXISTS", keys.check_contacts(made, "HTTP:80")) == 0
    assert await shard.call("EXISTS", keys.entity_contacts(made)) == 0


async def test_contacts_of_checks_are_replaced_when_they_are_given(plain: Store) -> None:
    await entities.save(plain, WEB)
    await plain.call("SADD", keys.check_contacts("10001", "HTTP"), "alice")
    await entities.save(plain, WEB)
    assert (await entities.find(plain))[0].check_contacts == {"HTTP": ("alice",)}
    given = Entity(id="10001", name="web-1", check_contacts={"a:b": ("bob",), "c": ("alice",)})
    await entities.save(plain, given, with_checks=True)
    assert await entities.find(plain) == [given]


async def test_all_is_every_entity_and_none(plain: Store) -> None:
    everyone = Entity(id="ALL", name="ALL", contacts=("alice",))
    await entities.save(plain, everyone)
    assert await plain.call("SMEMBERS", keys.entity_contacts("ALL")) == {b"alice"}
    assert await indexed(plain) == {}
    assert await entities.find(plain) == [everyone]
    await entities.remove(plain, "ALL")
    assert await plain.call("DBSIZE") == 0


@everywhere
async def test_a_removed_entity_leaves_nothing_and_others_alone(shard: Store) -> None:
    other = Entity(id="1000", name="web-10", contacts=("alice",), tags=("db",))
    await entities.save(shard, other)
    await entities.save(shard, WEB)
    await shard.call("SADD", keys.check_contacts("10001", "HTTP:80"), "alice")
    await entities.remove(shard, "10001")
    assert await entities.find(shard) == [other]
    assert await shard.call("EXISTS", keys.check_contacts("10001", "HTTP:80")) == 0
    assert await shard.call("SMEMBERS", keys.known_tags("entity_tag")) == {b"db"}
    await entities.remove(shard, "1000")
    with pytest.raises(NotFound, match="there is no entity 1000"):
        await entities.remove(shard, "1000")
    for primary in await shard.primaries():
        assert await primary.call("DBSIZE") == 0


async def test_many_are_saved_with_one_survey(plain: Store) -> None:
    seen = await entities.survey(plain)
    first = Entity(id="1", name="a", tags=("x", "y"), check_contacts={"c:1": ("bob",)})
    await entities.save(plain, first, with_checks=True, seen=seen)
    await entities.save(plain, Entity(id="2", name="b", tags=("x",)), seen=seen)
    taken = Entity(id="2", name="a", tags=("z",))
    await entities.save(plain, taken, seen=seen)
    assert await indexed(plain) == {"2": "a"}
    assert await entities.find(plain) == [
        Entity(id="2", name="a", tags=("z",), check_contacts={"c:1": ("bob",)})
    ]
    await entities.save(plain, taken, with_checks=True, seen=seen)
    assert await entities.find(plain) == [taken]
    assert await plain.call("SMEMBERS", keys.known_tags("entity_tag")) == {b"z"}


@pytest.mark.parametrize(
    "entity",
    [
        Entity(id="a:b", name="a"),
        Entity(id="1", name="a", tags=("",)),
        Entity(id="1", name="a", contacts=("\n",)),
        Entity(id="1", name="a", check_contacts={"": ("alice",)}),
        Entity(id="1", name="a", check_contacts={"HTTP": ("",)}),
    ],
)
async def test_what_may_not_be_stored_is_refused(plain: Store, entity: Entity) -> None:
    with pytest.raises(Refused, match="is not allowed"):
        await entities.save(plain, entity)
    assert await plain.call("DBSIZE") == 0


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", ["db-1", "web-1", "web-10"]),
        ("WEB-*", ["web-1", "web-10"]),
        ("web-?", ["web-1"]),
        ("/-1$/", ["db-1", "web-1"]),
        ("web-1", ["web-1"]),
        ("nothing", []),
    ],
)
async def test_entities_are_found_by_pattern(plain: Store, pattern: str, found: list[str]) -> None:
    for name in ("web-1", "db-1", "web-10"):
        await entities.ensure(plain, name)
    assert [entity.name for entity in await entities.find(plain, pattern)] == found


async def test_any_bytes_are_read(plain: Store) -> None:
    await plain.call("HSET", keys.entity_names(), b"\xff", "x", "y", b"\xff")
    await plain.call("HSET", keys.entity("").encode() + b"\xfe", "name", "x")
    await plain.call("HSET", keys.actions("entity", "HTTP"), "1", "acknowledgement")
    await plain.call("SADD", keys.entity_tag("").encode() + b"\xff", "y")
    await plain.call("SADD", keys.entity_contacts("unknown:id"), "alice")
    assert await entities.find(plain) == []
