"""A new critical overtakes a backlog in the processor and the notifier, never within its check."""

import os
from typing import Any

import msgspec
import pytest

from tests.alerting.scenes import START, Stage
from watchbell.alerting import notifier as notifiers
from watchbell.alerting import priority
from watchbell.alerting.intake import submit_raw
from watchbell.alerting.keys import Alerting
from watchbell.alerting.maintenance import create_scheduled
from watchbell.alerting.model import Notification
from watchbell.alerting.notifier import Notifier
from watchbell.alerting.notifier import step as notify
from watchbell.alerting.processor import Processor
from watchbell.alerting.processor import step as process
from watchbell.settings import Alerting as Settings
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys, tagged

KEYS = Alerting()
EVENTS = [KEYS.events(), StoreKeys().resting(tagged(KEYS.events()))]


def event(check: str, state: str = "ok", **more: Any) -> bytes:
    fields = {"entity": "web", "check": check, "type": "service", "state": state, **more}
    return msgspec.json.encode({"initial_failure_delay": 0, **fields})


async def next_events(store: Store) -> list[bytes]:
    await store.call("DEL", EVENTS[1])
    await priority.events(store.prefix, 0).lift(store, EVENTS, "RIGHT")
    found: list[bytes] = await store.call("LRANGE", KEYS.events(), 0, -1)
    return found[::-1]


async def goes_first(store: Store, one: bytes) -> bool:
    """Whether the processor takes it before a quiet report that came before it."""
    await submit_raw(store, [event("other"), one])
    first = (await next_events(store))[0]
    await store.call("DEL", KEYS.events())
    return first == one


async def test_a_check_that_turns_critical_goes_first_until_it_is_notified(store: Store) -> None:
    stage = Stage(store)
    assert await goes_first(store, event("http", "critical"))
    await stage.send("ok")
    assert await goes_first(store, event("http", "critical"))
    await stage.send("critical")  # held back by its delay
    assert await goes_first(store, event("http", "critical"))
    await stage.later(31).send("critical")
    assert not await goes_first(store, event("http", "critical"))
    await stage.send("ok")
    assert await goes_first(store, event("http", "critical"))


async def test_a_warning_that_was_notified_does_not_hide_that_it_turned_critical(
    store: Store,
) -> None:
    stage = Stage(store)
    await stage.send("warning", initial_failure_delay=0)
    assert not await goes_first(store, event("http", "warning"))
    assert await goes_first(store, event("http", "critical"))
    assert await goes_first(store, event("disk", "warning"))  # nobody was notified of that one


@pytest.mark.parametrize(
    "quiet",
    [
        event("http"),
        event("http", "acknowledgement", type="action"),
        event("http", "critical", type="action"),
        event("http", summary="critical"),
        b'{"state": "critical"}',
        b'{"state": "critical", "type": "service", "entity": 5, "check": "http"}',
    ],
)
async def test_anything_else_waits_for_its_turn(store: Store, quiet: bytes) -> None:
    assert not await goes_first(store, quiet)


async def test_what_maintenance_holds_back_waits_for_its_turn(store: Store) -> None:
    await create_scheduled(store, "web:http", START, 600, "", START)
    assert not await goes_first(store, event("http", "critical"))


async def test_the_processor_takes_a_new_critical_next_and_what_came_before_it_first(
    store: Store,
) -> None:
    processor = Processor(store, Settings(), os.getpid())
    backlog = [event(f"c{n % 900}", "warning" if n % 10 == 0 else "ok") for n in range(5_000)]
    await submit_raw(store, backlog)
    await process(processor, START)
    await submit_raw(store, [event("c7", "critical", summary="it burns")])
    await process(processor, START)
    check = await store.call("HMGET", KEYS.current("web", "c7"), "state", "summary")
    assert check == [b"critical", b"it burns"]
    assert await store.call("LLEN", KEYS.events()) > 2_900
    while await process(processor, START):
        pass
    states = await store.call("LRANGE", KEYS.states("web", "c7"), 0, -1)
    assert len(states) == 2  # well, then critical: no older report came after it
    assert await store.call("HGET", KEYS.counters(), "all") == b"5001"


def notification(number: int, state: str = "warning", kind: str = "problem") -> bytes:
    severity = "warning" if state == "ok" else state
    return msgspec.json.encode(
        Notification(
            event_id=f"web:c{number}",
            state=state,  # type: ignore[arg-type]
            type=kind,  # type: ignore[arg-type]
            severity=severity,  # type: ignore[arg-type]
            count=number,
        )
    )


async def test_the_notifier_gives_a_batch_back_for_a_new_critical(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifiers, "_MOST_ALERTS", 10)
    stage = Stage(store)
    await stage.contact("alice", "email")
    notifier = Notifier(store, Settings())
    notifier.piece = 5
    queue, mails = KEYS.notifications(), KEYS.queue("email")
    await store.call("RPUSH", queue, *(notification(n) for n in range(100)))
    await notify(notifier, START)
    assert await store.call("LLEN", mails) == 10
    assert await store.call("LLEN", queue) == 90
    urgent = [notification(50, "ok", "recovery"), notification(50, "critical")]
    await store.call("RPUSH", queue, *urgent)
    await notify(notifier, START)
    alerts = [msgspec.json.decode(raw) for raw in await store.call("LRANGE", mails, 10, 12)]
    found = [(one["event_id"], one["notification_type"], one["state"]) for one in alerts]
    assert found == [
        ("web:c50", "problem", "warning"),
        ("web:c50", "recovery", "ok"),
        ("web:c50", "problem", "critical"),
    ]
    while await notify(notifier, START):
        pass
    sent = [msgspec.json.decode(raw) for raw in await store.call("LRANGE", mails, 0, -1)]
    assert len(sent) == 102
    assert {one["event_id"] for one in sent} == {f"web:c{n}" for n in range(100)}
