"""Definitions in the store: created, changed, removed, each in one script."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.jobs.test_definition_validation import THE_DOCUMENTS
from watchbell import actors
from watchbell.alerting.keys import Alerting
from watchbell.errors import Changed, NotFound, Refused
from watchbell.jobs import definition_removal, definitions, parameters, stock
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import KINDS, Category, Event, Plugin
from watchbell.store.client import Store
from watchbell.store.live import Message, listen

ALICE = actors.signed_in("alice", "administrator")
BOB = actors.signed_in("bob", "editor")
NOW = 1_700_000_000.5
LATER = NOW + 60


@pytest.fixture
async def ready(store: Store) -> Store:
    await stock.ensure(store, NOW)
    return store


async def created(store: Store, **properties: Any) -> Event:
    value = {"title": "Backup", "params": {"script": "true"}} | properties
    record = await definitions.create(store, "event", value, ALICE, NOW)
    assert isinstance(record, Event)
    return record


async def revisions_of(store: Store, event: str) -> list[Any]:
    key = Jobs(store.prefix).revisions("event", event)
    return [msgspec.json.decode(one) for one in await store.call("LRANGE", key, 0, -1)]


async def test_a_created_record_has_an_id_its_creator_and_its_time(ready: Store) -> None:
    event = await created(ready, username="mallory", revision=7, created=5)
    assert event.id.startswith("e")
    assert (event.username, event.created, event.revision) == ("alice", int(NOW), 1)
    assert await definitions.get(ready, "event", event.id) == event
    assert await definitions.every(ready, "event") == {event.id: event}


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_every_kind_is_created_changed_and_removed(ready: Store, kind: str) -> None:
    value: dict[str, Any] = {"title": "One"}
    if kind == "plugin":
        value["command"] = "sh"
    if kind == "monitor":
        value["source"] = "load[0]"
    if kind == "alert":
        value["expression"] = "load[0] > 4"
    if kind == "event":
        value["params"] = {"script": "true"}
    record = await definitions.create(ready, kind, value, ALICE, NOW)
    changed = await definitions.update(ready, kind, record.id, {"title": "Two"}, BOB, LATER)
    assert (changed.title, changed.revision, changed.modified) == ("Two", 2, int(LATER))
    assert (changed.username, changed.created) == ("alice", int(NOW))
    await definition_removal.remove(ready, kind, record.id, BOB, LATER)
    with pytest.raises(NotFound):
        await definitions.get(ready, kind, record.id)


async def test_the_documents_example_is_created_with_its_category(ready: Store) -> None:
    event = await definitions.create(ready, "event", THE_DOCUMENTS, BOB, NOW)
    assert event.id == "event100"
    category = await definitions.get(ready, "category", "cat9")
    assert isinstance(category, Category)
    assert (category.title, category.username, category.enabled) == ("cat9", "bob", True)


async def test_an_id_is_given_once(ready: Store) -> None:
    await created(ready, id="backup")
    with pytest.raises(Refused) as refused:
        await created(ready, id="backup", title="Another")
    assert (refused.value.field, refused.value.code) == ("id", "exists")


async def test_an_invalid_record_is_not_stored(ready: Store) -> None:
    with pytest.raises(Refused) as refused:
        await created(ready, timings=[{"type": "schedule", "minutes": [99]}])
    assert refused.value.field == "timings[0].minutes"
    event = await created(ready)
    with pytest.raises(Refused):
        await definitions.update(ready, "event", event.id, {"plugin": "gone"}, ALICE, LATER)
    assert await definitions.every(ready, "event") == {event.id: event}


async def test_an_update_replaces_only_the_given_properties(ready: Store) -> None:
    event = await created(ready, notes="Nightly", tags=["important"])
    changes = {"triggers": [{"type": "manual"}], "username": "mallory", "revision": 50}
    changed = await definitions.update(ready, "event", event.id, changes, BOB, LATER)
    assert isinstance(changed, Event)
    assert [one.type for one in changed.timings] == ["manual"]
    assert (changed.notes, changed.tags, changed.username) == ("Nightly", ("important",), "alice")
    [entry] = await revisions_of(ready, event.id)
    assert (entry["revision"], entry["by"], entry["old"]["notes"]) == (2, "bob", "Nightly")


async def test_an_update_that_changes_nothing_makes_no_revision(ready: Store) -> None:
    event = await created(ready)
    assert await definitions.update(ready, "event", event.id, {"enabled": 1}, BOB, LATER) == event
    assert await revisions_of(ready, event.id) == []


async def test_an_id_stays(ready: Store) -> None:
    event = await created(ready)
    with pytest.raises(Refused):
        await definitions.update(ready, "event", event.id, {"id": "other"}, ALICE, LATER)


async def test_a_change_to_an_older_revision_is_refused(ready: Store) -> None:
    event = await created(ready)
    await definitions.update(ready, "event", event.id, {"notes": "a"}, ALICE, LATER, revision=1)
    with pytest.raises(Changed):
        await definitions.update(ready, "event", event.id, {"notes": "b"}, BOB, LATER, revision=1)


async def test_changes_made_at_once_are_all_made(ready: Store) -> None:
    event = await created(ready)
    names = ["notes", "icon", "title", "algo", "tags"]
    values: list[Any] = ["a", "b", "c", "round_robin", ["d"]]
    async with asyncio.TaskGroup() as tasks:
        for name, value in zip(names, values, strict=True):
            tasks.create_task(
                definitions.update(ready, "event", event.id, {name: value}, ALICE, LATER)
            )
    record = await definitions.get(ready, "event", event.id)
    assert isinstance(record, Event)
    made = (record.notes, record.icon, record.title, record.algo, record.tags)
    assert made == ("a", "b", "c", "round_robin", ("d",))
    assert record.revision == 6
    assert len(await revisions_of(ready, event.id)) == 5


async def test_old_revisions_are_dropped(ready: Store) -> None:
    event = await created(ready)
    for number in range(definitions.KEPT + 3):
        await definitions.update(ready, "event", event.id, {"notes": str(number)}, ALICE, LATER)
    assert len(await revisions_of(ready, event.id)) == definitions.KEPT


async def test_a_script_that_reaches_the_store_twice_writes_once(ready: Store) -> None:
    """As when a connection breaks before the reply."""

    class Twice(Store):
        async def call(self, *command: Any) -> Any:
            if command[0] in ("EVALSHA", "EVAL"):
                await super().call(*command)
            return await super().call(*command)

    async with Twice(ready.url) as twice:
        event = await created(twice)
        await definitions.update(twice, "event", event.id, {"notes": "a"}, ALICE, LATER)
        assert len(await revisions_of(ready, event.id)) == 1
        await definition_removal.remove(twice, "event", event.id, ALICE, LATER)
        assert len(await revisions_of(ready, event.id)) == 2


async def test_each_change_is_published(ready: Store) -> None:
    heard: list[Any] = []
    subscribed = asyncio.Event()

    async def follow() -> None:
        async for item in listen(ready, Jobs(ready.prefix).changes()):
            subscribed.set()
            if isinstance(item, Message):
                heard.append(msgspec.json.decode(item.body))
            if len(heard) == 4:
                return

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(follow())
        await subscribed.wait()
        await created(ready, id="e1", category="new")
        await definitions.update(ready, "event", "e1", {"notes": "a"}, ALICE, LATER)
        await definition_removal.remove(ready, "event", "e1", ALICE, LATER)
    event = {"kind": "event", "id": "e1"}
    assert heard == [{"kind": "category", "id": "new"}, event, event, event]


async def test_removing_an_event_removes_its_state_and_keeps_it_for_a_while(ready: Store) -> None:
    event = await created(ready)
    keys = Jobs(ready.prefix)
    for key in (keys.cursors(), keys.counts(), keys.turns(), keys.event_states()):
        await ready.call("HSET", key, event.id, "1", "other", "1")
    await definition_removal.remove(ready, "event", event.id, BOB, LATER)
    for key in (keys.cursors(), keys.counts(), keys.turns(), keys.event_states()):
        assert await ready.call("HKEYS", key) == [b"other"]
    [entry] = await revisions_of(ready, event.id)
    assert (entry["action"], entry["by"], entry["old"]["title"]) == ("delete", "bob", "Backup")
    assert await ready.call("TTL", keys.revisions("event", event.id)) > 0


async def test_removing_an_event_ends_the_failure_of_its_check(ready: Store) -> None:
    keys, events = Jobs(ready.prefix), Alerting(ready.prefix).events()
    for name in ("never", "failed"):
        await created(ready, id=name)
    await ready.call("HSET", keys.event_states(), "failed", "{}")
    await ready.call("HSET", keys.unreported(), "jobs:failed", "{}")
    for name in ("never", "failed"):
        await definition_removal.remove(ready, "event", name, BOB, LATER)
    [raw] = await ready.call("LRANGE", events, 0, -1)
    report = msgspec.json.decode(raw)
    assert (report["entity"], report["check"], report["state"]) == ("jobs", "failed", "ok")
    assert await ready.call("EXISTS", keys.unreported()) == 0


async def test_what_does_not_exist_is_not_found(ready: Store) -> None:
    with pytest.raises(NotFound):
        await definitions.update(ready, "event", "gone", {}, ALICE, NOW)
    with pytest.raises(NotFound):
        await definition_removal.remove(ready, "event", "gone", ALICE, NOW)
    with pytest.raises(NotFound):
        await definitions.get(ready, "planet", "earth")


async def test_what_events_need_is_not_removed(ready: Store) -> None:
    await definitions.create(ready, "plugin", {"id": "p1", "title": "P", "command": "sh"}, ALICE, 0)
    await created(ready, id="e1", category="c1", plugin="p1")
    for kind, name in (("category", "c1"), ("plugin", "p1")):
        with pytest.raises(Refused) as refused:
            await definition_removal.remove(ready, kind, name, ALICE, LATER)
        assert refused.value.code == "in_use"
    for kind, name in (("category", "general"), ("plugin", "shellplug")):
        with pytest.raises(Refused):
            await definition_removal.remove(ready, kind, name, ALICE, LATER)
    await definition_removal.remove(ready, "event", "e1", ALICE, LATER)
    await definition_removal.remove(ready, "category", "c1", ALICE, LATER)
    await definition_removal.remove(ready, "plugin", "p1", ALICE, LATER)


async def test_an_event_that_a_workflow_runs_is_removed_only_by_force(ready: Store) -> None:
    await created(ready, id="e1")
    graph = {
        "nodes": [
            {"id": "start", "type": "trigger"},
            {"id": "x", "type": "event", "data": {"event": "e1"}},
        ],
        "connections": [{"source": "start", "dest": "x"}],
    }
    timings = [{"type": "manual", "id": "start"}]
    flow = {"id": "w", "title": "W", "type": "workflow", "timings": timings, "workflow": graph}
    await definitions.create(ready, "event", flow, ALICE, NOW)
    with pytest.raises(Refused, match="the event 'w' needs this event"):
        await definition_removal.remove(ready, "event", "e1", ALICE, LATER)
    await definition_removal.remove(ready, "event", "e1", ALICE, LATER, force=True)
    with pytest.raises(NotFound):
        await definitions.get(ready, "event", "e1")


async def test_a_record_that_another_program_spoiled_can_be_repaired_or_removed(
    ready: Store,
) -> None:
    key = Jobs(ready.prefix).events()
    await ready.call("HSET", key, "e1", b"{\xff", "e2", "[]")
    with pytest.raises(Refused):
        await definitions.get(ready, "event", "e1")
    assert await definitions.every(ready, "event") == {}
    changes = {"title": "Backup", "params": {"script": "true"}}
    await definitions.update(ready, "event", "e1", changes, ALICE, LATER)
    assert (await definitions.get(ready, "event", "e1")).title == "Backup"
    await definition_removal.remove(ready, "event", "e2", ALICE, LATER)
    assert set(await definitions.every(ready, "event")) == {"e1"}


async def test_a_locked_parameter_stays_as_an_administrator_saved_it(ready: Store) -> None:
    params = [{"id": "account", "type": "text", "locked": True, "value": "nobody"}]
    plugin = {"id": "p1", "title": "P", "command": "sh", "params": params}
    await definitions.create(ready, "plugin", plugin, ALICE, NOW)
    await created(ready, id="e1", plugin="p1", params={"account": "root"})
    changes = {"params": {"account": "daemon", "other": 1}}
    changed = await definitions.update(ready, "event", "e1", changes, BOB, LATER)
    assert isinstance(changed, Event)
    assert changed.params == {"account": "root", "other": 1}
    startup = {"type": "startup", "params": {"account": "daemon", "other": 2}}
    changed = await definitions.update(ready, "event", "e1", {"timings": [startup]}, BOB, LATER)
    assert isinstance(changed, Event)
    assert changed.timings[0].params == {"other": 2}
    changed = await definitions.update(ready, "event", "e1", {"timings": [startup]}, ALICE, LATER)
    changed = await definitions.update(ready, "event", "e1", {"timings": [startup]}, BOB, LATER)
    assert isinstance(changed, Event)
    assert changed.timings[0].params == {"account": "daemon", "other": 2}


async def test_masks_of_an_event_without_its_plugin_change_nothing(ready: Store) -> None:
    event = Event(id="e1", title="E", plugin="gone", params={"key": "hush"})
    key = Jobs(ready.prefix).events()
    await ready.call("HSET", key, "e1", msgspec.json.encode(event))
    changes = {"params": parameters.masked(None, event.params), "notes": "new"}
    changed = await definitions.update(ready, "event", "e1", changes, BOB, LATER)
    assert isinstance(changed, Event)
    assert (changed.params, changed.notes) == ({"key": "hush"}, "new")


async def test_the_stock_is_created_once_and_edits_are_kept(store: Store) -> None:
    await stock.ensure(store, NOW)
    await definitions.update(store, "plugin", "shellplug", {"title": "Ours"}, ALICE, LATER)
    await definitions.update(store, "category", "general", {"color": "red"}, ALICE, LATER)
    await stock.ensure(store, LATER)
    shell = await definitions.get(store, "plugin", "shellplug")
    general = await definitions.get(store, "category", "general")
    assert isinstance(general, Category)
    assert (shell.title, general.color) == ("Ours", "red")
    plugins = await definitions.every(store, "plugin")
    assert set(plugins) == {"shellplug", "httpplug", "hookplug", "testplug", "open_files"}
    assert await store.call("HKEYS", "{jobs}:groups") == [b"main"]


async def test_a_stock_plugin_that_nobody_edited_is_brought_up_to_date(store: Store) -> None:
    old = msgspec.structs.replace(stock.TEST, title="Old", created=5, modified=5)
    key = Jobs(store.prefix).plugins()
    await store.call("HSET", key, "testplug", msgspec.json.encode(old))
    await stock.ensure(store, NOW)
    plugin = await definitions.get(store, "plugin", "testplug")
    assert isinstance(plugin, Plugin)
    assert (plugin.title, plugin.created, plugin.modified) == ("Test", 5, int(NOW))


async def test_the_stock_leaves_a_spoiled_record_alone(store: Store) -> None:
    key = Jobs(store.prefix).plugins()
    await store.call("HSET", key, "testplug", "{")
    await stock.ensure(store, NOW)
    assert await store.call("HGET", key, "testplug") == b"{"


async def test_definitions_work_on_every_kind_of_store(any_store: Store) -> None:
    await stock.ensure(any_store, NOW)
    event = await created(any_store)
    await definitions.update(any_store, "event", event.id, {"notes": "a"}, ALICE, LATER)
    await definition_removal.remove(any_store, "event", event.id, ALICE, LATER)
    assert len(await revisions_of(any_store, event.id)) == 2
