"""Messages without an alert: queued once, sent, and their outcome kept for the caller."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec

from tests.families import keys
from tests.gateways import http_sink, smtp
from tests.gateways.http_media import LOOPBACK, opened
from tests.gateways.http_sink import Reply
from tests.gateways.post import Post, alert, hush
from tests.gateways.rendering import renderer
from tests.servers import HOST
from tests.waiting import eventually
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.errors import DeliveryFailed
from watchbell.gateways import failures, overview, sent_messages
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.medium import Medium
from watchbell.gateways.message import Message
from watchbell.gateways.outbox import Item
from watchbell.gateways.sent_messages import Outcome, send_later
from watchbell.settings import Delivery as Settings
from watchbell.store.client import Store

RECORD = keys.table("message 1")
NOW = 1_772_716_029


def mail(**fields: str) -> Message:
    given = {"id": "m1", "address": "alice@example.com", "subject": "Backup failed", **fields}
    return Message(**{"text": "exit code 1", **given})  # type: ignore[arg-type]


@asynccontextmanager
async def delivering(store: Store, name: str, medium: Medium) -> AsyncIterator[None]:
    render = medium.render_later if isinstance(medium, Post) else renderer(medium).message
    delivery = Delivery(store, name, medium, render, Settings(), SYSTEM, hush)
    task = asyncio.create_task(delivery.run())
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await medium.close()


async def reached(store: Store, state: str, record: str = RECORD) -> Outcome:
    """The outcome, once it is in this state."""

    async def found() -> Outcome | None:
        one = await sent_messages.outcome(store, record)
        return one if one is not None and one.state == state else None

    one = await eventually(found)
    assert one is not None
    return one


def test_an_outcome_is_a_sentence() -> None:
    known = "email", "alice@example.com", NOW
    assert str(Outcome("waiting", *known)) == "email to alice@example.com waiting"
    failed = Outcome("failed", *known, NOW + 1, "550 no such user")
    assert str(failed) == "email to alice@example.com failed: 550 no such user"


async def test_a_mail_without_an_alert_is_sent_and_its_record_says_so(store: Store) -> None:
    async with smtp.serving() as sink:
        address = {"host": HOST, "port": sink.port, "from_address": "w@example.com"}
        assert await sent_messages.outcome(store, RECORD) is None
        assert await send_later(store, "email", mail(html="<p>1</p>"), RECORD, NOW)
        waiting = await sent_messages.outcome(store, RECORD)
        assert waiting == Outcome("waiting", "email", "alice@example.com", NOW)
        async with delivering(store, "email", opened("email", **address)):
            sent = await reached(store, "sent")
    [got] = sink.mails
    assert got.recipients == ("alice@example.com",)
    assert got.message["Subject"] == "Backup failed"
    assert got.message["Message-ID"] == "<m1@example.com>"
    assert got.message["In-Reply-To"] is None
    assert got.part("plain").strip() == "exit code 1"
    assert (sent.address, sent.queued_at) == ("alice@example.com", NOW)
    assert sent.reason.startswith("250 ")
    (status,) = await overview.statuses(store, ["email"])
    assert (status.delivered, status.on_its_way) == (1, 0)


async def test_a_web_hook_posts_the_callers_json_or_the_text(store: Store) -> None:
    async with http_sink.running() as sink:
        address = f"{sink.url}/json"
        body = json.dumps({"job": "j1", "code": 1})
        medium = opened("webhook", allow_networks=LOOPBACK)
        async with delivering(store, "webhook", medium):
            await send_later(store, "webhook", mail(address=address, payload=body), RECORD, NOW)
            await reached(store, "sent")
            other = keys.table("message 2")
            await send_later(store, "webhook", mail(id="m2", address=address), other, NOW)
            await reached(store, "sent", other)
    given, made = sink.received
    assert given.json == {"job": "j1", "code": 1}
    assert made.json == {"id": "m2", "subject": "Backup failed", "text": "exit code 1"}
    assert sink.ids == ["m1", "m2"]


async def test_a_message_is_queued_once_however_often_it_is_asked_for(store: Store) -> None:
    post = Post()
    assert await send_later(store, "post", mail(), RECORD, NOW)
    assert not await send_later(store, "post", mail(), RECORD, NOW)
    async with delivering(store, "post", post):
        await reached(store, "sent")
        assert not await send_later(store, "post", mail(), RECORD, NOW)
        await send_later(store, "post", mail(id="m2"), keys.table("message 2"), NOW)
        await eventually(lambda: "m2" in post.ids)
        await reached(store, "sent", keys.table("message 2"))
    assert post.ids == ["m1", "m2"]


async def test_messages_on_one_topic_keep_their_order_beside_alerts(store: Store) -> None:
    post = Post()
    for number in range(20):
        message = mail(id=f"m{number}", topic="job backup")
        await send_later(store, "post", message, keys.table(f"message {number}"), NOW)
    queue = Alerting(store.prefix).queue("post")
    await store.call("RPUSH", queue, msgspec.json.encode(alert(1)))
    async with delivering(store, "post", post):
        await reached(store, "sent", keys.table("message 19"))
        await eventually(lambda: "a1" in post.ids)
    assert [one for one in post.ids if one != "a1"] == [f"m{number}" for number in range(20)]


async def test_what_keeps_failing_says_why_and_is_tried_again(store: Store) -> None:
    post = Post()
    post.refusals["alice@example.com"] = lambda: DeliveryFailed("451 greylisted", retry_after=0.01)
    await send_later(store, "post", mail(), RECORD, SYSTEM.now())
    async with delivering(store, "post", post):

        async def is_known() -> bool:
            one = await sent_messages.outcome(store, RECORD)
            return one is not None and (one.state, one.reason) == ("waiting", "451 greylisted")

        await eventually(is_known)
        post.refusals.clear()
        assert (await reached(store, "sent")).reason == "taken as m1"


async def test_a_message_that_is_refused_for_good_is_recorded_and_can_be_retried(
    store: Store,
) -> None:
    async with smtp.serving() as sink:
        address = {"host": HOST, "port": sink.port, "from_address": "w@example.com"}
        await send_later(store, "email", mail(address="nobody@example.com"), RECORD, SYSTEM.now())
        async with delivering(store, "email", opened("email", **address)):
            failed = await reached(store, "failed")
    assert "550" in failed.reason
    (item,) = await failures.every(store, "email")
    assert isinstance(item, Item)
    listed = failures.failure_of(item)
    assert (listed.id, listed.check, listed.state) == ("m1", "m1", "")
    assert await failures.retry(store, "email", [item], SYSTEM.now()) == 1
    again = await sent_messages.outcome(store, RECORD)
    assert again is not None
    assert (again.state, again.reason) == ("waiting", "")
    async with delivering(store, "email", Post()):
        assert (await reached(store, "sent")).reason == "taken as m1"


async def test_a_record_that_the_caller_removed_does_not_come_back(store: Store) -> None:
    post = Post()
    await send_later(store, "post", mail(), RECORD, NOW)
    await store.call("DEL", RECORD)
    async with delivering(store, "post", post):
        await eventually(lambda: post.ids == ["m1"])
    assert not await store.call("EXISTS", RECORD)


async def test_a_hook_that_is_away_for_a_moment_gets_the_same_message(store: Store) -> None:
    async with http_sink.running() as sink:
        sink.reply("/json", Reply(503, "later"), Reply(200, "ok"))
        medium = opened("webhook", allow_networks=LOOPBACK)
        await send_later(store, "webhook", mail(address=f"{sink.url}/json"), RECORD, SYSTEM.now())
        async with delivering(store, "webhook", medium):
            await reached(store, "sent")
    first, second = sink.received
    assert first.body == second.body
    assert sink.ids == ["m1", "m1"]
