"""With records on, queues carry ids; whatever is queued, by whom and when, is notified once."""

from typing import Any

import msgspec
import pytest

from tests.alerting import record_model
from tests.alerting.consistency import Picture
from tests.alerting.record_model import check_id, made_id, medium_id
from tests.alerting.sandstorm import Sandstorm
from tests.alerting.scenes import START, Stage
from tests.alerting.test_priority import notification
from tests.alerting.test_record_adopt import a_shop, adopted
from watchbell.alerting import notifier as notifiers
from watchbell.alerting import processor as processors
from watchbell.alerting import purge, queued_records, record_keeping, record_verify
from watchbell.alerting.effects import EFFECTS
from watchbell.alerting.intake import submit
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import CheckEvent
from watchbell.alerting.notifier import Notifier
from watchbell.alerting.processor import Processor
from watchbell.gateways.outbox import Outbox
from watchbell.settings import Alerting as Settings
from watchbell.store.client import Store
from watchbell.store.effects import Command, flat, packed, verbatim
from watchbell.store.replies import text

KEYS, OWN = Alerting(), AlertingOwn()
GIVEN = "f" * 32


async def switched(store: Store, value: str) -> None:
    await store.call("SET", OWN.records(), value)


async def processed(store: Store, state: str, now: int, **fields: Any) -> None:
    """One event, up to the notifications that it causes."""
    kind = "action" if state == "acknowledgement" else "service"
    given = {"entity": "web", "check": "http", "initial_failure_delay": 0, **fields}
    await submit(store, CheckEvent(type=kind, state=state, **given))  # type: ignore[arg-type]
    await processors.step(Processor(store, Settings(), 1), now)


async def queued(store: Store, key: str) -> list[str]:
    return [text(one) for one in await store.call("LRANGE", key, 0, -1)]


async def wrong(store: Store) -> list[str]:
    found = [str(one) async for one in record_verify.differences(store)]
    return [*found, *record_model.mistakes(await Picture.of(store))]


async def left(store: Store) -> set[str]:
    """The keys that have to do with what is queued."""
    picture = await Picture.of(store)
    words = ("notification:", "alert:", "rollup_alert:")
    found = {key for key in picture.records if key.startswith(words) or "lerts_ids" in key}
    found |= {key for key in picture.records if "notifications_ids" in key}
    return found | set(picture.beginning(OWN.payload("")))


async def test_a_notification_is_queued_by_the_id_of_its_record(store: Store) -> None:
    await switched(store, "on")
    await processed(store, "critical", START, summary="down", tags=("a", "b"))
    (one,) = await queued(store, KEYS.notifications())
    records = (await Picture.of(store)).records
    check, state = check_id("web:http"), made_id(f"state:web:http:{START}")
    assert records["notification::ids"] == {one}
    fields = records[f"notification:{one}:attrs"]
    assert (fields["type"], fields["severity"]) == ("problem", "critical")
    assert {"a", "b"} <= records[f"notification:{one}:attrs:tags"]
    assert records[f"notification:{one}:belongs_to"] == {"check_id": check, "state_id": state}
    assert records[f"check:{check}:notifications_ids"] == {one}
    assert records[f"check_state:{state}:current_notifications_ids"] == {one}
    await processed(store, "ok", START + 60)
    _, other = await queued(store, KEYS.notifications())
    records = (await Picture.of(store)).records
    assert records[f"check_state:{state}:current_notifications_ids"] == {one}
    assert records[f"check_state:{state}:previous_notifications_ids"] == {other}
    assert await wrong(store) == []


async def test_each_notification_of_a_batch_has_the_state_of_its_event(store: Store) -> None:
    await switched(store, "on")
    for state in ("critical", "ok", "warning"):
        fields: dict[str, Any] = {"state": state, "entity": "web", "check": "http"}
        await submit(store, CheckEvent(type="service", initial_failure_delay=0, **fields))
    await processors.step(Processor(store, Settings(), 1), START)
    records = (await Picture.of(store)).records
    owners = [records[f"notification:{n}:belongs_to"] for n in records["notification::ids"]]
    assert len({one["state_id"] for one in owners}) == 3
    assert await wrong(store) == []


async def test_what_was_consumed_leaves_nothing_behind(store: Store) -> None:
    await switched(store, "on")
    stage = Stage(store)
    await stage.contact("alice", "email", threshold=2)
    await stage.fails("web:http")
    await stage.fails("web:disk")
    first, second = await queued(store, KEYS.queue("email"))
    records = (await Picture.of(store)).records
    entry = made_id(f"rollup:{second}:web:http")
    assert "notification::ids" not in records
    assert records["alert::ids"] == {first, second}
    assert records[f"medium:{medium_id('alice', 'email')}:alerts_ids"] == {first, second}
    assert records[f"rollup_alert:{entry}:attrs"]["state"] == "critical"
    assert entry in records[f"alert:{second}:rollup_alerts_ids"]
    assert entry in records["rollup_alert::by_state:critical"]
    assert await wrong(store) == []
    box = Outbox(store, "email")
    batch = await box.taker.take()
    assert batch is not None
    assert await wrong(store) == []
    assert await box.admit(batch, stage.now) == 2
    assert await left(store) == set()
    assert await wrong(store) == []


@pytest.mark.parametrize(("before", "after"), [("on", "off"), ("off", "on")])
async def test_full_queues_outlast_the_switch(store: Store, before: str, after: str) -> None:
    await switched(store, before)
    stage = Stage(store)
    await stage.contact("alice", "email")
    await processed(store, "critical", START)
    await switched(store, after)
    await processed(store, "critical", START, check="disk")
    items = await queued(store, KEYS.notifications())
    assert sorted(item.startswith("{") for item in items) == [False, True]
    await notifiers.step(Notifier(store, Settings()), START)
    await switched(store, before)
    await processed(store, "ok", START + 60)
    await notifiers.step(Notifier(store, Settings()), START + 60)
    await switched(store, after)
    box = Outbox(store, "email")
    batch = await box.taker.take()
    assert batch is not None
    assert len({item[:1] == b"{" for item in batch.items}) == 2
    alerts = [msgspec.json.decode(one) for one in await queued_records.alerts(store, batch.items)]
    found = [(one["event_id"], one["notification_type"]) for one in alerts]
    assert found == [("web:http", "problem"), ("web:disk", "problem"), ("web:http", "recovery")]
    assert await box.admit(batch, START + 60) == 3
    assert await left(store) == set()


@pytest.mark.parametrize("is_dropped", [False, True])
async def test_dropped_records_and_built_ones_lose_nothing_queued(
    store: Store, is_dropped: bool
) -> None:
    await switched(store, "on")
    stage = Stage(store)
    await stage.contact("alice", "email")
    await stage.fails("web:disk")
    await processed(store, "critical", stage.now)
    before = (await Picture.of(store)).records
    if is_dropped:
        await record_keeping.drop(store, lambda _: None)
        assert (await Picture.of(store)).records == {}
    await record_keeping.build(store, lambda _: None)
    assert (await Picture.of(store)).records.keys() == before.keys()
    assert await wrong(store) == []
    await stage.drain()
    assert await stage.alert_lines() == [
        "alice problem web:disk critical",
        "alice problem web:http critical",
    ]
    assert await left(store) == set()


async def _foreign_notification(store: Store, kind: str) -> None:
    """As another program queues the last state of a check."""
    check = check_id("web:http")
    state, before = (made_id(f"state:web:http:{at}") for at in (START + 60, START))
    record = f"notification:{GIVEN}"
    fields = ("type", kind, "severity", "critical", "state_duration", 5, "time", START)
    await store.call("SADD", "notification::ids", GIVEN)
    await store.call("HSET", f"{record}:attrs", *fields)
    await store.call("SADD", f"{record}:attrs:tags", "special")
    owners = ("check_id", check, "state_id", state, "previous_state_id", before)
    await store.call("HSET", f"{record}:belongs_to", *owners)
    await store.call("SADD", f"check:{check}:notifications_ids", GIVEN)
    await store.call("SADD", f"check_state:{state}:current_notifications_ids", GIVEN)
    await store.call("SADD", f"check_state:{before}:previous_notifications_ids", GIVEN)
    await store.call("RPUSH", KEYS.notifications(), GIVEN)


@pytest.mark.parametrize(
    ("kind", "state"), [("recovery", "ok"), ("acknowledgement", "acknowledgement")]
)
async def test_what_another_program_queued_is_read_from_its_records(
    store: Store, kind: str, state: str
) -> None:
    await switched(store, "on")
    stage = Stage(store)
    await stage.contact("alice", "email", rule={"tags": ("special",), "critical_media": ("email",)})
    await processed(store, "critical", START, summary="down")
    await processed(store, "ok", START + 60, summary="fine")
    await stage.drain()
    await stage.alerts()
    await _foreign_notification(store, kind)
    assert [one async for one in record_verify.differences(store)] == []
    await stage.later(60).drain()
    (alert,) = await stage.alerts()
    assert (alert.event_id, alert.notification_type, alert.state) == ("web:http", kind, state)
    assert (alert.summary, alert.last_state, alert.last_summary) == ("fine", "critical", "down")
    assert (alert.state_duration, alert.tags) == (5, ["special"])
    assert await left(store) == set()


@pytest.mark.parametrize("is_adopted", [True, False])
async def test_what_waits_in_an_adopted_store_is_delivered(store: Store, is_adopted: bool) -> None:
    ids, other = await a_shop(store), Sandstorm(store)
    fields: dict[str, str | int] = {"type": "problem", "severity": "critical", "time": START}
    waiting = await other.save("notification", fields)
    owners = ("check_id", ids["check"], "state_id", ids["critical"], "previous_state_id", ids["ok"])
    await other.call("HSET", f"notification:{waiting}:belongs_to", *owners)
    await other.call("SADD", f"check:{ids['check']}:notifications_ids", waiting)
    await store.call("RPUSH", KEYS.notifications(), waiting)
    alert = await other.save("alert", {"state": "critical", "summary": "before"})
    links = ("medium_id", ids["mail"], "check_id", ids["check"])
    await other.call("HSET", f"alert:{alert}:belongs_to", *links)
    await other.call("SADD", f"medium:{ids['mail']}:alerts_ids", alert)
    await store.call("RPUSH", KEYS.queue("email"), alert)
    if is_adopted:
        await adopted(store)
        assert [one async for one in record_verify.differences(store)] == []
        await notifiers.step(Notifier(store, Settings()), START)
        assert [one async for one in record_verify.differences(store)] == []
    box = Outbox(store, "email")
    batch = await box.taker.take()
    assert batch is not None
    alerts = [msgspec.json.decode(one) for one in await queued_records.alerts(store, batch.items)]
    expected = [alert, *(text(item) for item in batch.items[1:])]
    assert [one["id"] for one in alerts] == expected
    assert len(alerts) == (2 if is_adopted else 1)
    for one in alerts:
        assert (one["address"], one["event_id"]) == ("alice@example.com", "web:HTTP: 80")
    assert await box.admit(batch, START) == len(alerts)
    assert await store.call("EXISTS", f"alert:{alert}:attrs", "alert::ids") == 0
    assert is_adopted == (waiting not in str(await left(store)))


async def test_an_alert_without_its_json_is_read_from_its_records(store: Store) -> None:
    await switched(store, "on")
    stage = Stage(store)
    await stage.contact("alice", "email", threshold=2)
    await stage.fails("web:http")
    await stage.fails("web:disk")
    items = [one.encode() for one in await queued(store, KEYS.queue("email"))]
    exact = [msgspec.json.decode(one) for one in await queued_records.alerts(store, items)]
    await store.call("DEL", *(OWN.payload(text(one)) for one in items))
    rebuilt = [msgspec.json.decode(one) for one in await queued_records.alerts(store, items)]
    for before, after in zip(exact, rebuilt, strict=True):
        for name in ("id", "address", "contact_id", "contact_first_name", "event_id", "event_hash"):
            assert after[name] == before[name]
        assert after["rollup_alerts"].keys() == before["rollup_alerts"].keys()
    box = Outbox(store, "email")
    batch = await box.taker.take()
    assert batch is not None
    assert await box.admit(batch, stage.now) == 2
    assert await left(store) == set()


async def test_an_id_of_nothing_is_parked_and_stops_nothing(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    await store.call("RPUSH", KEYS.notifications(), GIVEN)
    await stage.fails()
    assert await stage.alert_lines() == ["alice problem web:http critical"]
    (parked,) = await store.call("LRANGE", OWN.parked(), 0, -1)
    assert msgspec.json.decode(parked)["notification"] == GIVEN
    await store.call("RPUSH", KEYS.queue("email"), GIVEN)
    box = Outbox(store, "email")
    batch = await box.taker.take()
    assert batch is not None
    assert await box.admit(batch, stage.now) == 0
    assert await store.call("ZCARD", "gateway:email:failed") == 1


async def test_records_of_a_wrong_type_stop_nothing(store: Store) -> None:
    await switched(store, "on")
    stage = Stage(store)
    await stage.contact("alice", "email")
    for key in ("notification::ids", "alert::ids"):
        await store.call("SET", key, "x")
    await stage.fails()
    assert await stage.alert_lines() == ["alice problem web:http critical"]
    assert await store.call("EXISTS", KEYS.notifications()) == 0
    await store.call("DEL", "notification::ids", "alert::ids")


async def test_an_urgent_notification_overtakes_others_that_are_ids(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifiers, "_MOST_ALERTS", 10)
    await switched(store, "on")
    stage = Stage(store)
    await stage.contact("alice", "email")
    notifier = Notifier(store, Settings())
    notifier.piece = 5

    async def push(*raws: bytes | str) -> None:
        for raw in raws:
            one = made_id(str(raw))
            json = verbatim(raw if isinstance(raw, bytes) else raw.encode())
            words: Command = [
                "NOTIFY",
                KEYS.notifications(),
                "none:states",
                OWN.payload(one),
                one,
                json,
            ]
            await EFFECTS.alone(store, [OWN.records()], [packed(flat([words]))])

    await push(*(notification(n) for n in range(40)))
    await notifiers.step(notifier, START)
    await stage.alerts()
    await push(notification(35, "ok", "recovery"), notification(35, "critical"))
    await notifiers.step(notifier, START)
    found = [f"{a.event_id} {a.state}" for a in (await stage.alerts())[:3]]
    assert found == ["web:c35 warning", "web:c35 ok", "web:c35 critical"]


async def test_an_address_that_somebody_holds_is_not_taken_by_another(store: Store) -> None:
    await switched(store, "on")
    stage = Stage(store)
    await stage.contact("alice", "email")
    await stage.fails("web:http")
    one, other = Outbox(store, "email"), Outbox(store, "email")
    first = await one.taker.take()
    assert first is not None
    await stage.later(60).send("ok", "web:http")
    assert await other.taker.take() is None
    await one.admit(first, stage.now)
    second = await one.taker.take()
    assert second is not None
    assert await one.admit(second, stage.now) == 1
    assert await left(store) == set()


async def test_records_of_what_is_in_no_queue_are_found_and_removed(store: Store) -> None:
    await switched(store, "on")
    stage = Stage(store)
    await stage.contact("alice", "email", threshold=2)
    await stage.fails("web:http")
    await stage.fails("web:disk")
    await processed(store, "critical", stage.now, check="load")
    assert await wrong(store) == []
    keys = await left(store)
    await store.call("DEL", KEYS.queue("email"), KEYS.notifications())
    found = {one.key async for one in record_verify.differences(store)}
    assert {key for key in keys if key.endswith((":attrs", "::ids"))} <= found
    assert OWN.payload("") in {key[:8] for key in found}
    await record_keeping.build(store, lambda _: None)
    assert await left(store) == set()
    assert await wrong(store) == []


async def test_every_missing_key_of_what_is_queued_is_found(store: Store) -> None:
    await switched(store, "on")
    stage = Stage(store)
    await stage.contact("alice", "email", threshold=2)
    await stage.fails("web:http")
    await stage.fails("web:disk")
    await processed(store, "critical", stage.now, check="load")
    for key in await left(store) & (await Picture.of(store)).records.keys():
        raw = await store.call("DUMP", key)
        await store.call("DEL", key)
        assert any([one.key == key async for one in record_verify.differences(store)]), key
        await store.call("RESTORE", key, 0, raw)
    assert await wrong(store) == []


async def test_purged_states_are_unlinked_from_what_is_queued(store: Store) -> None:
    await switched(store, "on")
    await processed(store, "critical", START)
    for at in range(3):
        await processed(store, "ok" if at % 2 else "warning", START + 60 + at)
    before = await left(store)
    policy = Settings(history_days=1, history_changes=1)
    await purge.purge(store, policy, START + 9 * 86_400, lambda _: None)
    gone = before - await left(store)
    assert {key.rpartition(":")[2] for key in gone} == {
        "current_notifications_ids",
        "previous_notifications_ids",
    }
    assert [one async for one in record_verify.differences(store)] == []
