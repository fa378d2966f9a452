"""Differences between the records and the working layout are found from both sides."""

from typing import Any

import pytest

from tests.alerting import record_model
from tests.alerting.consistency import Picture
from tests.alerting.record_model import check_id, made_id, medium_id
from tests.alerting.test_record_mirror import a_day, written
from watchbell.alerting import record_units, record_verify
from watchbell.alerting.record_mirror import Difference
from watchbell.store.client import Store

OTHER = "0" * 32


async def built(store: Store) -> None:
    async for units in record_units.units(store):
        assert (await written(store, units)).refused == []


async def repaired(store: Store) -> None:
    """First what nothing accounts for is removed, since it may be listed elsewhere."""
    async for units in record_verify.strays(store):
        assert (await written(store, units)).refused == []
    await built(store)


async def found(store: Store) -> list[Difference]:
    return [one async for one in record_verify.differences(store)]


async def test_the_units_of_a_store_are_all_that_its_records_need(store: Store) -> None:
    await a_day(store)
    await built(store)
    assert record_model.mistakes(await Picture.of(store)) == []
    assert await found(store) == []


async def test_without_records_everything_is_a_difference(store: Store) -> None:
    await a_day(store)
    missing = {one.key for one in await found(store)}
    await built(store)
    assert missing == (await Picture.of(store)).records.keys()


async def test_every_missing_key_is_found(store: Store) -> None:
    await a_day(store)
    await built(store)
    for key in (await Picture.of(store)).records:
        raw = await store.call("DUMP", key)
        await store.call("DEL", key)
        assert any(one.key == key for one in await found(store)), key
        await store.call("RESTORE", key, 0, raw)
    assert await found(store) == []


DISK, STATE = check_id("web:disk"), made_id("state:db:load:1700000000")

# What another program might have left, and the key where it is found.
SPOILT: list[tuple[list[Any], str]] = [
    (["HSET", f"check:{DISK}:attrs", "summary", "x"], f"check:{DISK}:attrs"),
    (["HSET", "contact:alice:attrs", "timezone", "x"], "contact:alice:attrs"),
    (["HDEL", "contact:alice:attrs", "first_name"], "contact:alice:attrs"),
    (["HSET", "contact:charlie:attrs:pagerduty_credentials", "x", "y"], "contact:charlie:attrs:p"),
    (["HSET", f"check_state:{STATE}:attrs", "notified", "maybe"], f"check_state:{STATE}:attrs"),
    (["ZADD", f"check:{DISK}:states_ids", 5, OTHER], f"check:{DISK}:states_ids"),
    (["ZADD", f"check:{check_id('db:load')}:states_ids", 5, STATE], "check:"),
    (["SADD", "contact:bob:media_ids", OTHER], "contact:bob:media_ids"),
    (["SADD", "contact:bob:entities_ids", "nowhere"], "contact:bob:entities_ids"),
    (["SADD", "contact:bob:attrs:tags", "x"], "contact:bob:attrs:tags"),
    (["SADD", "entity:db-1:attrs:tags", "x"], "entity:db-1:attrs:tags"),
    (["SADD", "entity:db-1:contacts_ids", "x"], "entity:db-1:contacts_ids"),
    (["SADD", "entity:db-1:checks_ids", OTHER], "entity:db-1:checks_ids"),
    (["SADD", f"check:{DISK}:alerting_media_ids", OTHER], f"check:{DISK}:alerting_media_ids"),
    (["SADD", f"check:{DISK}:notification_blocks_ids", OTHER], f"check:{DISK}:notification_bl"),
    (["SADD", f"medium:{medium_id('alice', 'sms')}:alerting_checks_ids", OTHER], "medium:"),
    (["ZADD", f"medium:{medium_id('alice', 'sms')}:notification_blocks_ids", 1, OTHER], "medium:"),
    (["SADD", "notification_rule:nights:attrs:tags", "x"], "notification_rule"),
    (["HSET", "entity::by_name", "x", "db-1"], "entity::by_name"),
    (["HSET", "check_state::by_count", "x", STATE], "check_state::by_count"),
    *((["SADD", f"{kind}::ids", OTHER], f"{kind}::ids") for kind in (*record_model.CLASSES,)),
    *(
        (["SADD", f"{index}:{value}", OTHER], f"{index}:{value}")
        for index, value in (
            ("entity::by_enabled", "true"),
            ("check::by_entity_name", "web"),
            ("check::by_name", "x"),
            ("check::by_enabled", "false"),
            ("check::by_state", "ok"),
            ("check_state::by_state", "ok"),
            ("check_state::by_notified", "true"),
            ("unscheduled_maintenance::by_notified", "true"),
            ("medium::by_type", "email"),
            ("notification_block::by_rollup", "true"),
            ("notification_block::by_state", "critical"),
        )
    ),
]


async def test_what_others_spoilt_is_found(store: Store) -> None:
    await a_day(store)
    await built(store)
    for command, begin in SPOILT:
        raw = await store.call("DUMP", command[1])
        await store.call(*command)
        differences = await found(store)
        assert any(one.key.startswith(begin) for one in differences), command
        await store.call("DEL", command[1])
        if raw is not None:
            await store.call("RESTORE", command[1], 0, raw)
    assert await found(store) == []


async def test_what_others_spoilt_is_repaired(store: Store) -> None:
    await a_day(store)
    await built(store)
    for command, _ in SPOILT:
        await store.call(*command)
    await repaired(store)
    assert await found(store) == []
    assert record_model.mistakes(await Picture.of(store)) == []


async def test_a_record_whose_subject_is_gone_is_removed(store: Store) -> None:
    stage = await a_day(store)
    await built(store)
    await store.call("DEL", stage.keys.contact("bob"), stage.keys.current("web", "disk"))
    await store.call("DEL", stage.keys.unscheduled_windows("web", "disk"))
    await store.call("ZREM", stage.keys.all_checks(), "web:disk")
    await store.call("ZREMRANGEBYRANK", stage.own.drops(), 0, 0)
    assert {"contact::ids", "check::ids", "medium::ids"} <= {o.key for o in await found(store)}
    await repaired(store)
    assert await found(store) == []
    records = (await Picture.of(store)).records
    assert "contact:bob:attrs" not in records
    assert check_id("web:disk") not in records["check::ids"]


@pytest.mark.parametrize("key", ["medium::ids", f"check:{DISK}:attrs"])
async def test_a_record_key_of_a_wrong_type_is_a_difference(store: Store, key: str) -> None:
    await a_day(store)
    await built(store)
    await store.call("DEL", key)
    await store.call("LPUSH", key, "x")
    assert any("WRONGTYPE" in (one.found or "") for one in await found(store))
    await store.call("DEL", key)
