"""What another program changes about checks, in records or in the working layout, takes effect in
both."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from redis.exceptions import ResponseError

from tests.alerting.recorded import check as with_past
from tests.alerting.sandstorm import Sandstorm
from tests.alerting.test_record_keeping import differences
from tests.alerting.test_record_watch import NOW, settled, watching
from tests.waiting import eventually
from watchbell.alerting import (
    contacts,
    entities,
    history,
    known_checks,
    maintenance,
    record_keeping,
    record_mirror,
    record_verify,
)
from watchbell.alerting.entities import Entity
from watchbell.alerting.keys import Alerting
from watchbell.alerting.mirrored_script import Unit
from watchbell.alerting.model import Contact
from watchbell.alerting.record_watch import RecordWatch
from watchbell.alerting.windows import Kind
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.store.replies import text

HOUR = 3600


async def a_check(store: Store) -> None:
    """`web:disk` of the entity 7; Alice and Bob have links to nothing."""
    await with_past(store, "web:disk", [(NOW - 100, "ok")])
    await entities.save(store, Entity(id="7", name="web"))
    for one in ("alice", "bob"):
        await contacts.save(store, Contact(id=one, first_name=one))


async def record_of(store: Store) -> str:
    (record,) = await store.call("SMEMBERS", "check::ids")
    return text(record)


async def is_enabled(store: Store) -> bool:
    return (await history.check_states(store, ["web:disk"], NOW))[0].enabled


def becomes(question: Callable[[], Awaitable[object]], answer: object) -> Awaitable[object]:
    async def is_so() -> bool:
        return await question() == answer

    return eventually(is_so)


async def test_a_check_is_disabled_and_enabled_by_either_side(store: Store) -> None:
    await a_check(store)
    keys, other = Alerting(store.prefix), Sandstorm(store)
    async with watching(store):
        await settled(store)
        check = await record_of(store)

        async def recorded() -> object:
            return await store.call("HGET", f"check:{check}:attrs", "enabled")

        for is_on in (False, True):
            await other.enable(check, is_on=is_on)
            await becomes(lambda: is_enabled(store), is_on)
            await settled(store)
        await store.call("ZREM", keys.current_checks("web"), "disk")
        await becomes(recorded, b"false")
        await store.call("ZADD", keys.current_checks("web"), NOW, "disk")
        await becomes(recorded, b"true")
        await settled(store)


async def test_own_contacts_are_edited_by_either_side(store: Store) -> None:
    await a_check(store)
    working, other = Alerting(store.prefix).check_contacts("7", "disk"), Sandstorm(store)
    async with watching(store):
        await settled(store)
        record = f"check:{await record_of(store)}:contacts_ids"

        def of(key: str) -> Callable[[], Awaitable[object]]:
            return lambda: store.call("SMEMBERS", key)

        await other.edit("check", "SADD", record, "alice", "bob")
        await becomes(of(working), {b"alice", b"bob"})
        await other.edit("check", "SREM", record, "bob")
        await becomes(of(working), {b"alice"})
        await other.edit("check", "DEL", record)
        await becomes(of(working), set())
        await store.call("SADD", working, "bob")
        await becomes(of(record), {b"bob"})
        await store.call("DEL", working)
        await becomes(of(record), set())
        await settled(store)


async def test_a_new_check_brings_its_own_contacts_and_that_it_is_disabled(store: Store) -> None:
    await entities.save(store, Entity(id="7", name="web"))
    await contacts.save(store, Contact(id="alice", first_name="Alice"))
    other = Sandstorm(store)
    async with watching(store):
        await settled(store)
        async with other.lock("contact"):
            check = await other.check("7", "web", "disk", state="ok", last_update=NOW)
            await other.call("SADD", f"check:{check}:contacts_ids", "alice")
        await other.enable(check, is_on=False)
        await eventually(lambda: known_checks.known(store, ["web:disk"]))
        await becomes(lambda: is_enabled(store), False)
        await becomes(lambda: store.call("SMEMBERS", "contacts_for:7:disk"), {b"alice"})
        await settled(store)


@pytest.mark.parametrize("kind", ["scheduled", "unscheduled"])
async def test_maintenance_of_the_working_layout_reaches_the_records(
    store: Store, kind: Kind
) -> None:
    await a_check(store)
    windows = f"web:disk:{kind}_maintenances"
    async with watching(store):
        await settled(store)
        ids = f"{kind}_maintenance::ids"
        await store.call("ZADD", windows, HOUR, NOW - 10)
        window = (await eventually(lambda: store.call("SMEMBERS", ids))).pop().decode()

        def field(name: str) -> Callable[[], Awaitable[object]]:
            return lambda: store.call("HGET", f"{kind}_maintenance:{window}:attrs", name)

        await store.call("SET", f"web:disk:{NOW - 10}:{kind}_maintenance:summary", "work")
        await becomes(field("summary"), b"work")
        await store.call("ZADD", windows, 60, NOW - 10)
        await becomes(field("end_time"), str(NOW + 50).encode())
        await store.call("ZREM", windows, NOW - 10)
        await becomes(lambda: store.call("SMEMBERS", ids), set())
        await settled(store)


@pytest.mark.parametrize("kind", ["scheduled", "unscheduled"])
async def test_maintenance_that_is_deleted_once_it_has_a_record_does_not_return(
    store: Store, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_check(store)
    windows, ids = f"web:disk:{kind}_maintenances", f"{kind}_maintenance::ids"
    is_deleted, write = asyncio.Event(), record_mirror.write

    async def written_then_deleted(store: Store, units: Sequence[Unit]) -> None:
        await write(store, units)
        if not is_deleted.is_set() and await store.call("SCARD", ids):
            await store.call("ZREM", windows, NOW - 10)
            is_deleted.set()

    async with watching(store):
        await settled(store)
        monkeypatch.setattr(record_mirror, "write", written_then_deleted)
        await store.call("ZADD", windows, HOUR, NOW - 10)
        await eventually(is_deleted.is_set)
        await becomes(lambda: store.call("SMEMBERS", ids), set())
        assert await store.call("ZCARD", windows) == 0
        await settled(store)


async def test_a_check_that_only_has_maintenance_gets_a_record(store: Store) -> None:
    async with watching(store):
        await settled(store)
        await store.call("ZADD", "new:disk:scheduled_maintenances", HOUR, NOW + 10)
        await eventually(lambda: store.call("SMEMBERS", "check::by_name:disk"))
        await settled(store)


async def test_a_tag_of_an_entity_follows_own_contacts_of_its_checks(store: Store) -> None:
    await a_check(store)
    keys = Alerting(store.prefix)
    async with watching(store):
        await settled(store)
        record = await record_of(store)
        await store.call("SADD", keys.check_contacts("7", "disk"), "alice")
        await becomes(lambda: store.call("SCARD", f"check:{record}:contacts_ids"), 1)
        await store.call("SADD", keys.entity_tag("front"), "7")
        await becomes(lambda: store.call("SMEMBERS", "entity:7:attrs:tags"), {b"front"})
        await settled(store)
    assert await store.call("SMEMBERS", keys.entity_tag("front")) == {b"7"}


async def test_a_check_is_created_and_deleted_in_the_working_layout(store: Store) -> None:
    await a_check(store)
    keys = Alerting(store.prefix)
    async with watching(store):
        await settled(store)
        await store.call("HSET", keys.current("web", "new"), "state", "ok", "last_update", NOW)
        await store.call("ZADD", keys.current_checks("web"), NOW, "new")
        await becomes(lambda: store.call("SCARD", "check::by_name:new"), 1)
        await settled(store)
        await store.call("DEL", keys.current("web", "new"))
        await store.call("ZREM", keys.current_checks("web"), "new")
        await becomes(lambda: store.call("SCARD", "check::by_name:new"), 0)
        await settled(store)


async def test_a_window_waits_for_its_lock_while_others_are_written(store: Store) -> None:
    await a_check(store)
    other = Sandstorm(store)

    async def starts() -> list[int]:
        return [one.start for one in await maintenance.windows(store, "web:disk", "scheduled")]

    async with watching(store):
        await settled(store)
        check = await record_of(store)
        async with other.lock("scheduled_maintenance"):
            given: dict[str, str | int] = {"start_time": NOW + HOUR, "end_time": NOW + 2 * HOUR}
            window = await other.save("scheduled_maintenance", given)
            name = f"check:{check}:scheduled_maintenances"
            await other.call("ZADD", f"{name}_by_start_ids", NOW + HOUR, window)
            await maintenance.create_scheduled(store, "web:disk", NOW + 60, 60, "ours", NOW)
            await other.call("ZADD", f"{name}_by_end_ids", NOW + 2 * HOUR, window)
            owners = ["check_by_start_id", check, "check_by_end_id", check]
            await other.call("HSET", f"scheduled_maintenance:{window}:belongs_to", *owners)
        await becomes(starts, [NOW + 60, NOW + HOUR])
        await settled(store)
        assert await store.call("EXISTS", f"scheduled_maintenance:{window}:attrs") == 1


async def test_changes_made_while_nobody_watched_are_found(store: Store) -> None:
    await a_check(store)
    other = Sandstorm(store)
    async with watching(store):
        await settled(store)
    check = await record_of(store)
    await other.enable(check, is_on=False)
    await other.window("scheduled", check, NOW + HOUR, NOW + 2 * HOUR, "theirs")
    await store.call("ZADD", "web:disk:unscheduled_maintenances", 60, NOW - 10)
    await other.edit("check", "SADD", f"check:{check}:contacts_ids", "alice")
    await other.state(check, NOW, "critical", summary="full", count=9)
    async with watching(store):
        await eventually(lambda: store.call("LLEN", "events"))
        await settled(store)
    assert not await is_enabled(store)
    assert await store.call("SMEMBERS", "contacts_for:7:disk") == {b"alice"}
    found = await maintenance.windows(store, "web:disk", "scheduled")
    assert [(one.start, one.summary) for one in found] == [(NOW + HOUR, "theirs")]
    assert await store.call("SCARD", "unscheduled_maintenance::ids") == 1
    assert await differences(store) == []
    await store.call("DEL", "events")


async def test_a_window_that_another_program_moved_keeps_its_id_to_itself(store: Store) -> None:
    await a_check(store)
    first, second = NOW + HOUR, NOW + 3 * HOUR
    other = Sandstorm(store)

    async def starts() -> list[int]:
        return [one.start for one in await maintenance.windows(store, "web:disk", "scheduled")]

    async def moved(window: str, start: int) -> None:
        begin = f"check:{await record_of(store)}:scheduled_maintenances"
        async with other.lock("check", "scheduled_maintenance"):
            times: dict[str, str | int] = {"start_time": start, "end_time": start + 60}
            await other.save("scheduled_maintenance", times, window)
            await other.call("ZADD", f"{begin}_by_start_ids", start, window)
            await other.call("ZADD", f"{begin}_by_end_ids", start + 60, window)

    await maintenance.create_scheduled(store, "web:disk", first, 60, "moved", NOW)
    async with watching(store):
        await settled(store)
        (window,) = map(text, await store.call("SMEMBERS", "scheduled_maintenance::ids"))
        for place, free in ((second, first), (first, second)):
            await moved(window, place)
            await becomes(starts, [place])
            await maintenance.create_scheduled(store, "web:disk", free, 60, "new", NOW)
            await settled(store)
            fields = await store.call("HGETALL", f"scheduled_maintenance:{window}:attrs")
            assert (fields[b"start_time"], fields[b"summary"]) == (str(place).encode(), b"moved")
            await maintenance.end(store, ["web:disk"], "scheduled", free, NOW, NOW)
            await settled(store)


async def test_what_suppresses_alerts_gets_a_block_until_it_expires(store: Store) -> None:
    begin = "drop_alerts_for_contact:alice:email"
    await store.call("SET", f"{begin}:web:disk", "d", "EX", HOUR)  # set before
    async with watching(store):
        assert await store.call("SCARD", "notification_block::ids") == 1
        await store.call("SET", f"{begin}:web:disk:critical", "d", "PX", 300)
        await store.call("SET", "drop_rollup_alerts_for_contact:alice:email", "d", "EX", HOUR)
        await becomes(lambda: store.call("SCARD", "notification_block::by_rollup:true"), 1)
        await becomes(lambda: store.call("SCARD", "notification_block::ids"), 2)
        await store.call("DEL", f"{begin}:web:disk")
        await becomes(lambda: store.call("SCARD", "notification_block::ids"), 1)
        await settled(store)
    await store.call("DEL", "drop_rollup_alerts_for_contact:alice:email")
    async with watching(store):
        await becomes(lambda: store.call("SCARD", "notification_block::ids"), 0)
        await settled(store)


async def test_an_entity_is_renamed_by_records(store: Store) -> None:
    await a_check(store)
    other = Sandstorm(store)
    async with watching(store):
        await settled(store)
        await other.edit("check", "SADD", f"check:{await record_of(store)}:contacts_ids", "bob")
        await becomes(lambda: store.call("SMEMBERS", "contacts_for:7:disk"), {b"bob"})
        async with other.lock("entity"):
            await other.call("HSET", "entity:7:attrs", "name", "db")
            await other.call("HDEL", "entity::by_name", "web")
            await other.call("HSET", "entity::by_name", "db", "7")
        await becomes(lambda: store.call("HGET", "all_entity_ids_by_name", "db"), b"7")
        await settled(store)
    assert [one.name for one in await entities.find(store)] == ["db"]


async def test_a_key_of_a_wrong_type_holds_up_nothing_else(store: Store) -> None:
    other = Sandstorm(store)
    await store.call("HSET", "record_stamps", "contact alice", "{", "entity 9", "\xff")
    async with watching(store):
        await settled(store)
        await store.call("SET", "contacts_for:9", "garbage")
        async with other.lock("entity"):
            await other.entity_without_lock("9", "db")
            await other.entity_without_lock("7", "web")
        await becomes(lambda: store.call("HGET", "all_entity_names_by_id", "7"), b"web")
        await store.call("DEL", "contacts_for:9")
        await becomes(lambda: store.call("HGET", "all_entity_names_by_id", "9"), b"db")
        await settled(store)


async def test_a_key_of_a_wrong_type_loses_no_change_that_waits(store: Store) -> None:
    other = Sandstorm(store)
    async with watching(store):
        await settled(store)
        async with other.lock("contact"):
            await other.save("contact", {"first_name": "Alice"}, "alice")
            await _seen(store, "7")
            await store.call("SET", "medium:x:belongs_to", "garbage")
            await _seen(store, "8")
        await becomes(lambda: store.call("HGET", "contact:alice", "first_name"), b"Alice")
    await store.call("DEL", "medium:x:belongs_to")


async def _seen(store: Store, entity: str) -> None:
    """All that was changed before this has been looked at."""
    await Sandstorm(store).entity_without_lock(entity, f"web-{entity}")
    await eventually(lambda: store.call("HEXISTS", "all_entity_names_by_id", entity))


async def test_what_the_store_refuses_altogether_ends_the_attempt(store: Store) -> None:
    await record_keeping.build(store, lambda _: None)
    await store.call("SET", "record_stamps", "garbage")
    with pytest.raises(ResponseError):
        await RecordWatch(store, SYSTEM).run()
    await store.call("DEL", "record_stamps")
    await store.call("SET", "check::ids", "garbage")
    async with watching(store):
        await Sandstorm(store).contact("alice", first_name="Alice")
        await becomes(lambda: store.call("HGET", "contact:alice", "first_name"), b"Alice")
    await store.call("DEL", "check::ids")


async def test_a_build_leaves_what_other_programs_are_creating(store: Store) -> None:
    other = Sandstorm(store)
    async with watching(store):
        await settled(store)
        async with other.lock("contact"):
            await other.save("contact", {"first_name": "Alice"}, "alice")
            total = sum([len(some) async for some in record_verify.strays(store)])
            done: list[int] = []
            build = asyncio.create_task(record_keeping.build(store, done.append))
            await eventually(lambda: done[-1:] == [total])
            assert not build.done()
        await build
        await becomes(lambda: store.call("HGET", "contact:alice", "first_name"), b"Alice")
        await settled(store)
