"""Whoever follows records is killed half-way: the next one brings both layouts together, and loses
nothing of what other programs changed."""

import asyncio
import signal
import sys

import pytest

from tests import servers
from tests.alerting.recorded import check as with_past
from tests.alerting.sandstorm import Sandstorm
from tests.alerting.test_record_keeping import differences
from tests.alerting.test_record_watch import NOW, settled, watching
from tests.waiting import eventually
from watchbell.alerting import contacts, entities, history, known_checks, maintenance
from watchbell.alerting.entities import Entity
from watchbell.alerting.model import Contact
from watchbell.store.client import Store
from watchbell.store.replies import text

HOUR = 3600
POINTS = (
    *("record_watch.locked:1", "record_watch.locked:4", "record_watch.decided:2"),
    *("record_watch.decided:7", "record_watch.adopted:1", "record_watch.adopted:4"),
    *("record_watch.written:1", "record_watch.written:6", "record_watch.settled:1"),
    *("record_watch.settled:5", "record_watch.reported:1"),
    *("record_adopt.ids:1", "record_adopt.ids:3", "import.checks:1"),
)


async def before(store: Store) -> str:
    """Both layouts are equal and known to be so. Returns the record of `web:disk`."""
    await with_past(store, "web:disk", [(NOW - 100, "ok")])
    await entities.save(store, Entity(id="7", name="web"))
    for one in ("alice", "bob", "charlie"):
        await contacts.save(store, Contact(id=one, first_name=one))
    await maintenance.create_scheduled(store, "web:disk", NOW + 5 * HOUR, 60, "old", NOW)
    async with watching(store):
        await settled(store)
        await eventually(lambda: store.call("HEXISTS", "record_stamps", "scheduled web:disk"))
    (record,) = await store.call("SMEMBERS", "check::ids")
    return text(record)


async def changed_by_others(store: Store, check: str) -> None:
    other = Sandstorm(store)
    await other.contact("dora", first_name="Dora")
    await other.medium("dora", "email", "dora@example.com", interval=60)
    await other.rule("dora", "r1", entities="web")
    await other.contact("alice", last_name="Archer")
    await other.medium("alice", "sms", "123", interval=60)
    async with other.lock("contact"):
        await other.destroy("contact", "bob")
    await store.call("HSET", "contact:charlie", "last_name", "Clark")
    await other.entity("8", "db", "dora", tags="back")
    new = await other.check("8", "db", "load", state="ok", last_update=NOW)
    await other.state(new, NOW - 50, "critical", summary="high", count=3)
    await other.state(new, NOW - 10, "ok", summary="low", count=4)
    await other.edit("check", "SADD", f"check:{new}:contacts_ids", "alice")
    await other.window("scheduled", new, NOW + HOUR, NOW + 2 * HOUR, "new")
    await other.edit("check", "SADD", f"check:{check}:contacts_ids", "dora")
    await other.enable(check, is_on=False)
    for start in (1, 3):
        await other.window("scheduled", check, NOW + start * HOUR, NOW + (start + 1) * HOUR, "x")
    await store.call("ZADD", "web:disk:unscheduled_maintenances", 60, NOW - 10)
    await other.state(check, NOW, "critical", summary="full", count=9)


@pytest.mark.parametrize("fault", POINTS)
async def test_the_next_one_completes_what_a_killed_one_began(
    server: servers.Single, store: Store, fault: str
) -> None:
    check = await before(store)
    await changed_by_others(store, check)
    command = ["-m", "tests.faults.record_watch_worker", server.url, fault]
    killed = await asyncio.create_subprocess_exec(sys.executable, *command)
    assert await killed.wait() == -signal.SIGKILL
    await store.call("DEL", "record_watcher")  # its lease ends
    async with watching(store):
        await eventually(lambda: store.call("LLEN", "events"))
        await settled(store)
    assert await differences(store) == []
    found = {one.id: one for one in await contacts.everybody(store)}
    assert set(found) == {"alice", "charlie", "dora"}
    assert (found["alice"].last_name, found["charlie"].last_name) == ("Archer", "Clark")
    assert (set(found["alice"].media), set(found["dora"].media)) == ({"sms"}, {"email"})
    assert [one.id for one in found["dora"].rules] == ["r1"]
    assert await entities.find(store) == [
        Entity(
            id="8",
            name="db",
            contacts=("dora",),
            tags=("back",),
            check_contacts={"load": ("alice",)},
        ),
        Entity(id="7", name="web", check_contacts={"disk": ("dora",)}),
    ]
    assert await known_checks.every(store) == ["db:load", "web:disk"]
    changes = await history.state_changes(store, "db:load", None, None)
    assert [(one.state, one.summary) for one in changes] == [("critical", "high"), ("ok", "low")]
    assert [one.enabled for one in await history.check_states(store, ["web:disk"], NOW)] == [False]
    for kind, event_id, starts in (
        ("scheduled", "db:load", [NOW + HOUR]),
        ("scheduled", "web:disk", [NOW + HOUR, NOW + 3 * HOUR, NOW + 5 * HOUR]),
        ("unscheduled", "web:disk", [NOW - 10]),
    ):
        windows = await maintenance.windows(store, event_id, kind)  # type: ignore[arg-type]
        assert [one.start for one in windows] == starts
    events = await store.call("LRANGE", "events", 0, -1)
    assert all(b'"full"' in one for one in events)
    await store.call("DEL", "events")
