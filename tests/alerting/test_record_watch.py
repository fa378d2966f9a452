"""What another program changes, in records or in the working layout, takes effect in both."""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import pytest

from tests.alerting.recorded import check as with_past
from tests.alerting.sandstorm import Sandstorm
from tests.alerting.test_record_keeping import differences
from tests.alerting.test_record_mirror import a_day
from tests.conftest import watched
from tests.waiting import eventually
from watchbell import logs
from watchbell.alerting import contacts, entities, known_checks, maintenance, record_keeping
from watchbell.alerting.entities import Entity
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Contact, Medium, Rule
from watchbell.alerting.record_sides import Sides
from watchbell.alerting.record_watch import RecordWatch, decided
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

NOW = int(SYSTEM.now())


@asynccontextmanager
async def watching(store: Store) -> AsyncIterator[None]:
    """Records are followed meanwhile; at the end both layouts are equal."""
    if await record_keeping.keeping(store) != "on":
        await record_keeping.build(store, lambda _: None)
    task = asyncio.create_task(RecordWatch(store, SYSTEM).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def settled(store: Store) -> None:
    async def is_settled() -> bool:
        return await differences(store) == []

    await eventually(is_settled)


async def alice(store: Store) -> Contact | None:
    found = await contacts.load(store, ["alice"])
    return found.get("alice")


def claim(question: Callable[[Contact], object], store: Store) -> Callable[[], Awaitable[bool]]:
    async def asked() -> bool:
        found = await alice(store)
        return found is not None and bool(question(found))

    return asked


async def test_a_contact_is_created_edited_and_deleted_by_records(store: Store) -> None:
    other = Sandstorm(store)
    async with watching(store):
        await other.contact("alice", first_name="Alice")
        medium = await other.medium("alice", "email", "alice@example.com", interval=60)
        await other.rule("alice", "r1", entities="web")
        await eventually(claim(lambda one: one.media and one.rules, store))
        await other.contact("alice", last_name="Archer", timezone="Europe/Rome")
        await eventually(claim(lambda one: one.timezone == "Europe/Rome", store))
        await other.edit("medium", "HSET", f"medium:{medium}:attrs", "interval", 90)
        await eventually(claim(lambda one: one.media["email"].interval == 90, store))
        await other.edit("contact", "SADD", "contact:alice:attrs:tags", "night")
        await eventually(claim_tags(store, ("night",)))
        await other.edit("contact", "SREM", "contact:alice:attrs:tags", "night")
        await eventually(claim_tags(store, ()))
        async with other.lock("contact", "medium"):
            await other.call("SREM", "contact:alice:media_ids", medium)
            await other.call("SREM", "medium::by_type:email", medium)
            await other.destroy("medium", medium)
        await eventually(claim(lambda one: not one.media, store))
        async with other.lock("contact", "notification_rule"):
            await other.call("SREM", "contact:alice:notification_rules_ids", "r1")
            await other.destroy("notification_rule", "r1", "attrs:entities")
        await eventually(claim(lambda one: not one.rules, store))
        async with other.lock("contact"):
            await other.destroy("contact", "alice")
        await eventually(lambda: is_gone(store))
        await settled(store)


async def test_a_medium_that_becomes_another_keeps_its_id_to_itself(store: Store) -> None:
    media = {"sms": Medium(address="123")}
    await contacts.save(store, Contact(id="alice", first_name="Alice", media=media))
    other, keys = Sandstorm(store), Alerting(store.prefix)
    async with watching(store):
        await settled(store)
        (medium,) = await store.call("SMEMBERS", "contact:alice:media_ids")
        async with other.lock("medium"):
            await other.call("HSET", f"medium:{medium.decode()}:attrs", "type", "jabber")
            await other.call("SREM", "medium::by_type:sms", medium)
            await other.call("SADD", "medium::by_type:jabber", medium)
        await eventually(claim(lambda one: set(one.media) == {"jabber"}, store))
        await store.call("HSET", keys.media("alice"), "sms", "456")
        await eventually(lambda: store.call("SMEMBERS", "medium::by_type:sms"))
        await settled(store)
        assert await store.call("SMEMBERS", "medium::by_type:jabber") == {medium}


def claim_tags(store: Store, tags: tuple[str, ...]) -> Callable[[], Awaitable[bool]]:
    async def asked() -> bool:
        return (await contacts.tags(store)).get("alice", ()) == tags

    return asked


async def is_gone(store: Store) -> bool:
    return await alice(store) is None


async def test_a_rule_keeps_its_regular_expressions_when_its_record_is_edited(store: Store) -> None:
    rule = Rule(id="r1", contact_id="alice", regex_entities=("^web",), tags=("old",))
    await contacts.save(
        store, Contact(id="alice", first_name="Alice", rules=(rule,)), with_rules=True
    )
    async with watching(store):
        await settled(store)
        other = Sandstorm(store)
        await other.edit("notification_rule", "SADD", "notification_rule:r1:attrs:tags", "new")
        await eventually(claim(lambda one: one.rules[0].tags == ("new", "old"), store))
        await eventually(claim(lambda one: one.rules[0].regex_entities == ("^web",), store))


async def test_an_entity_is_created_edited_and_deleted_by_records(store: Store) -> None:
    other = Sandstorm(store)

    async with watching(store):
        await other.contact("alice", first_name="Alice")
        await other.entity("7", "web", "alice", tags="front")
        await eventually(
            lambda: is_found(
                store, Entity(id="7", name="web", contacts=("alice",), tags=("front",))
            )
        )
        async with other.lock("entity", "contact"):
            await other.call("SREM", "entity:7:contacts_ids", "alice")
            await other.call("SREM", "contact:alice:entities_ids", "7")
            await other.call("SREM", "entity:7:attrs:tags", "front")
        await eventually(lambda: is_found(store, Entity(id="7", name="web")))
        async with other.lock("entity"):
            await other.call("HDEL", "entity::by_name", "web")
            await other.call("SREM", "entity::by_enabled:false", "7")
            await other.destroy("entity", "7")
        await eventually(lambda: is_found(store, None))
        await settled(store)


async def is_found(store: Store, entity: Entity | None) -> bool:
    return await entities.find(store) == ([entity] if entity else [])


async def test_a_check_is_created_and_deleted_by_records(store: Store) -> None:
    other = Sandstorm(store)
    async with watching(store):
        await other.entity("7", "web")
        check = await other.check("7", "web", "disk", state="critical", last_update=NOW)
        await eventually(lambda: known_checks.known(store, ["web:disk"]))
        await settled(store)
        assert await store.call("EXISTS", f"check:{check}:attrs") == 1
        states = await store.call("ZRANGE", f"check:{check}:states_ids", 0, -1)
        await other.delete_check(check, "7", "web", "disk")
        await eventually(lambda: is_forgotten(store, "web:disk"))
        await settled(store)
        assert not await store.call("EXISTS", f"check_state:{states[0].decode()}:attrs")


async def is_forgotten(store: Store, event_id: str) -> bool:
    return not await known_checks.known(store, [event_id])


async def test_maintenance_is_created_edited_and_deleted_by_records(store: Store) -> None:
    await with_past(store, "web:disk", [(NOW - 100, "ok")])
    other = Sandstorm(store)

    async def ends() -> list[int]:
        return [one.end for one in await maintenance.windows(store, "web:disk", "scheduled")]

    async with watching(store):
        await settled(store)
        check = (await store.call("SMEMBERS", "check::ids")).pop().decode()
        window = await other.window("scheduled", check, NOW + 3600, NOW + 7200, "work")
        await eventually(lambda: is_equal(ends, [NOW + 7200]))
        await settled(store)
        async with other.lock("check", "scheduled_maintenance"):
            await other.call(
                "HSET", f"scheduled_maintenance:{window}:attrs", "end_time", NOW + 9000
            )
        await eventually(lambda: is_equal(ends, [NOW + 9000]))
        await settled(store)
        assert await store.call("EXISTS", f"scheduled_maintenance:{window}:attrs") == 1
        await other.delete_window("scheduled", check, window)
        await eventually(lambda: is_equal(ends, []))
        await settled(store)


async def is_equal(question: Callable[[], Awaitable[object]], answer: object) -> bool:
    return await question() == answer


async def test_a_state_that_another_program_records_becomes_an_event(store: Store) -> None:
    await with_past(store, "web:disk", [(NOW - 100, "ok")])
    events = Alerting(store.prefix).events()
    async with watching(store):
        await settled(store)
        check = (await store.call("SMEMBERS", "check::ids")).pop().decode()
        await Sandstorm(store).state(check, NOW, "critical", summary="full", count=9)
        await eventually(lambda: store.call("LLEN", events))
        await settled(store)
    pushed = await store.call("LRANGE", events, 0, -1)
    assert len(pushed) == 1
    assert b'"critical"' in pushed[0]
    assert b'"full"' in pushed[0]
    await store.call("DEL", events)


async def test_changes_of_the_working_layout_by_other_programs_reach_the_records(
    store: Store,
) -> None:
    await contacts.save(store, Contact(id="alice", first_name="Alice"))
    await entities.save(store, Entity(id="7", name="web"))
    keys = Alerting(store.prefix)
    async with watching(store):
        await settled(store)
        await store.call("HSET", keys.media("alice"), "sms", "123")
        await store.call("SADD", keys.contact_tag("night"), "alice")
        await store.call("SADD", keys.entity_contacts("7"), "alice")
        await eventually(lambda: store.call("SMEMBERS", "contact:alice:media_ids"))
        await eventually(lambda: store.call("SMEMBERS", "contact:alice:attrs:tags"))
        await eventually(lambda: store.call("SMEMBERS", "entity:7:contacts_ids"))
        await store.call("DEL", keys.contact("alice"), keys.media("alice"))
        await eventually(lambda: is_member(store, "contact::ids", "alice", is_in=False))


async def is_member(store: Store, key: str, member: str, *, is_in: bool) -> bool:
    return bool(await store.call("SISMEMBER", key, member)) == is_in


async def test_records_wait_while_another_program_holds_their_lock(store: Store) -> None:
    other = Sandstorm(store)
    async with watching(store):
        async with other.lock("contact"):
            await other.save("contact", {"first_name": "Alice"}, "alice")
            await other.entity_without_lock("7", "web")
            await eventually(lambda: is_found(store, Entity(id="7", name="web")))
            assert await alice(store) is None
        await eventually(claim(lambda one: one.first_name == "Alice", store))


async def test_a_lock_that_has_expired_holds_up_nothing(store: Store) -> None:
    async with watching(store):
        await store.call("MSET", "contact::lock:owner", "x", "contact::lock:expiry", NOW - 1)
        await Sandstorm(store).save("contact", {"first_name": "Alice"}, "alice")
        await eventually(claim(lambda one: one.first_name == "Alice", store))


async def test_garbage_stops_nothing(store: Store) -> None:
    other = Sandstorm(store)
    async with watching(store):
        await settled(store)
        await store.call("SET", "medium:x:belongs_to", "garbage")
        await store.call("SET", "contact:eve:attrs", "garbage")
        await other.save("contact", {"email": "nobody"}, "dora")
        await other.contact("alice", first_name="Alice")
        await eventually(claim(lambda one: one.first_name == "Alice", store))
        assert list(await contacts.load(store, ["dora", "eve"])) == []
        assert await store.call("HGET", "contact:dora:attrs", "email") == b"nobody"
    await store.call("DEL", "medium:x:belongs_to", "contact:eve:attrs")


async def are_stamped(store: Store, names: list[str]) -> bool:
    return None not in await store.call("HMGET", "record_stamps", *names)


async def test_changes_made_while_nobody_watched_are_found_at_the_next_start(store: Store) -> None:
    for one in ("alice", "bob", "charlie"):
        media = {"email": Medium(address=f"{one}@example.com")}
        await contacts.save(store, Contact(id=one, first_name=one, media=media))
    await entities.save(store, Entity(id="7", name="web"))
    other = Sandstorm(store)
    async with watching(store):
        names = [f"contact {one}" for one in ("alice", "bob", "charlie")]
        await eventually(lambda: is_equal(lambda: are_stamped(store, names), True))
    await other.contact("alice", last_name="Archer")
    async with other.lock("contact"):
        await other.destroy("contact", "bob")
    keys = Alerting(store.prefix)
    await store.call("HSET", keys.contact("charlie"), "last_name", "C")
    await store.call("SADD", keys.contact_tag("night"), "charlie")
    await store.call("SADD", keys.entity_tag("front"), "7")
    async with watching(store):
        await eventually(claim(lambda one: one.last_name == "Archer", store))
        await settled(store)
        assert sorted(await contacts.load(store, ["alice", "bob", "charlie"])) == [
            "alice",
            "charlie",
        ]
        assert await store.call("HGET", "contact:charlie:attrs", "last_name") == b"C"
        assert await store.call("SMEMBERS", "contact:charlie:attrs:tags") == {b"night"}
        assert await store.call("SMEMBERS", "entity:7:attrs:tags") == {b"front"}


@pytest.mark.parametrize(
    ("before", "now", "changed", "wins"),
    [
        (Sides("a", "b"), Sides("c", "b"), "", ("records", False)),
        (Sides("a", "b"), Sides("a", "c"), "records", ("working", False)),
        (Sides("a", "b"), Sides("c", "d"), "records", ("records", True)),
        (Sides("a", "b"), Sides("c", "d"), "working", ("working", True)),
        (Sides("a", "b"), Sides("c", "d"), "", ("working", True)),
        (Sides("a", "b"), Sides("", "b"), "", ("records", False)),
        (None, Sides("a", ""), "", ("records", False)),
        (None, Sides("", "a"), "records", ("working", False)),
        (None, Sides("a", "b"), "", ("working", False)),
    ],
)
def test_the_side_that_changed_last_wins(
    before: Sides | None, now: Sides, changed: str, wins: tuple[str, bool]
) -> None:
    assert decided(before, now, changed) == wins


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    before, stream = logs._output, io.StringIO()
    logs.configure("info", "auto", stream)
    yield stream
    logs._output = before


async def test_a_conflict_is_decided_and_logged_with_both_sides(
    store: Store, logged: io.StringIO
) -> None:
    await contacts.save(store, Contact(id="alice", first_name="Alice"))
    async with watching(store):
        await eventually(lambda: store.call("HEXISTS", "record_stamps", "contact alice"))
    await store.call("HSET", "contact:alice:attrs", "last_name", "Records")
    await store.call("HSET", Alerting(store.prefix).contact("alice"), "last_name", "Working")
    async with watching(store):
        await settled(store)
    assert await store.call("HGET", "contact:alice:attrs", "last_name") == b"Working"
    assert "both layouts changed" in logged.getvalue()
    assert "record 'Records', working layout 'Working'" in logged.getvalue()


async def test_records_that_are_dropped_and_built_again_delete_nothing(store: Store) -> None:
    people = [f"person-{number}" for number in range(120)]
    for one in people:
        await contacts.save(store, Contact(id=one, first_name=one))
    await with_past(store, "web:disk", [(NOW - 100, "ok")])
    async with watching(store):
        await eventually(lambda: store.call("HEXISTS", "record_stamps", "check web:disk"))
        for _ in range(3):
            await record_keeping.drop(store, lambda _: None)
            await record_keeping.build(store, lambda _: None)
        await eventually(lambda: store.call("HEXISTS", "record_stamps", "check web:disk"))
        await settled(store)
    assert await contacts.all_ids(store) == sorted(people)
    assert await known_checks.known(store, ["web:disk"])


async def test_a_check_that_is_forgotten_leaves_nothing(store: Store) -> None:
    stage = await a_day(store)
    await record_keeping.build(store, lambda _: None)
    checks = ("web:HTTP:80 x", "web:disk", "db:load", "new:check")
    for one in checks:
        await known_checks.forget(store, one)
    assert await differences(store) == []
    left = [
        key.decode() for key in await store.call("KEYS", "*") if b"load" in key or b"disk" in key
    ]
    assert [one for one in left if not one.startswith(("drop_", "alert"))] == []
    await stage.fails("db:load")
    assert await known_checks.known(store, checks) == {"db:load"}


async def test_of_two_processors_one_follows_records_and_the_other_takes_over(store: Store) -> None:
    await record_keeping.build(store, lambda _: None)
    first = asyncio.create_task(RecordWatch(store, SYSTEM).run())
    held = await eventually(lambda: store.call("GET", "record_watcher"))
    other = Sandstorm(store)
    async with watching(store):
        await other.contact("alice", first_name="Alice")
        await eventually(claim(lambda one: one.first_name == "Alice", store))
        assert await store.call("GET", "record_watcher") == held
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await other.contact("bob", first_name="Bob")
        await eventually(lambda: contacts.load(store, ["bob"]))
        assert await store.call("GET", "record_watcher") not in (None, held)


@pytest.mark.parametrize(
    "topology", ["debian", "sentinel", "cluster"], indirect=True, scope="session"
)
async def test_records_are_followed_on_every_kind_of_store(topology: Any) -> None:
    async for shard in watched(f"{topology.url}?prefix={quote('{a07}:')}"):
        await _is_followed(shard)


async def _is_followed(store: Store) -> None:
    other = Sandstorm(store)
    async with watching(store):
        await other.contact("alice", first_name="Alice")
        await eventually(claim(lambda one: one.first_name == "Alice", store))
        await other.contact("alice", last_name="Archer")
        await eventually(claim(lambda one: one.last_name == "Archer", store))
        await other.entity("7", "web", "alice", tags="front")
        await other.check("7", "web", "disk", state="ok", last_update=NOW)
        await eventually(lambda: known_checks.known(store, ["web:disk"]))
        await settled(store)
