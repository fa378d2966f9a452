"""The mirror makes of any working layout the records that the document asks for."""

from collections.abc import Sequence

import pytest

from tests.alerting import record_model, recorded
from tests.alerting.consistency import Picture
from tests.alerting.scenes import Stage
from watchbell.alerting import (
    check_settings,
    contact_links,
    contacts,
    entities,
    maintenance,
    record_mirror,
)
from watchbell.alerting.entities import Entity
from watchbell.alerting.mirrored_script import Unit
from watchbell.alerting.model import Contact, Medium, Rule
from watchbell.alerting.record_keys import escaped
from watchbell.alerting.record_mirror import Mirrored
from watchbell.store.client import Store


def units_of(picture: Picture) -> list[Unit]:
    """All units of what is in the store, checks first."""
    model, keys = record_model.RecordModel(picture), picture.keys
    units: list[Unit] = []
    for check in model.checks:
        units += [("check", check), ("states", check)]
        units += [("windows", check, kind) for kind in ("scheduled", "unscheduled")]
    alerting = picture.beginning(picture.own.alerting_media.literals[0])
    units += [("alerting", check) for check in alerting]
    units += [("block", drop) for drop in picture.scores(picture.own.drops())]
    units += [("contact", contact) for contact in model.contacts]
    units += [("entity", entity) for entity in model.entity_names]
    for family, unit in ((keys.contact_tag, "contact_tag"), (keys.entity_tag, "entity_tag")):
        for tag, members in picture.beginning(family("")).items():
            units += [(unit, member, tag) for member in members]
    return units


async def a_day(store: Store) -> Stage:
    """Checks that fail, recover and are acknowledged, and people who are alerted."""
    stage = Stage(store)
    await stage.contact("alice", "email", "sms", threshold=2)
    await stage.contact(
        "bob", "jabber", linked=await entities.ensure(store, "web"), check="HTTP:80 x"
    )
    await entities.save(store, Entity(id="db-1", name="db", contacts=("bob",), tags=("sql", "x:y")))
    rule = Rule(
        id="nights",
        contact_id="bob",
        entities=("db",),
        tags=("sql",),
        critical_media=("jabber",),
        warning_blackhole=True,
    )
    account = {"subdomain": "shop", "username": "charlie"}
    charlie = Contact(
        id="charlie",
        first_name="Charlie",
        timezone="Europe/Rome",
        media={"email": Medium(address="c@example.com", interval=60, rollup_threshold=3)},
        pagerduty=account,
        tags=("night", "x y"),
    )
    await contacts.save(store, charlie, tags_before=())
    await stage.rule("bob", **{n: getattr(rule, n) for n in ("id", "entities", "tags")})
    await stage.send("ok", "db:load", summary="fine")
    for check in ("web:HTTP:80 x", "web:disk", "db:load"):
        await stage.fails(check)
    await stage.later(1).send("acknowledgement", "web:disk", summary="looking", duration=600)
    await stage.later(60).send("critical", "db:load", summary="high", details="9.5")
    await stage.later(60).send("ok", "db:load")
    await stage.later(1).send("unknown", "web:HTTP:80 x")
    await maintenance.create_scheduled(store, "db:load", stage.now + 60, 60, "later", stage.now)
    await maintenance.create_scheduled(store, "new:check", stage.now, 60, "", stage.now)
    await check_settings.disable(store, "web:disk")
    return stage


async def written(store: Store, units: Sequence[Unit]) -> Mirrored:
    """As by a build; what follows is not written to the records by itself."""
    await store.call("SET", "records", "on")
    done = await record_mirror.write(store, units)
    await store.call("DEL", "records")
    return done


async def mistakes(store: Store) -> list[str]:
    return record_model.mistakes(await Picture.of(store))


async def test_the_records_of_a_day_are_what_the_document_asks_for(store: Store) -> None:
    await a_day(store)
    units = units_of(await Picture.of(store))
    looked = await record_mirror.look(store, units)
    assert len(looked.differences) > 100
    assert not (await written(store, units)).refused
    assert await mistakes(store) == []
    assert (await record_mirror.look(store, units)).differences == []
    picture = await Picture.of(store)
    kinds = {key.partition(":")[0] for key in picture.records}
    assert kinds == set(record_model.CLASSES)


async def test_writing_the_records_twice_changes_nothing(store: Store) -> None:
    await a_day(store)
    units = units_of(await Picture.of(store))
    await written(store, units)
    before = (await Picture.of(store)).records
    await written(store, units)
    assert (await Picture.of(store)).records == before


async def test_looking_writes_nothing(store: Store) -> None:
    await a_day(store)
    await record_mirror.look(store, units_of(await Picture.of(store)))
    assert (await Picture.of(store)).records == {}


async def test_what_is_gone_from_the_working_layout_is_gone_from_the_records(store: Store) -> None:
    await a_day(store)
    units = units_of(await Picture.of(store))
    await written(store, units)
    picture = await Picture.of(store)
    for key in picture.beginning(""):
        await store.call("DEL", key)
    looked = await record_mirror.look(store, units)
    assert looked.differences
    await written(store, units)
    assert (await record_mirror.look(store, units)).differences == []
    assert (await Picture.of(store)).records == {}


async def test_every_missing_record_is_found_and_written_again(store: Store) -> None:
    await a_day(store)
    units = units_of(await Picture.of(store))
    await written(store, units)
    for key in (await Picture.of(store)).records:
        await store.call("DEL", key)
        looked = await record_mirror.look(store, units)
        assert any(one.key == key for one in looked.differences), key
        await written(store, units)
        assert (await record_mirror.look(store, units)).differences == []
    assert await mistakes(store) == []


async def test_a_key_of_a_wrong_type_stops_no_other_unit(store: Store) -> None:
    stage = await a_day(store)
    await store.call("DEL", stage.keys.states("web", "disk"))
    await store.call("SET", stage.keys.states("web", "disk"), "x")
    done = await written(store, [("states", "web:disk"), ("check", "web:disk")])
    assert [one.unit for one in done.refused] == ["states web:disk"]
    assert "WRONGTYPE" in done.refused[0].reason
    looked = await record_mirror.look(store, [("check", "web:disk")])
    assert looked.differences == []
    await store.call("DEL", stage.keys.states("web", "disk"))


async def test_a_part_of_a_contact_of_a_wrong_type_stops_no_other_part(store: Store) -> None:
    stage = await a_day(store)
    await written(store, units_of(await Picture.of(store)))
    rules = await store.call("SMEMBERS", "contact:bob:notification_rules_ids")
    await store.call("DEL", stage.keys.rule("nights"), stage.keys.timezone("bob"))
    await store.call("SET", stage.keys.rule("nights"), "garbage")
    await store.call("HSET", stage.keys.contact("bob"), "last_name", "Builder")
    await store.call("HSET", stage.keys.media("bob"), "sms", "123")
    done = await written(store, [("contact", "bob")])
    assert [one.unit for one in done.refused] == ["contact bob"]
    assert await store.call("HGET", "contact:bob:attrs", "last_name") == b"Builder"
    assert await store.call("SCARD", "contact:bob:media_ids") == 2
    assert await store.call("SMEMBERS", "contact:bob:notification_rules_ids") == rules
    assert await store.call("SISMEMBER", "notification_rule::ids", "nights")
    looked = await record_mirror.look(store, [("contact", "bob")])
    assert (looked.differences, len(looked.refused)) == ([], 1)
    await store.call("DEL", stage.keys.rule("nights"))


async def test_a_record_of_another_program_keeps_its_id(store: Store) -> None:
    stage = await a_day(store)
    theirs, ours = "f" * 32, record_model.check_id("web:disk")
    await store.call("HSET", stage.own.record_ids(), ours, theirs)
    await written(store, units_of(await Picture.of(store)))
    picture = await Picture.of(store)
    assert picture.records[f"check:{theirs}:attrs"]["name"] == "disk"
    assert theirs in picture.records["check::by_name:disk"]
    assert f"check:{ours}:attrs" not in picture.records
    states = picture.records[f"check:{theirs}:states_ids"]
    belongs = {picture.records[f"check_state:{one}:belongs_to"]["check_id"] for one in states}
    assert belongs == {theirs}


@pytest.mark.parametrize(
    ("value", "key"),
    [("HTTP:80 x", "HTTP%3A80%20x"), ("a%20b", "a%20b"), ("ü/%", "ü/%"), ("::  ", "%3A%3A%20%20")],
)
async def test_values_in_keys_of_indexes_are_escaped(store: Store, value: str, key: str) -> None:
    assert escaped(value) == key
    stage = Stage(store)
    await stage.send("ok", f"web:{value}")
    await written(store, [("check", f"web:{value}")])
    found = (await Picture.of(store)).records[f"check::by_name:{key}"]
    assert found == {record_model.check_id(f"web:{value}")}


async def test_links_of_contacts_have_two_sides(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    await written(store, [("contact", "alice"), ("entity", "ALL")])
    picture = await Picture.of(store)
    assert picture.records["contact:alice:entities_ids"] == {"ALL"}
    assert picture.records["entity:ALL:contacts_ids"] == {"alice"}
    assert picture.records["entity:ALL:attrs"] == {"name": "ALL", "enabled": "true"}
    await contact_links.unlink(store, "alice", "ALL")
    await written(store, [("entity", "ALL")])
    assert await mistakes(store) == []


async def test_a_state_is_notified_however_many_notifications_came_later(store: Store) -> None:
    changes = [(100, "critical"), (900, "ok"), (1_000, "critical"), (2_000, "unknown")]
    await recorded.check(store, "web:disk", changes)
    await recorded.notified(store, "web:disk", "problems", 150, *range(2_000, 2_250))
    await written(store, [("check", "web:disk"), ("states", "web:disk")])
    (check,) = await store.call("SMEMBERS", "check::ids")
    states = await store.call("ZRANGE", f"check:{check.decode()}:states_ids", 0, -1)
    found = [
        await store.call("HGET", f"check_state:{one.decode()}:attrs", "notified") for one in states
    ]
    assert found == [b"true", b"false", b"false", b"true"]


async def test_a_time_that_is_no_number_has_no_record(store: Store) -> None:
    await recorded.check(store, "web:disk", [(100, "critical")])
    await store.call("RPUSH", "web:disk:states", "nan", "inf")
    await store.call("ZADD", "web:disk:scheduled_maintenances", 60, "nan", 60, 500)
    units: list[Unit] = [("states", "web:disk"), ("windows", "web:disk", "scheduled")]
    done = await written(store, [("check", "web:disk"), *units])
    assert done.refused == []
    assert await store.call("SCARD", "check_state::ids") == 1
    assert await store.call("SCARD", "scheduled_maintenance::ids") == 1
