"""Live channels on every kind of store."""

import asyncio
from contextlib import aclosing

from tests import servers
from tests.faults.proxy import Mode, Proxy
from tests.waiting import eventually
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.live import Gap, Message, listen

CHANNEL = "test:channel"


async def heard(store: Store, channel: str) -> int:
    """How many listeners the channel has, on all servers."""
    answers = [await p.call("PUBSUB", "NUMSUB", channel) for p in await store.primaries()]
    return sum(int(dict(zip(a[::2], a[1::2], strict=True))[channel.encode()]) for a in answers)


async def test_messages_arrive_in_order_whatever_their_bytes(any_store: Store) -> None:
    bodies = [b"one", b"\xff\xfe\0", b"", "grüße".encode(), b"x" * 1_000_000]
    async with aclosing(listen(any_store, CHANNEL, "test:other")) as messages:
        assert isinstance(await anext(messages), Gap)
        for body in bodies:
            await any_store.call("PUBLISH", CHANNEL, body)
        assert [await anext(messages) for _ in bodies] == [Message(CHANNEL, b) for b in bodies]


async def test_a_cut_connection_is_told_and_healed(any_store: Store) -> None:
    async with aclosing(listen(any_store, CHANNEL)) as messages:
        assert isinstance(await anext(messages), Gap)
        for primary in await any_store.primaries():
            await primary.call("CLIENT", "KILL", "TYPE", "pubsub")
        async with asyncio.timeout(60):
            assert isinstance(await anext(messages), Gap)
        await any_store.call("PUBLISH", CHANNEL, "back")
        assert await anext(messages) == Message(CHANNEL, b"back")


async def test_a_listener_that_stops_leaves_nothing_behind(any_store: Store) -> None:
    async with aclosing(listen(any_store, CHANNEL)) as messages:
        assert isinstance(await anext(messages), Gap)

    async def nobody_listens() -> bool:
        return await heard(any_store, CHANNEL) == 0

    await eventually(nobody_listens)


async def test_a_connection_that_died_in_silence_is_noticed_and_healed(
    server: servers.Single, store: Store
) -> None:
    with Proxy((servers.HOST, server.server.port)) as proxy:
        async with (
            Store(store_url.parse(proxy.url)) as far,
            aclosing(listen(far, CHANNEL, quiet=1.0)) as messages,
        ):
            assert isinstance(await anext(messages), Gap)
            before = proxy.connections
            proxy.set(Mode.STALL)
            async with asyncio.TaskGroup() as group:
                again = group.create_task(anext(messages))
                await eventually(lambda: proxy.connections > before, why="it subscribes again")
                proxy.set(Mode.PASS)
            assert isinstance(again.result(), Gap)
            await store.call("PUBLISH", CHANNEL, "back")
            assert await anext(messages) == Message(CHANNEL, b"back")
