"""All records at once: built, kept, no longer kept, removed."""

import pytest

from tests.alerting.scenes import Stage
from tests.alerting.test_record_mirror import a_day
from watchbell.alerting import indexes, record_keeping, record_verify
from watchbell.alerting.record_mirror import Difference
from watchbell.errors import Refused
from watchbell.store.client import Store


async def built(store: Store) -> int:
    steps: list[int] = []
    found = await record_keeping.build(store, steps.append)
    assert found.refused == []
    assert steps == sorted(steps)
    return found.units


async def differences(store: Store) -> list[Difference]:
    return [one async for one in record_verify.differences(store)]


async def test_a_build_creates_what_is_missing_and_keeps_it_up_to_date(store: Store) -> None:
    await a_day(store)
    assert await record_keeping.keeping(store) == "never"
    assert await built(store) > 0
    assert await record_keeping.keeping(store) == "on"
    assert await differences(store) == []
    stage = Stage(store)
    stage.now += 10_000
    await stage.fails("db:load")
    await stage.contact("new", "email")
    assert await differences(store) == []


async def test_a_build_that_is_repeated_changes_nothing(store: Store) -> None:
    await a_day(store)
    await built(store)
    before = await record_keeping.counts(store)
    await built(store)
    assert await record_keeping.counts(store) == before
    assert before["check"] > 0
    assert before["contact"] > 0


async def test_what_is_left_of_a_record_is_gone_after_one_build(store: Store) -> None:
    await a_day(store)
    await built(store)
    entity_id = (await store.call("HGET", "all_entity_ids_by_name", "db")).decode()
    await store.call("SADD", "check::by_entity_name:db", "0" * 32)
    await store.call("SADD", f"entity:{entity_id}:checks_ids", "0" * 32)
    assert await differences(store) != []
    await built(store)
    assert await differences(store) == []


async def test_what_became_stale_is_mended_by_the_next_build(store: Store) -> None:
    await a_day(store)
    await built(store)
    await record_keeping.stop(store)
    assert await record_keeping.keeping(store) == "off"
    stage = Stage(store)
    stage.now += 10_000
    await stage.fails("another:check")
    await stage.contact("late", "email")
    assert await differences(store) != []
    await built(store)
    assert await differences(store) == []


async def test_records_of_another_program_are_not_overwritten(store: Store) -> None:
    await store.call("SADD", "contact::ids", "foreign")
    await store.call("HSET", "contact:foreign:attrs", "first_name", "Eve")
    with pytest.raises(Refused, match="records that Watchbell did not write"):
        await record_keeping.build(store, lambda _: None)
    assert await store.call("SMEMBERS", "contact::ids") == {b"foreign"}
    assert await record_keeping.keeping(store) == "never"


async def test_all_records_are_removed_and_nothing_else(store: Store) -> None:
    await a_day(store)
    await indexes.build(store)  # as the build of records does
    before = await _keys(store)
    await built(store)
    await store.call("SADD", "check::by_state:odd", "0" * 32)
    gone = await record_keeping.drop(store, lambda _: None)
    assert gone > 0
    assert await _keys(store) == before
    assert await record_keeping.keeping(store) == "never"


async def _keys(store: Store) -> set[bytes]:
    found, cursor = set[bytes](), 0
    while True:
        cursor, page = await store.call("SCAN", cursor, "COUNT", 1_000)
        found |= set(page)
        if not cursor:
            return found
