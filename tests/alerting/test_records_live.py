"""With records on, every change of the working layout changes the records in the same step."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import servers
from tests.alerting import record_model
from tests.alerting.consistency import Picture
from tests.alerting.record_model import check_id, made_id
from tests.alerting.scenes import START, Stage
from tests.alerting.test_record_mirror import a_day
from tests.conftest import emptied, watched
from tests.logged import logged
from watchbell.alerting import (
    check_settings,
    contact_links,
    contacts,
    entities,
    known_checks,
    maintenance,
    purge,
    record_keeping,
    record_verify,
    rules,
)
from watchbell.alerting.entities import Entity
from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.model import Contact, Medium, Rule
from watchbell.errors import NotFound, Refused
from watchbell.settings import Alerting as Settings
from watchbell.store import url as store_url
from watchbell.store.client import Store


async def switched_on(store: Store) -> None:
    await store.call("SET", AlertingOwn(store.prefix).records(), "on")


async def mistakes(store: Store) -> list[str]:
    return record_model.mistakes(await Picture.of(store))


async def test_a_day_with_records_on_leaves_the_right_records(store: Store) -> None:
    await switched_on(store)
    await a_day(store)
    assert await mistakes(store) == []


@pytest.mark.parametrize("topology", ["debian", "cluster"], indirect=True, scope="session")
async def test_records_have_the_prefix_of_their_store(topology: Any) -> None:
    async for shard in watched(f"{topology.url}?prefix={quote('{a07}:')}"):
        await switched_on(shard)
        await a_day(shard)
        picture = await Picture.of(shard)
        assert record_model.mistakes(picture) == []
        assert len(picture.records) > 100
        assert [one async for one in record_verify.differences(shard)] == []


async def test_while_records_are_off_none_are_written(store: Store) -> None:
    await a_day(store)
    assert (await Picture.of(store)).records == {}


async def test_a_report_of_an_unchanged_check_is_recorded(store: Store) -> None:
    await switched_on(store)
    stage = Stage(store)
    await stage.send("ok", summary="fine")
    await stage.later(60).send("ok", summary="fine")
    record = (await Picture.of(store)).records[f"check:{check_id('web:http')}:attrs"]
    assert record["last_update"] == str(START + 60)
    assert await mistakes(store) == []


async def test_a_check_reported_before_records_were_on_gets_a_whole_record(store: Store) -> None:
    stage = Stage(store)
    await stage.send("ok", summary="fine")
    await switched_on(store)
    await stage.later(60).send("ok", summary="fine")
    record = (await Picture.of(store)).records[f"check:{check_id('web:http')}:attrs"]
    assert record["name"] == "http"
    assert record["summary"] == "fine"


async def test_a_disabled_check_is_enabled_by_its_next_report(store: Store) -> None:
    await switched_on(store)
    stage = Stage(store)
    await stage.send("ok", summary="fine")
    await check_settings.disable(store, "web:http")
    assert check_id("web:http") in (await Picture.of(store)).records["check::by_enabled:false"]
    await stage.later(60).send("ok", summary="fine")
    assert check_id("web:http") in (await Picture.of(store)).records["check::by_enabled:true"]
    assert await mistakes(store) == []


async def test_a_state_has_the_number_of_the_event_that_was_notified_last(store: Store) -> None:
    await switched_on(store)
    stage = Stage(store)
    await stage.fails()  # events 1 and 2
    await stage.later(61).send("critical")
    record = f"check_state:{made_id(f'state:web:http:{START}')}:attrs"
    fields = (await Picture.of(store)).records[record]
    assert (fields["count"], fields["notified"]) == ("1", "true")
    assert fields["last_notification_count"] == "3"
    await stage.later(1).send("acknowledgement")
    window = f"unscheduled_maintenance:{made_id(f'unscheduled:web:http:{stage.now}')}:attrs"
    fields = (await Picture.of(store)).records[window]
    assert (fields["notified"], fields["last_notification_count"]) == ("true", "4")


async def test_a_recovery_ends_the_window_of_an_acknowledgement(store: Store) -> None:
    await switched_on(store)
    stage = Stage(store)
    await stage.fails()
    await stage.later(10).send("acknowledgement", duration=3600)
    window = f"unscheduled_maintenance:{made_id(f'unscheduled:web:http:{stage.now}')}:attrs"
    await stage.later(60).send("ok")
    assert (await Picture.of(store)).records[window]["end_time"] == str(stage.now)
    assert await mistakes(store) == []


async def test_a_problem_that_an_action_names_is_recorded(store: Store) -> None:
    await switched_on(store)
    stage = Stage(store)
    await stage.send("ok")
    event = {"type": "action", "state": "critical", "entity": "web", "check": "http"}
    await stage.later(5).push(event)
    await stage.drain()
    record = (await Picture.of(store)).records[f"check:{check_id('web:http')}:attrs"]
    assert record["last_problem_alert"] == str(stage.now)
    assert await mistakes(store) == []


async def test_purged_history_is_gone_from_the_records(store: Store) -> None:
    await switched_on(store)
    stage = await a_day(store)
    await stage.later(2 * 86_400).send("ok", "web:HTTP:80 x")
    before = (await Picture.of(store)).records["check_state::ids"]
    policy = Settings(history_days=1, history_changes=2)
    await purge.purge(store, policy, stage.now, lambda _: None)
    assert (await Picture.of(store)).records["check_state::ids"] < before
    assert await mistakes(store) == []


async def test_a_key_of_a_wrong_type_is_logged_and_stops_nothing(store: Store) -> None:
    await switched_on(store)
    stage = Stage(store)
    await stage.send("ok")
    await store.call("DEL", "check::by_state:ok")
    await store.call("SET", "check::by_state:ok", "x")
    with logged() as lines:
        await stage.later(1).send("critical")
    assert (await Picture.of(store)).state("web:http") == "critical"
    assert any("MIRROR check web:http: WRONGTYPE" in line["command"] for line in lines.all())
    await store.call("DEL", "check::by_state:ok")


async def test_a_check_that_never_reported_has_a_record(store: Store) -> None:
    await switched_on(store)
    await known_checks.add(store, "web:Disk /", (), START)
    assert await mistakes(store) == []
    [record] = await store.call("SMEMBERS", "check::by_name:Disk%20/")
    assert await store.call("SMEMBERS", "check::by_enabled:false") == {record}
    await record_keeping.drop(store, lambda _: None)
    await record_keeping.build(store, lambda _: None)
    assert await store.call("SMEMBERS", "check::ids") == {record}
    assert [one async for one in record_verify.differences(store)] == []
    await known_checks.forget(store, "web:Disk /")
    assert await store.call("EXISTS", "check::ids") == 0
    assert await mistakes(store) == []


async def test_each_change_of_people_and_entities_is_recorded(store: Store) -> None:
    await switched_on(store)
    stage = await a_day(store)
    known = await entities.id_of(store, "web")
    steps: list[Awaitable[Any]] = [
        rules.remove(store, "nights"),
        contact_links.link(store, "charlie", known),
        contact_links.unlink(store, "charlie", known),
        contact_links.unlink(store, "bob", known, "HTTP:80 x"),
        entities.save(store, Entity(id="7", name="web", tags=("x",))),
        entities.save(store, Entity(id="7", name="renamed")),
        entities.remove(store, "db-1"),
        contacts.remove(store, "bob"),
        contacts.remove(store, "alice"),
        stage.later(1).send("ok", "web:HTTP:80 x"),
    ]
    for step in steps:
        before = (await Picture.of(store)).records
        await step
        picture = await Picture.of(store)
        assert record_model.mistakes(picture) == []
        assert picture.records != before


PEOPLE = ("alice", "bob")
NAMES = ("web", "db", "new")
IDS = ("1", "2", "ALL")
CHECKS = ("web:http", "db:HTTP:80", "new:x y")
TAGS = ("a", "b:c")

Step = Callable[[Stage], Awaitable[Any]]


def _save_contact(name: str, media: Sequence[str], tags: Sequence[str], with_rules: bool) -> Step:
    async def step(stage: Stage) -> None:
        before = (await contacts.tags(stage.store)).get(name, ())
        made = Contact(
            id=name,
            first_name=name.title(),
            media={one: Medium(address=f"{name}@{one}", rollup_threshold=2) for one in media},
            rules=(Rule(id=f"{name}-1", contact_id=name, critical_media=tuple(media)),),
            tags=tuple(tags),
        )
        await contacts.save(stage.store, made, with_rules=with_rules, tags_before=before)

    return step


def _save_entity(id_: str, name: str, people: Sequence[str], tags: Sequence[str]) -> Step:
    checks = {"http": tuple(people)} if tags else {}
    entity = Entity(
        id=id_, name=name, contacts=tuple(people), tags=tuple(tags), check_contacts=checks
    )
    return lambda stage: entities.save(stage.store, entity, with_checks=len(tags) == 2)


def _linked(act: Any, name: str, id_: str, check: str | None) -> Step:
    return lambda stage: act(stage.store, name, id_, check)


def _some(values: Sequence[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), max_size=2, unique=True)


people, tags, media = _some(PEOPLE), _some(TAGS), _some(("email", "sms"))
names, ids = st.sampled_from(PEOPLE), st.sampled_from(IDS)
checks = st.sampled_from(CHECKS)
own_checks = st.none() | st.sampled_from(("http", "HTTP:80"))
STEPS: list[st.SearchStrategy[Step]] = [
    st.builds(_save_contact, names, media, tags, st.booleans()),
    names.map(lambda name: lambda stage: contacts.remove(stage.store, name)),
    names.map(lambda name: lambda stage: stage.rule(name, critical_media=("sms",))),
    names.map(lambda name: lambda stage: rules.remove(stage.store, f"{name}-rule")),
    st.builds(_save_entity, ids, st.sampled_from(NAMES), people, tags),
    ids.map(lambda one: lambda stage: entities.remove(stage.store, one)),
    st.sampled_from(NAMES).map(lambda name: lambda stage: entities.ensure(stage.store, name)),
    st.builds(_linked, st.just(contact_links.link), names, ids, own_checks),
    st.builds(_linked, st.just(contact_links.unlink), names, ids, own_checks),
    checks.map(lambda check: lambda stage: stage.later(1).fails(check)),
    checks.map(lambda check: lambda stage: stage.later(1).send("ok", check)),
    checks.map(lambda check: lambda stage: stage.later(1).send("acknowledgement", check)),
    checks.map(lambda check: lambda stage: check_settings.disable(stage.store, check)),
    checks.map(lambda check: lambda stage: check_settings.enable(stage.store, check)),
    checks.map(
        lambda check: (
            lambda stage: maintenance.create_unscheduled(
                stage.store, check, stage.now - 50, 100, "x", stage.now
            )
        )
    ),
    checks.map(
        lambda check: (
            lambda stage: maintenance.end_unscheduled(stage.store, check, stage.now, stage.now)
        )
    ),
]


@settings(max_examples=60, derandomize=True, database=None)
@given(steps=st.lists(st.one_of(STEPS), min_size=1, max_size=15))
async def test_whatever_people_change_the_records_follow(
    server: servers.Single, steps: list[Step]
) -> None:
    async with Store(store_url.parse(server.url)) as store:
        await emptied(store)
        await switched_on(store)
        stage = Stage(store)
        await stage.contact("alice", "email", "sms", threshold=1)
        await stage.contact("bob", "email", linked="1", check="http")
        await entities.save(store, Entity(id="1", name="web", contacts=("alice",), tags=("a",)))
        await stage.fails("web:http")
        for step in steps:
            try:
                await step(stage)
            except (NotFound, Refused):
                continue
            assert await mistakes(store) == []
        await emptied(store)
