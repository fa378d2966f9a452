"""Earlier versions of definitions."""

from typing import Any

import pytest

from watchbell import actors
from watchbell.errors import NotFound, Refused
from watchbell.jobs import definition_removal, definitions, revisions, stock
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Event
from watchbell.jobs.revisions import Change
from watchbell.store.client import Store

ALICE = actors.signed_in("alice", "administrator")
BOB = actors.signed_in("bob", "editor")
NOW = 1_700_000_000


@pytest.fixture
async def ready(store: Store) -> Store:
    await stock.ensure(store, NOW)
    value = {"id": "e1", "title": "One", "notes": "first", "params": {"script": "true"}}
    await definitions.create(store, "event", value, ALICE, NOW)
    changes = {"title": "Two", "timings": [{"type": "manual"}]}
    await definitions.update(store, "event", "e1", changes, BOB, NOW + 60)
    return store


async def seen(store: Store) -> list[tuple[int, str, str, str | None]]:
    found = await revisions.of(store, "event", "e1")
    return [(one.revision, one.action, one.by, (one.record or {}).get("title")) for one in found]


async def test_every_version_is_known_with_who_made_it(ready: Store) -> None:
    assert await seen(ready) == [(2, "update", "bob", "Two"), (1, "create", "alice", "One")]
    newest, oldest = await revisions.of(ready, "event", "e1")
    assert (newest.at, oldest.at) == (NOW + 60, NOW)


async def test_a_version_is_restored_as_a_new_one(ready: Store) -> None:
    record = await revisions.restore(ready, "event", "e1", 1, ALICE, NOW + 120)
    assert isinstance(record, Event)
    assert (record.title, record.timings, record.revision) == ("One", (), 3)
    assert (record.created, record.modified) == (NOW, NOW + 120)
    assert (await seen(ready))[0] == (3, "restore", "alice", "One")


async def test_a_deleted_record_is_restored(ready: Store) -> None:
    await definition_removal.remove(ready, "event", "e1", BOB, NOW + 120)
    assert (await seen(ready))[0] == (3, "delete", "bob", None)
    record = await revisions.restore(ready, "event", "e1", 2, ALICE, NOW + 180)
    assert (record.title, record.revision, record.username) == ("Two", 4, "alice")
    assert await seen(ready) == [
        (4, "restore", "alice", "Two"),
        (3, "delete", "bob", None),
        (2, "update", "bob", "Two"),
        (1, "create", "alice", "One"),
    ]
    assert await ready.call("TTL", Jobs(ready.prefix).revisions("event", "e1")) == -1


async def test_a_record_created_anew_keeps_the_history_of_its_id(ready: Store) -> None:
    await definition_removal.remove(ready, "event", "e1", BOB, NOW + 120)
    value = {"id": "e1", "title": "Three", "params": {"script": "true"}}
    await definitions.create(ready, "event", value, BOB, NOW + 180)
    assert [one[:2] for one in await seen(ready)] == [
        (1, "create"),
        (3, "delete"),
        (2, "update"),
        (1, "create"),
    ]


async def test_a_version_that_is_no_longer_valid_is_not_restored(ready: Store) -> None:
    plugin = {"id": "p1", "title": "P", "command": "sh"}
    await definitions.create(ready, "plugin", plugin, ALICE, NOW)
    await definitions.update(ready, "event", "e1", {"plugin": "p1"}, ALICE, NOW)
    await definitions.update(ready, "event", "e1", {"plugin": "shellplug"}, ALICE, NOW)
    await definition_removal.remove(ready, "plugin", "p1", ALICE, NOW)
    with pytest.raises(Refused) as refused:
        await revisions.restore(ready, "event", "e1", 3, ALICE, NOW)
    assert refused.value.field == "plugin"


@pytest.mark.parametrize("revision", [0, 3, 99])
async def test_an_unknown_version_is_not_found(ready: Store, revision: int) -> None:
    with pytest.raises(NotFound):
        await revisions.restore(ready, "event", "e1", revision, ALICE, NOW)
    with pytest.raises(NotFound):
        await revisions.of(ready, "event", "e2")


async def test_entries_of_other_programs_are_left_out(ready: Store) -> None:
    key = Jobs(ready.prefix).revisions("event", "e1")
    await ready.call("LPUSH", key, "{", b"\xff", "[]")
    assert len(await seen(ready)) == 2


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ({"title": "A", "revision": 1}, {"title": "A", "revision": 2}, []),
        ({"title": "A"}, {"title": "B"}, [Change("title", "A", "B")]),
        ({}, {"notes": "x"}, [Change("notes", None, "x")]),
        (
            {"params": {"script": "a", "json": True}},
            {"params": {"script": "b", "json": True}},
            [Change("params.script", "a", "b")],
        ),
        (
            {"timings": [{"type": "schedule", "minutes": [5]}]},
            {"timings": [{"type": "schedule", "minutes": [5, 6]}, {"type": "manual"}]},
            [
                Change("timings[0].minutes", [5], [5, 6]),
                Change("timings[1]", None, {"type": "manual"}),
            ],
        ),
        ({"tags": ["a"]}, {"tags": ["a", "b"]}, [Change("tags", ["a"], ["a", "b"])]),
        ({"title": "A"}, None, [Change("title", "A", None)]),
    ],
)
def test_a_comparison_names_each_property_that_differs(old: Any, new: Any, changes: Any) -> None:
    assert revisions.diff(old, new) == changes
