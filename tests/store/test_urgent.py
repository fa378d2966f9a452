"""What is urgent goes to the front of a long queue, behind all earlier items of its key."""

import json
from collections import Counter
from typing import Literal

import hypothesis
import pytest
from hypothesis import strategies as st

from tests import servers
from tests.families import keys
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys, tagged
from watchbell.store.queue import Queue, Taker
from watchbell.store.urgent import Urgency, spellings

KEY = keys.queue("work")
RESTING = StoreKeys().resting(tagged(KEY))
ORDER = ("entity", "check")
Side = Literal["LEFT", "RIGHT"]

RANK = """
local state = string.lower(object.state or '')
return state == 'critical' and 2 or state == 'warning' and 1 or 0
"""


def urgent(front: int = 0) -> Urgency:
    return Urgency(
        RANK,
        first=spellings("critical"),
        soon=spellings("warning", "unknown"),
        order_by=ORDER,
        front=front,
    )


def item(check: str, state: str = "ok", n: int = 0, entity: str = "web") -> bytes:
    fields = {"entity": entity, "check": check, "state": state, "n": n}
    return json.dumps(fields).encode()


async def push(store: Store, items: list[bytes], side: Side = "RIGHT") -> None:
    if items:
        await store.call("LPUSH" if side == "RIGHT" else "RPUSH", KEY, *items)


async def waiting(store: Store, side: Side = "RIGHT") -> list[bytes]:
    """The next to be taken first."""
    items: list[bytes] = await store.call("LRANGE", KEY, 0, -1)
    return items[::-1] if side == "RIGHT" else items


async def lifted(store: Store, side: Side = "RIGHT", front: int = 0) -> int:
    await store.call("DEL", RESTING)
    return await urgent(front).lift(store, [KEY, RESTING], side)


@pytest.mark.parametrize("side", ["LEFT", "RIGHT"])
async def test_what_is_urgent_goes_first_with_all_that_came_before_it_of_its_key(
    any_store: Store, side: Side
) -> None:
    before = [item("a", n=1), item("b", n=2), item("c", "ok", 3), item("b", "CRITICAL", 4)]
    after = [item("a", n=5), item("b", "ok", 6), item("c", "critical", 7), item("d", n=8)]
    all_items = [*before, *after]
    await push(any_store, all_items, side)
    assert await lifted(any_store, side) == 4
    numbers = [json.loads(one)["n"] for one in await waiting(any_store, side)]
    assert numbers == [2, 3, 4, 7, 1, 5, 6, 8]


async def test_names_that_differ_in_case_are_one_key(store: Store) -> None:
    await push(store, [item("a", n=1), item("x", n=2, entity="Web"), item("x", "critical", 3)])
    assert await lifted(store) == 2
    assert [json.loads(one)["n"] for one in await waiting(store)] == [2, 3, 1]


async def test_names_with_quotes_and_other_letters_are_found_in_any_spelling(store: Store) -> None:
    odd = 'w"e\\b é'
    escaped = json.dumps({"entity": odd, "check": "c", "state": "ok", "n": 2}).encode()
    bare = json.dumps(
        {"n": 3, "state": "critical", "check": "c", "entity": odd}, ensure_ascii=False
    ).encode()
    await push(store, [item("c", n=1), escaped, bare])
    assert await lifted(store) == 2
    assert await waiting(store) == [escaped, bare, item("c", n=1)]


async def test_what_goes_soon_does_so_only_where_it_is_the_exception(store: Store) -> None:
    await push(store, [*(item(f"c{n}") for n in range(50)), item("w", "warning"), item("o")])
    assert await lifted(store) == 1
    assert (await waiting(store))[0] == item("w", "warning")
    await store.call("DEL", KEY)
    many = [item(f"c{n}", "warning") for n in range(300)]
    await push(store, [*many, item("x", "critical")])
    assert await lifted(store) == 1
    assert await waiting(store) == [item("x", "critical"), *many]


async def test_what_goes_first_goes_before_what_goes_soon(store: Store) -> None:
    await push(store, [item("a"), item("w", "warning"), item("x", "critical")])
    assert await lifted(store) == 2
    assert await waiting(store) == [item("x", "critical"), item("w", "warning"), item("a")]


async def test_what_is_taken_next_anyway_stays_but_is_not_overtaken_by_its_own(
    store: Store,
) -> None:
    await push(store, [item("a", n=1), item("x", "critical", 2), item("b", n=3)])
    assert await lifted(store, front=2) == 0
    await push(store, [item("x", "critical", 4)])
    assert await lifted(store, front=2) == 2
    assert [json.loads(one)["n"] for one in await waiting(store)] == [2, 4, 1, 3]


async def test_a_queue_rests_between_two_looks(store: Store) -> None:
    await push(store, [item("a"), item("x", "critical")])
    assert await lifted(store) == 1
    await push(store, [item("y", "critical")])
    assert await urgent().lift(store, [KEY, RESTING], "RIGHT") == 0
    assert 0 < await store.call("PTTL", RESTING) <= 1_000


async def test_only_so_many_items_are_looked_at(store: Store) -> None:
    await push(store, [item(f"c{n}") for n in range(100_000)])
    await push(store, [item("x", "critical")])
    assert await lifted(store) == 0
    await store.call("RPOP", KEY)
    assert await lifted(store) == 1
    assert await store.call("RPOP", KEY) == item("x", "critical")


async def test_an_item_that_names_its_key_twice_stops_nobody(store: Store) -> None:
    odd = b'{"entity": "a", "check": "c", "state": "critical", "entity": "b"}'
    await push(store, [item("a"), odd, item("c", "critical")])
    assert await lifted(store) == 1
    assert await waiting(store) == [item("c", "critical"), item("a"), odd]


async def test_what_drags_too_much_along_waits_for_its_turn(store: Store) -> None:
    await push(store, [item("o"), *(item("a", n=n) for n in range(2_000)), item("a", "critical")])
    assert await lifted(store) == 0
    await push(store, [item("b", "critical")])
    assert await lifted(store) == 1


async def test_where_all_is_urgent_nothing_is_moved(store: Store) -> None:
    await push(store, [item(f"c{n}", "critical") for n in range(50)])
    assert await lifted(store) == 0


async def test_what_is_no_json_is_left_alone(store: Store) -> None:
    odd = [b"critical", b"[" * 50_000 + b"critical", b'"critical"', b"\xff critical", b""]
    await push(store, [*odd, b'{"state": "critical"}', item("x", "critical")])
    assert await lifted(store) == 2
    assert sorted(await waiting(store)) == sorted(
        [*odd, b'{"state": "critical"}', item("x", "critical")]
    )


ITEMS = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from(["ok", "critical", "warning"])), max_size=40
)


@hypothesis.settings(max_examples=60)
@hypothesis.given(items=ITEMS, front=st.integers(0, 10), side=st.sampled_from(["LEFT", "RIGHT"]))
async def test_nothing_is_lost_or_doubled_and_order_within_a_key_is_kept(
    server: servers.Single, items: list[tuple[str, str]], front: int, side: Side
) -> None:
    async with Store(store_url.parse(server.url)) as store:
        await store.call("FLUSHALL")
        pushed = [item(check, state, n) for n, (check, state) in enumerate(items)]
        await push(store, pushed, side)
        await lifted(store, side, front)
        found = await waiting(store, side)
        assert Counter(found) == Counter(pushed)
        for check in "abcde":
            numbers = [
                fields["n"] for one in found if (fields := json.loads(one))["check"] == check
            ]
            assert numbers == sorted(numbers)
        await store.call("FLUSHALL")


async def test_a_taker_that_is_behind_takes_what_is_urgent_next(store: Store) -> None:
    taker = Taker(store, Queue(key=KEY, order_by=ORDER), most=2, urgent=urgent())
    await push(store, [item(f"c{n}") for n in range(20)])
    first = await taker.take()
    assert first is not None
    await taker.acknowledge(first)
    await push(store, [item("c7", "critical")])
    second = await taker.take()
    assert second is not None
    assert second.items == [item("c7"), item("c7", "critical")]
    await taker.release()


async def test_what_is_urgent_is_handed_to_the_taker_that_holds_its_key(store: Store) -> None:
    queue = Queue(key=KEY, order_by=ORDER)
    one, other = (Taker(store, queue, most=2, urgent=urgent()) for _ in range(2))
    await push(store, [item("a", n=1), item("b", n=2)])
    held = await one.take()
    assert held is not None
    await push(store, [*(item(f"c{n}") for n in range(9)), item("a", "critical", 3)])
    for _ in range(2):
        batch = await other.take()
        assert batch is not None
        assert item("a", "critical", 3) not in batch.items
        await other.acknowledge(batch)
    await one.acknowledge(held)
    mine = await one.take()
    assert mine is not None
    assert mine.items[0] == item("a", "critical", 3)
    await one.release()
    await other.release()
