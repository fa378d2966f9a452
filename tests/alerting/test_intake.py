"""The way in: what is pushed, in which order, and what is refused before it is."""

import json

import pytest

from watchbell.alerting import intake
from watchbell.alerting.event import acknowledge, encode, parse
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import CheckEvent
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.store.client import Store


def event(number: int) -> CheckEvent:
    return CheckEvent(type="service", state="ok", entity="web-1", check=f"check {number}", time=1)


async def waiting(store: Store) -> list[bytes]:
    """What is in the queue, the next to be taken first."""
    items: list[bytes] = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    return items[::-1]


async def test_events_wait_in_the_order_in_which_they_were_submitted(store: Store) -> None:
    await intake.submit(store, event(1), event(2))
    await intake.submit(store, event(3))
    assert [parse(item, 0) for item in await waiting(store)] == [event(1), event(2), event(3)]


async def test_thousands_at_once_keep_their_order(store: Store) -> None:
    many = [event(number) for number in range(2_500)]
    await intake.submit(store, *many)
    assert await waiting(store) == [encode(one) for one in many]


async def test_large_ones_are_pushed_too(store: Store) -> None:
    items = [bytes([number]) * (3 << 20) for number in range(3)]
    await intake.submit_raw(store, items)
    assert await waiting(store) == items


async def test_what_is_submitted_is_normal_and_has_a_time(store: Store) -> None:
    before = int(SYSTEM.now())
    await intake.submit(store, acknowledge("Web-1", "HTTP", summary=" "))
    (item,) = await waiting(store)
    fields = json.loads(item)
    assert before <= fields.pop("time") <= SYSTEM.now()
    assert fields == {
        "type": "action",
        "state": "acknowledgement",
        "entity": "web-1",
        "check": "HTTP",
    }


async def test_an_invalid_event_is_refused_and_none_is_pushed(store: Store) -> None:
    wrong = CheckEvent(type="service", state="ok", entity="web:1", check="HTTP")
    with pytest.raises(Refused, match="entity is 'web:1'; expected a name without a colon"):
        await intake.submit(store, event(1), wrong)
    assert await waiting(store) == []


async def test_raw_items_are_pushed_byte_for_byte(store: Store) -> None:
    await intake.submit_raw(store, [b"\xff\x00", b"", b"{}"])
    assert await waiting(store) == [b"\xff\x00", b"", b"{}"]


async def test_nothing_is_pushed_where_there_is_nothing(store: Store) -> None:
    await intake.submit_raw(store, [])
    assert await waiting(store) == []
