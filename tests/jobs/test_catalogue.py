"""All definitions in memory follow the store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from tests.waiting import eventually
from watchbell import actors
from watchbell.jobs import definition_removal, definitions, stock
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Event, Timing
from watchbell.store.client import Store

ALICE = actors.signed_in("alice", "administrator")
NOW = 1_700_000_000


@asynccontextmanager
async def running(catalogue: Catalogue) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(catalogue.run())
        await eventually(lambda: catalogue.plugins)
        yield
        task.cancel()


async def test_it_loads_every_kind(store: Store) -> None:
    await stock.ensure(store, NOW)
    await definitions.create(store, "tag", {"id": "t1", "title": "T"}, ALICE, NOW)
    await definitions.create(store, "channel", {"id": "n1", "title": "N"}, ALICE, NOW)
    value = {"id": "e1", "title": "E", "params": {"script": "true"}}
    await definitions.create(store, "event", value, ALICE, NOW)
    catalogue = Catalogue(store)
    await catalogue.load()
    assert (set(catalogue.tags), set(catalogue.channels)) == ({"t1"}, {"n1"})
    assert (set(catalogue.events), set(catalogue.categories)) == ({"e1"}, {"general"})
    assert len(catalogue.plugins) == 5
    assert (len(catalogue.monitors), len(catalogue.alert_defs)) == (15, 5)


async def test_it_follows_changes_and_calls_back(store: Store) -> None:
    await stock.ensure(store, NOW)
    catalogue = Catalogue(store)
    seen: list[tuple[str, str]] = []
    catalogue.subscribe(lambda kind, name: seen.append((kind, name)))
    async with running(catalogue):
        value = {"id": "e1", "title": "E", "params": {"script": "true"}, "category": "new"}
        await definitions.create(store, "event", value, ALICE, NOW)
        await eventually(lambda: "e1" in catalogue.events)
        assert "new" in catalogue.categories
        await definitions.update(store, "event", "e1", {"title": "F"}, ALICE, NOW)
        await eventually(lambda: catalogue.events["e1"].title == "F")
        await definition_removal.remove(store, "event", "e1", ALICE, NOW)
        await eventually(lambda: "e1" not in catalogue.events)
    assert seen[-4:] == [("category", "new"), *[("event", "e1")] * 3]


async def test_who_no_longer_subscribes_is_not_called(store: Store) -> None:
    await stock.ensure(store, NOW)
    catalogue = Catalogue(store)
    seen: list[str] = []
    end = catalogue.subscribe(lambda _, name: seen.append(name))
    end()
    await catalogue.load()
    assert seen == []


async def test_it_reads_everything_again_after_a_gap(store: Store) -> None:
    await stock.ensure(store, NOW)
    keys = Jobs(store.prefix)
    catalogue = Catalogue(store)
    kept = Event(id="kept", title="K")
    async with running(catalogue):
        # Written without a message, as if it had been missed.
        await store.call("HSET", keys.events(), "kept", msgspec.json.encode(kept))
        await store.call("HDEL", keys.plugins(), "testplug")
        await store.call("CLIENT", "KILL", "TYPE", "pubsub")
        await eventually(lambda: catalogue.events == {"kept": kept})
        await eventually(lambda: "testplug" not in catalogue.plugins)


async def test_a_spoiled_record_is_listed_with_its_reason(store: Store) -> None:
    await stock.ensure(store, NOW)
    keys = Jobs(store.prefix)
    fine = msgspec.json.encode(Event(id="fine", title="F"))
    await store.call("HSET", keys.events(), "fine", fine, "bad", "{", b"\xff", "{}", "moved", fine)
    catalogue = Catalogue(store)
    await catalogue.load()
    assert set(catalogue.events) == {"fine"}
    assert set(catalogue.invalid) == {("event", name) for name in ("bad", "\\xff", "moved")}
    assert "its id is 'fine'" in catalogue.invalid["event", "moved"]
    await store.call("HDEL", keys.events(), "bad", b"\xff")
    await store.call(
        "HSET", keys.events(), "moved", msgspec.json.encode(Event(id="moved", title="M"))
    )
    await catalogue.load()
    assert set(catalogue.events) == {"fine", "moved"}
    assert catalogue.invalid == {}


async def test_messages_of_other_programs_do_not_stop_it(store: Store) -> None:
    await stock.ensure(store, NOW)
    catalogue = Catalogue(store)
    channel = Jobs(store.prefix).changes()
    async with running(catalogue):
        for body in (b"", b"\xff", b"[]", b'{"kind":"planet","id":"earth"}', b'{"kind":5}'):
            await store.call("PUBLISH", channel, body)
        await definitions.create(store, "tag", {"id": "t1", "title": "T"}, ALICE, NOW)
        await eventually(lambda: "t1" in catalogue.tags)


async def test_a_key_of_a_wrong_type_spoils_only_its_kind(store: Store) -> None:
    await stock.ensure(store, NOW)
    keys = Jobs(store.prefix)
    await store.call("SET", keys.channels(), "spoiled")
    catalogue = Catalogue(store)
    async with running(catalogue):
        await store.call("PUBLISH", keys.changes(), b'{"kind":"channel","id":"n1"}')
        await definitions.create(store, "tag", {"id": "t1", "title": "T"}, ALICE, NOW)
        await eventually(lambda: "t1" in catalogue.tags)
        assert "general" in catalogue.categories
    await store.call("DEL", keys.channels())


async def test_many_events_are_loaded(store: Store) -> None:
    timings = (Timing(type="schedule", minutes=(5,)),)
    keys = Jobs(store.prefix)
    raws = [
        part
        for number in range(5_000)
        for part in (
            f"e{number}",
            msgspec.json.encode(Event(id=f"e{number}", title="E", timings=timings)),
        )
    ]
    await store.call("HSET", keys.events(), *raws)
    catalogue = Catalogue(store)
    await catalogue.load()
    assert len(catalogue.events) == 5_000
