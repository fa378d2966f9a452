"""Imports into a store, and exports that are read back."""

from typing import Any

import msgspec
import pytest

from tests.jobs.test_import_readers import CRONICLE, CRONTAB, PORTABLE
from watchbell import actors
from watchbell.errors import Refused
from watchbell.fleet import groups
from watchbell.jobs import definitions, exports, revisions, stock
from watchbell.jobs.imports import cronicle, crontab, plan, portable
from watchbell.jobs.imports.found import Found, Item
from watchbell.jobs.model import KINDS, Event
from watchbell.store.client import Store

ALICE = actors.signed_in("alice", "administrator")
NOW = 1_700_000_000


@pytest.fixture
async def ready(store: Store) -> Store:
    await stock.ensure(store, NOW)
    return store


async def imported(store: Store, found: Found, **options: bool) -> dict[str, list[str]]:
    """The names of items, by what became of them."""
    whole = await plan.planned(store, found, NOW)
    names: dict[str, list[str]] = {}
    for one in await plan.make(store, whole, ALICE, NOW, **options):
        names.setdefault(one.outcome, []).append(one.planned.item.name)
    return names


def event(name: str, **more: Any) -> Item:
    return Item("event", {"id": name, "title": name, "params": {"script": "true"}, **more})


@pytest.mark.parametrize(
    ("found", "events"),
    [
        (crontab.read(CRONTAB), {"backup_sh", "mail", "backup_sh_2"}),
        (cronicle.read(CRONICLE), {"e1", "e2"}),
        (portable.read(msgspec.json.encode(PORTABLE)), {"emabc"}),
    ],
)
async def test_a_file_is_imported_and_a_repetition_changes_nothing(
    ready: Store, found: Found, events: set[str]
) -> None:
    made = await imported(ready, found)
    assert [*made] == ["created"]
    assert set(await definitions.every(ready, "event")) == events
    again = await imported(ready, found)
    assert again == {"unchanged": made["created"]}


async def test_groups_are_imported(ready: Store) -> None:
    await imported(ready, cronicle.read(CRONICLE))
    assert (await groups.get(ready, "g1")).hostname_match == "^web"


async def test_events_that_run_each_other_are_imported(ready: Store) -> None:
    def runs(name: str) -> list[dict[str, str]]:
        return [{"trigger": "success", "type": "run_event", "event_id": name}]

    items = (event("a", actions=runs("b")), event("b", actions=runs("a")))
    await imported(ready, Found(items))
    record = await definitions.get(ready, "event", "a")
    assert isinstance(record, Event)
    assert record.actions[0].event_id == "b"


async def test_one_invalid_record_stops_the_import_unless_it_is_skipped(ready: Store) -> None:
    found = Found((event("a"), event("b", plugin="gone")))
    with pytest.raises(Refused, match="there is no plugin 'gone'; nothing was imported"):
        await imported(ready, found)
    assert await definitions.every(ready, "event") == {}
    made = await imported(ready, found, skip=True)
    assert made == {"created": ["event 'a'"], "left_out": ["event 'b'"]}


async def test_a_record_is_replaced_only_if_that_is_wanted(ready: Store) -> None:
    await imported(ready, Found((event("a", notes="old", tags=["t"]),)))
    newer = Found((event("a", notes="new"),))
    with pytest.raises(Refused, match="event 'a': exists already"):
        await imported(ready, newer)
    made = await imported(ready, newer, replace=True)
    assert made == {"replaced": ["event 'a'"]}
    record = await definitions.get(ready, "event", "a")
    assert isinstance(record, Event)
    assert (record.notes, record.tags, record.revision) == ("new", (), 2)
    assert (await revisions.of(ready, "event", "a"))[0].action == "import"


async def test_two_records_of_one_id_are_refused(ready: Store) -> None:
    with pytest.raises(Refused, match="twice"):
        await imported(ready, Found((event("a"), event("a"))))


async def test_an_import_that_was_interrupted_is_repeated(ready: Store) -> None:
    found = cronicle.read(CRONICLE)
    whole = await plan.planned(ready, found, NOW)
    for done in range(len(whole)):
        # As if the process had died after some of the records.
        await plan.make(ready, whole[: done + 1], ALICE, NOW, skip=True)
    made = await imported(ready, found)
    assert sum(map(len, made.values())) == len(found.items)
    assert "left_out" not in made
    assert set(await definitions.every(ready, "event")) == {"e1", "e2"}


async def test_an_empty_file_is_refused(ready: Store) -> None:
    with pytest.raises(Refused):
        await imported(ready, Found())


async def filled(store: Store) -> None:
    await imported(store, cronicle.read(CRONICLE))
    await imported(store, crontab.read(CRONTAB))
    await definitions.create(store, "tag", {"id": "t1", "title": "T"}, ALICE, NOW)
    channel = {"id": "n1", "title": "N", "email": "bob@example.com", "url": "http://example.com"}
    await definitions.create(store, "channel", channel, ALICE, NOW)
    limit = {"type": "time", "duration": 5, "abort": False}
    await definitions.update(store, "event", "e1", {"limits": [limit]}, ALICE, NOW)
    await definitions.update(store, "plugin", "shellplug", {"notes": "Ours"}, ALICE, NOW)
    monitor = {"id": "swap", "title": "Swap", "source": "memory.swapused", "data_type": "bytes"}
    await definitions.create(store, "monitor", monitor, ALICE, NOW)
    mail = {"trigger": "alert_new", "type": "channel", "channel_id": "n1"}
    alert = {"id": "swap_high", "title": "Swap", "expression": "monitors.swap > 1", "samples": 3}
    more = {"monitor_id": "swap", "actions": [mail]}
    await definitions.create(store, "alert", {**alert, **more}, ALICE, NOW)
    await definitions.update(store, "alert", "mem_free_low", {"limit_jobs": True}, ALICE, NOW)


async def contents(store: Store) -> dict[str, Any]:
    marks = {"created": 0, "modified": 0, "revision": 0, "username": ""}
    found = {}
    for kind in KINDS:
        for name, record in (await definitions.every(store, kind)).items():
            found[f"{kind} {name}"] = msgspec.structs.replace(record, **marks)
    return found


async def test_an_export_is_read_back(ready: Store) -> None:
    await filled(ready)
    before, file = await contents(ready), await exports.export(ready, secrets=True)
    await ready.call("FLUSHALL")
    await stock.ensure(ready, NOW)
    found = portable.read(file)
    assert found.omissions == ()
    await imported(ready, found, replace=True)
    assert await contents(ready) == before
    assert (await groups.get(ready, "g1")).title == "Web"
    assert await exports.export(ready, secrets=True) == file


async def test_an_export_has_both_spellings(ready: Store) -> None:
    await filled(ready)
    document = msgspec.json.decode(await exports.export(ready, events={"e1"}))
    [item] = document["items"]
    assert (document["type"], item["type"]) == ("xypdf", "event")
    assert item["data"]["timings"] == item["data"]["triggers"]
    assert item["data"]["actions"][0]["condition"] == "error"
    assert "revision" not in item["data"]


async def test_secrets_are_exported_only_on_demand(ready: Store) -> None:
    await filled(ready)
    token: dict[str, Any] = {"id": "token", "type": "text", "secret": True, "value": "hush too"}
    params = [token, {"id": "host", "type": "text"}]
    plugin = {"id": "p9", "title": "P", "command": "sh", "params": params, "env": {"A": "hush, A"}}
    await definitions.create(ready, "plugin", plugin, ALICE, NOW)
    value: dict[str, Any] = {"id": "e9", "title": "E", "plugin": "p9"}
    value["params"] = {"token": "hush", "host": "db1"}
    action = {"trigger": "error", "type": "run_event", "event_id": "e1", "params": {"t": "hush, t"}}
    value["actions"] = [action]
    value["timings"] = [{"type": "interval", "duration": 60, "params": {"token": "hush at times"}}]
    await definitions.create(ready, "event", value, ALICE, NOW)
    assert b"hush" not in await exports.export(ready)
    assert b"db1" in await exports.export(ready)
    assert b"hush" in await exports.export(ready, secrets=True)
