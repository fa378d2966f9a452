"""From the queue to the server: in order, once, over failures, and recorded."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest

from tests.gateways.post import Post, alert, hush
from tests.waiting import eventually
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Alert
from watchbell.clock import SYSTEM, SetClock
from watchbell.errors import DeliveryFailed
from watchbell.gateways import outcomes, overview
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.keys import Gateways
from watchbell.gateways.medium import SendLimits
from watchbell.gateways.outbox import Item, Outbox, Unfit
from watchbell.settings import Delivery as Settings
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys, tagged

QUEUE = "post"


async def push(store: Store, *alerts: Alert | bytes) -> None:
    items = [one if isinstance(one, bytes) else msgspec.json.encode(one) for one in alerts]
    await store.call("RPUSH", Alerting(store.prefix).queue(QUEUE), *items)


async def admitted(store: Store, *alerts: Alert) -> None:
    """Alerts that are in their lanes already."""
    await push(store, *alerts)
    box = Outbox(store, QUEUE)
    batch = await box.taker.take()
    assert batch is not None
    await box.admit(batch, SYSTEM.now())


async def record(store: Store, one: Alert) -> None:
    """The record of an alert as the notifier leaves it."""
    key = Alerting(store.prefix).alert(one.id)
    await store.call("HSET", key, "address", one.address)
    await store.call("EXPIRE", key, 3_600)


@asynccontextmanager
async def delivering(store: Store, post: Post, **settings: Any) -> AsyncIterator[Delivery]:
    """The gateway at work; it is ended in order at the end of the body."""
    delivery = Delivery(store, QUEUE, post, post.render_later, Settings(**settings), SYSTEM, hush)
    task = asyncio.create_task(delivery.run())
    try:
        yield delivery
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def left(store: Store) -> tuple[int, int, int]:
    """What is queued, on its way, and failed."""
    medium_status = (await overview.statuses(store, [QUEUE]))[0]
    return medium_status.queued, medium_status.on_its_way, medium_status.failed


async def cleared(store: Store) -> bool:
    """Whether nothing is queued, in the hands of a taker, or on its way."""
    keys, takers = Gateways(store.prefix), StoreKeys()
    queue = tagged(Alerting(store.prefix).queue(QUEUE))
    if await store.call("LLEN", Alerting(store.prefix).queue(QUEUE)):
        return False
    for taker in await store.call("ZRANGE", takers.takers(queue), 0, -1):
        if await store.call("LLEN", takers.taken(queue, taker.decode())):
            return False
    return not await store.call("EXISTS", keys.lanes(QUEUE))


def refusing(**how: Any) -> Callable[[], DeliveryFailed]:
    return lambda: DeliveryFailed("451 greylisted", **how)


async def test_alerts_arrive_and_their_records_say_when_and_what_was_answered(
    store: Store,
) -> None:
    one = alert(1)
    before = int(SYSTEM.now())
    await record(store, one)
    await push(store, one)
    post = Post()
    async with delivering(store, post):
        await eventually(lambda: cleared(store))
    assert [(letter.id, letter.text) for letter in post.letters] == [("a1", "number 1")]
    fields = await store.call("HGETALL", Alerting(store.prefix).alert("a1"))
    assert fields[b"answer"] == b"taken as a1"
    assert fields[b"subject"] == b"about web-1:HTTP"
    assert fields[b"body"] == b"number 1"
    assert fields[b"tries"] == b"1"
    assert before <= int(fields[b"delivered_at"]) <= SYSTEM.now()
    medium_status = (await overview.statuses(store, [QUEUE]))[0]
    assert (medium_status.delivered, medium_status.last_answer, medium_status.last_error) == (
        1,
        "taken as a1",
        "",
    )


async def test_an_alert_that_a_server_took_is_not_sent_again(store: Store) -> None:
    one = alert(1)
    await record(store, one)
    await push(store, one, one)
    post = Post()
    async with delivering(store, post):
        await eventually(lambda: cleared(store))
        await push(store, one, alert(2))
        await eventually(lambda: "a2" in post.ids)
        await eventually(lambda: cleared(store))
    assert post.ids == ["a1", "a2"]


async def test_about_one_check_an_address_hears_in_order_and_others_at_the_same_time(
    store: Store,
) -> None:
    several = [
        alert(n, f"{n % 5}@example.com", f"check {n % 3}", summary=str(n)) for n in range(300)
    ]
    await push(store, *several)
    post = Post(SendLimits(concurrency=20, per_address=3))
    async with delivering(store, post):
        await eventually(lambda: cleared(store))
    assert sorted(post.ids) == sorted(one.id for one in several)
    for address in range(5):
        for check in range(3):
            numbers = [
                int(letter.text)
                for letter in post.letters
                if letter.address.startswith(str(address)) and int(letter.text) % 3 == check
            ]
            assert numbers == sorted(numbers)
    assert 3 < post.most_at_once <= 20


async def test_an_address_that_hangs_delays_no_other(store: Store) -> None:
    await push(store, *(alert(n, f"{n % 4}@example.com", f"c{n}") for n in range(100)))
    post = Post(SendLimits(concurrency=4))
    post.slow["0@example.com"] = asyncio.Event()
    async with delivering(store, post):
        await eventually(lambda: len(post.letters) == 75)
        assert not any(letter.address == "0@example.com" for letter in post.letters)
        post.slow["0@example.com"].set()
        await eventually(lambda: cleared(store))
    assert len(set(post.ids)) == 100


@pytest.mark.parametrize(
    ("medium_status", "level", "words"),
    [
        ({"delivered": 5, "last_success": 900}, "ok", "running"),
        (
            {"given_up": 379, "failed": 379, "failed_since_success": 379, "last_error": "refused"},
            "critical",
            "failing: gave up 379 alerts and delivered none: refused",
        ),
        (
            {"delivered": 5, "failed": 9, "failed_since_success": 3},
            "critical",
            "failing: gave up 3 alerts since the last delivery",
        ),
        (
            {"delivered": 5, "last_success": 900, "last_failure": 950, "failed_since_success": 1},
            "warning",
            "the last message failed",
        ),
        ({"delivered": 5, "failed": 1}, "warning", "gave up 1 alert that can be sent again"),
        (
            {"state": "the server is away; asked again in 4 s"},
            "critical",
            "the server is away; asked again in 4 s",
        ),
        ({"seen": 900, "queued": 2}, "critical", "not running; 2 alerts waiting"),
        ({"seen": 900}, "none", "not running"),
    ],
)
def test_a_gateway_that_does_not_deliver_is_failing(
    medium_status: dict[str, Any], level: str, words: str
) -> None:
    usual = {"medium": "email", "queued": 0, "on_its_way": 0, "failed": 0, "state": "5 delivered"}
    health = overview.health(
        overview.MediumStatus(**{**usual, "seen": 1_000, **medium_status}), 1_000
    )
    assert (health.level, health.words) == (level, words)


async def test_what_was_given_up_since_the_last_delivery_is_counted(store: Store) -> None:
    keys = Gateways(store.prefix)
    await store.call("ZADD", keys.failed("email"), 10, "a", 20, "b", 30, "c")
    (never,) = await overview.statuses(store, ["email"])
    await store.call("HSET", keys.status("email"), "last_success", 20)
    (since,) = await overview.statuses(store, ["email"])
    await store.call("DEL", keys.failed("email"), keys.status("email"))
    assert (never.failed_since_success, since.failed_since_success) == (3, 1)


@pytest.mark.parametrize(
    ("state", "seen", "words"),
    [
        ("17 delivered", 1_000, "running"),
        ("the server is away; asked again in 4 s", 1_000, "the server is away; asked again in 4 s"),
        ("17 delivered", 1_000 - overview.ALIVE, "not running"),
        ("", 0, "not running"),
    ],
)
def test_a_gateway_is_told_in_words(state: str, seen: int, words: str) -> None:
    medium_status = overview.MediumStatus(
        medium="email", queued=0, on_its_way=0, failed=0, state=state, seen=seen
    )
    assert overview.health(medium_status, 1_000).words == words


async def test_a_passing_failure_is_tried_again_and_nothing_overtakes_it(store: Store) -> None:
    post = Post()
    post.refusals["alice@example.com"] = lambda: (
        DeliveryFailed("451 later", retry_after=0.01) if len(post.tried) < 3 else None
    )
    await push(store, alert(1, summary="problem"), alert(2, summary="recovery"))
    async with delivering(store, post):
        await eventually(lambda: cleared(store), 30)
    assert post.ids == ["a1", "a2"]
    assert post.tried[:3] == ["a1", "a1", "a1"]


async def test_while_it_waits_the_outbox_says_why_and_when(store: Store) -> None:
    post = Post()
    post.refusals["alice@example.com"] = refusing(retry_after=1_000)
    await push(store, alert(1))
    async with delivering(store, post):
        await eventually(lambda: len(post.tried) == 1)

        async def item() -> Item | None:
            raw = await store.call("HGET", Gateways(store.prefix).outbox(QUEUE), "a1")
            found = msgspec.json.decode(raw, type=Item)
            return found if found.tries else None

        waiting = await eventually(item)
    assert waiting is not None
    assert (waiting.tries, waiting.error) == (1, "451 greylisted")
    assert 900 < waiting.due - SYSTEM.now() <= 1_000
    medium_status = (await overview.statuses(store, [QUEUE]))[0]
    assert (medium_status.on_its_way, medium_status.last_error) == (1, "451 greylisted")


async def events(store: Store) -> list[dict[str, Any]]:
    raw = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    return [msgspec.json.decode(one) for one in reversed(raw)]


async def test_a_permanent_failure_is_put_aside_told_and_can_be_sent_again(store: Store) -> None:
    post = Post()
    post.refusals["alice@example.com"] = refusing(permanent=True)
    await record(store, alert(1))
    await push(store, alert(1), alert(2, "bob@example.com"))
    async with delivering(store, post):
        await eventually(lambda: cleared(store))
        assert post.ids == ["a2"]
        found = await overview.failed(store, QUEUE, 0, 10)
        assert [(one.id, one.tries, one.error) for one in items(found)] == [
            ("a1", 1, "451 greylisted")
        ]
        told = await events(store)
        assert (told[0]["entity"], told[0]["check"]) == ("watchbell", "gateway post")
        assert (told[0]["state"], told[0]["initial_failure_delay"]) == ("critical", 0)
        assert told[0]["summary"] == "given up after 1 try: web-1:HTTP: 451 greylisted"
        failed_at = await store.call("HGET", Alerting(store.prefix).alert("a1"), "failed_at")
        assert failed_at is not None

        del post.refusals["alice@example.com"]
        assert await outcomes.retry(store, QUEUE, items(found), SYSTEM.now()) == 1
        await eventually(lambda: "a1" in post.ids)
        await eventually(lambda: cleared(store))
    assert await left(store) == (0, 0, 0)
    assert [one["state"] for one in await events(store)][-1] == "ok"


def items(found: list[Item | Unfit]) -> list[Item]:
    return [one for one in found if isinstance(one, Item)]


async def test_an_alert_about_the_gateway_itself_raises_no_further_one(store: Store) -> None:
    post = Post()
    post.refusals["alice@example.com"] = refusing(permanent=True)
    await push(store, alert(1, event_id="watchbell:gateway post"))
    async with delivering(store, post):
        await eventually(lambda: cleared(store))
    assert await events(store) == []
    assert await left(store) == (0, 0, 1)


async def test_after_the_set_hours_an_alert_is_given_up(store: Store) -> None:
    clock = SetClock(1_700_000_000)
    post = Post()
    post.refusals["alice@example.com"] = refusing(retry_after=0.001)
    await push(store, alert(1))
    chosen = Settings(give_up_hours=1)
    delivery = Delivery(store, QUEUE, post, post.render_later, chosen, clock, hush)
    task = asyncio.create_task(delivery.run())
    try:
        await eventually(lambda: len(post.tried) == 1)
        clock.set(1_700_000_000 + 3_601)
        await eventually(lambda: cleared(store), 20)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert await left(store) == (0, 0, 1)
    assert post.ids == []


async def test_a_dead_server_is_left_alone_and_asked_with_one_message(store: Store) -> None:
    post = Post(SendLimits(concurrency=8))
    away = True
    for n in range(40):
        post.refusals[f"{n}@example.com"] = lambda: (
            DeliveryFailed("connection refused", unreachable=True) if away else None
        )
    await push(store, *(alert(n, f"{n}@example.com") for n in range(40)))
    async with delivering(store, post) as delivery:
        await eventually(lambda: delivery._sender.circuit.until > 0)
        assert len(post.tried) <= 5 + 8
        tried = len(post.tried)
        away = False
        await eventually(lambda: len(post.letters) > 0, 20)
        assert post.tried[tried] == post.ids[0]
        await eventually(lambda: cleared(store), 20)
    assert len(set(post.ids)) == len(post.ids) == 40


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"x":' * 100_000,
        b'{"state": "critical"}',
        msgspec.json.encode(alert(9)).replace(b'"critical"', b'"sad"'),
        msgspec.json.encode(alert(9)).replace(b'"state_duration":null', b'"state_duration":-1'),
        msgspec.json.encode(alert(9)).replace(
            b'"rollup_alerts":{}', b'"rollup_alerts":{"a:b":{"state":"ok"}}'
        ),
    ],
)
async def test_what_is_no_alert_is_put_aside_with_its_reason(store: Store, raw: bytes) -> None:
    post = Post()
    await push(store, raw, alert(1))
    async with delivering(store, post):
        await eventually(lambda: cleared(store))
    assert post.ids == ["a1"]
    (found,) = await overview.failed(store, QUEUE, 0, 10)
    assert isinstance(found, Unfit)
    assert found.error.startswith("this is no alert: ")
    assert found.raw == raw[:4_000].decode(errors="replace")


async def test_another_programs_alert_with_the_fewest_fields_is_delivered(store: Store) -> None:
    least = {"address": "alice@example.com", "event_id": "web:http", "state": "critical"}
    nulls = dict.fromkeys(("id", "media", "tags", "event_count", "rollup_alerts"))
    full = {**msgspec.to_builtins(alert(1)), **nulls, "contact_last_name": None, "extra": 1}
    post = Post()
    await push(store, *map(msgspec.json.encode, (full, {**least, "summary": "number 2"})))
    async with delivering(store, post):
        await eventually(lambda: cleared(store))
    assert sorted(letter.text for letter in post.letters) == ["number 1", "number 2"]
    assert [len(one) for one in post.ids] == [32, 32]


async def test_a_gateway_that_stops_finishes_what_it_has_in_hand(store: Store) -> None:
    post = Post()
    post.slow["alice@example.com"] = asyncio.Event()
    await push(store, alert(1), alert(2))
    async with delivering(store, post):
        await eventually(lambda: post.tried == ["a1"])
        asyncio.get_running_loop().call_later(0.05, post.slow["alice@example.com"].set)
    assert post.ids == ["a1"]
    assert (await left(store))[1] == 1
    async with delivering(store, post):
        await eventually(lambda: cleared(store))
    assert post.ids == ["a1", "a2"]


async def test_two_gateways_share_the_work_and_double_nothing(store: Store) -> None:
    posts = [Post(SendLimits(concurrency=3)), Post(SendLimits(concurrency=3))]
    await push(store, *(alert(n, f"{n % 40}@example.com", f"c{n % 7}") for n in range(400)))
    async with delivering(store, posts[0]), delivering(store, posts[1]):
        await eventually(lambda: cleared(store))
    assert len(posts[0].letters) + len(posts[1].letters) == 400
    assert len({*posts[0].ids, *posts[1].ids}) == 400


async def test_the_rate_to_an_address_is_kept_and_others_go_on(store: Store) -> None:
    post = Post(SendLimits(address_rate=60))
    await push(store, *(alert(n, check=f"c{n}") for n in range(3)))
    await push(store, *(alert(10 + n, f"{n}@example.com") for n in range(20)))
    async with delivering(store, post):
        await eventually(lambda: len(post.letters) >= 21)
        assert [one.address for one in post.letters].count("alice@example.com") == 1
        await eventually(lambda: cleared(store))
    assert len(post.letters) == 23


async def test_a_bug_over_one_alert_is_told_and_stops_no_other(store: Store) -> None:
    class Clumsy(Post):
        def render(self, alert: Alert) -> Any:
            if alert.id == "a1":
                raise ZeroDivisionError("oops")
            return super().render(alert)

    post = Clumsy()
    await push(store, alert(1), alert(2, "bob@example.com"))
    async with delivering(store, post):
        await eventually(lambda: post.ids == ["a2"])

        async def reason() -> bool:
            raw = await store.call("HGET", Gateways(store.prefix).outbox(QUEUE), "a1")
            return b"ZeroDivisionError" in raw

        await eventually(reason)


@pytest.mark.parametrize("damage", ["no json", "{}", '{"alert": 5, "since": 1}', "[" * 5_000])
async def test_a_damaged_entry_of_the_outbox_is_put_aside_and_stops_no_other(
    store: Store, damage: str
) -> None:
    post = Post()
    await admitted(store, alert(1), alert(2), alert(3, check="DNS"))
    await store.call("HSET", Gateways(store.prefix).outbox(QUEUE), "a1", damage)
    async with delivering(store, post):
        await eventually(lambda: len(post.letters) == 2)

        async def is_settled() -> bool:
            return await left(store) == (0, 0, 1)

        await eventually(is_settled)
    assert sorted(one.id for one in post.letters) == ["a2", "a3"]
    (parked,) = await overview.failed(store, QUEUE, 0, 10)
    assert isinstance(parked, Unfit)
    assert parked.error.startswith("this is no alert")
    assert damage.startswith(parked.raw[:100])
