"""Servers of strangers that hang, trickle, flood and mislead: they cost others nothing."""

import asyncio
from collections import Counter
from contextlib import suppress

import msgspec

from tests.gateways.http_media import LOOPBACK, opened, problem
from tests.gateways.http_sink import bomb, running
from tests.gateways.rendering import renderer
from tests.waiting import eventually
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.gateways import overview
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.outbox import Item
from watchbell.settings import Delivery as Settings
from watchbell.store.client import Store

TAKEN = ("big", "bomb", "trickle", "half")
"""They say that they took it before they do what they do."""
PASSING = ("hang", "close", "garbage", "status/500", "status/429?after=60", "trickle?status=503")
HOPELESS = (
    *("loop", "status/404", "to/307?url=http://169.254.169.254/", "to/302?url=file:///etc/passwd"),
    *("hops/4", "big?status=400", "bomb?status=400"),
)
GOOD = 40


async def test_hostile_servers_keep_nobody_else_waiting(store: Store) -> None:
    medium = opened("webhook", allow_networks=LOOPBACK, timeout=4, concurrency=20)
    bomb()  # takes its time, once
    async with running() as bad, running() as good:
        hostile = [
            problem(f"{bad.url}/fault/{fault}", id=fault, media="webhook")
            for fault in (*TAKEN, *PASSING, *HOPELESS)
        ]
        others = [
            problem(f"{good.url}/hook/{n}", id=f"good {n}", media="webhook") for n in range(GOOD)
        ]
        key = Alerting(store.prefix).queue("webhook")
        await store.call("RPUSH", key, *map(msgspec.json.encode, [*hostile, *others]))
        said: list[str] = []
        delivery = Delivery(
            store, "webhook", medium, renderer(medium).message, Settings(), SYSTEM, said.append
        )
        task = asyncio.create_task(delivery.run())
        try:
            await eventually(lambda: len(good.received) == GOOD, 20)

            async def is_settled() -> bool:
                (medium_status,) = await overview.statuses(store, ["webhook"])
                settled = (medium_status.delivered, medium_status.failed, medium_status.on_its_way)
                return settled == (GOOD + len(TAKEN), len(HOPELESS), len(PASSING))

            await eventually(is_settled, 30)
            assert not task.done()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await medium.close()
        assert Counter(good.ids) == Counter(one.id for one in others)
        failed = await overview.failed(store, "webhook", 0, 100)
        reasons = {one.id: one.error for one in failed if isinstance(one, Item)}
        assert set(reasons) == set(HOPELESS)
        assert all(len(reason) < 300 and reason.isprintable() for reason in reasons.values())
