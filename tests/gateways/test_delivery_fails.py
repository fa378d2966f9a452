"""A task of a gateway that fails ends the role's run with its error, and the supervisor's next run
goes on where that one stopped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ResponseError

from tests.gateways.post import Post, alert, hush
from tests.gateways.test_delivery import QUEUE, cleared, push, record, refusing
from tests.waiting import eventually
from watchbell import settings
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Alert
from watchbell.clock import SYSTEM
from watchbell.gateways import overview
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.keys import Gateways
from watchbell.gateways.message import Message
from watchbell.roles.role import Context, Role
from watchbell.roles.supervisor import Supervisor
from watchbell.settings import Delivery as Settings
from watchbell.store.client import Store


def delivery(store: Store, post: Post) -> Delivery:
    return Delivery(store, QUEUE, post, post.render_later, Settings(), SYSTEM, hush)


@asynccontextmanager
async def supervised(store: Store, post: Post) -> AsyncIterator[Supervisor]:
    async def deliver(context: Context) -> None:
        await delivery(context.store, post).run()

    roles = [Role("gateway post", "delivers letters", deliver)]
    supervisor = Supervisor(
        roles, settings.Settings(data=Path("/nonexistent")), store, first_pause=0.01
    )
    task = asyncio.create_task(supervisor.run())
    try:
        yield supervisor
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_a_writer_that_fails_ends_the_run_with_its_error(store: Store) -> None:
    failures = Gateways(store.prefix).failures(QUEUE)
    await store.call("SET", failures, "x")
    post = Post()
    post.refusals["alice@example.com"] = refusing(permanent=True)
    post.slow["bob@example.com"] = asyncio.Event()  # a lane that is at work when it happens
    await push(store, alert(2, "bob@example.com"), alert(1))
    with pytest.raises(ExceptionGroup) as failed:
        await delivery(store, post).run()
    assert failed.group_contains(ResponseError, match="WRONGTYPE")
    await store.call("DEL", failures)
    post.slow.clear()
    async with supervised(store, post):
        await eventually(lambda: cleared(store))
    assert post.ids == ["a2"]
    assert len(await overview.failed(store, QUEUE, 0, 9)) == 1  # what could not be noted is kept


async def test_a_lane_that_fails_ends_the_run_with_its_error(store: Store) -> None:
    class Wordless(Post):
        def render(self, alert: Alert) -> Message:
            text: Any = None
            return Message(id=alert.id, address=alert.address, text=text)

    await push(store, alert(1), alert(2, "bob@example.com"))
    with pytest.raises(ExceptionGroup) as failed:
        await delivery(store, Wordless()).run()
    assert failed.group_contains(TypeError)
    assert not await store.call("EXISTS", Gateways(store.prefix).claims(QUEUE))


async def test_a_loop_that_fails_ends_the_run_and_what_is_under_way_is_recorded(
    store: Store,
) -> None:
    class Inattentive(Post):
        async def attend(self, store: Store) -> None:
            await eventually(lambda: self.tried)
            asyncio.get_running_loop().call_soon(self.slow["alice@example.com"].set)
            raise ZeroDivisionError(f"oops, {store}")

    post = Inattentive()
    post.slow["alice@example.com"] = asyncio.Event()
    await push(store, alert(1))
    with pytest.raises(ExceptionGroup) as failed:
        await delivery(store, post).run()
    assert failed.group_contains(ZeroDivisionError)
    assert post.ids == ["a1"]
    assert await cleared(store)


async def test_a_status_that_another_program_overwrote_stops_no_alert_for_good(
    store: Store,
) -> None:
    post, status = Post(), Gateways(store.prefix).status(QUEUE)
    async with supervised(store, post) as supervisor:
        role = supervisor.statuses[0]
        await eventually(lambda: store.call("EXISTS", status))
        await store.call("DEL", status)
        await store.call("SET", status, "x")
        await record(store, alert(1))
        await push(store, alert(1), alert(2, "bob@example.com"))
        await eventually(lambda: sorted(post.ids) == ["a1", "a2"])
        key = Alerting(store.prefix).alert("a1")
        await eventually(lambda: store.call("HEXISTS", key, "delivered_at"))
        await eventually(lambda: "WRONGTYPE" in role.words and role.failures)
        await store.call("DEL", status)
        await push(store, alert(3))
        await eventually(lambda: "a3" in post.ids)
        await eventually(lambda: cleared(store))
    assert sorted(post.ids) == ["a1", "a2", "a3"]
