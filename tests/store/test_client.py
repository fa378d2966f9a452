"""Commands, scripts and prefixes on every kind of store."""

import asyncio
from pathlib import Path

import pytest
from redis.exceptions import ResponseError

from tests import servers
from tests.families import keys
from watchbell.errors import StoreUnavailable
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.script import Script

ECHO = Script("return {KEYS[1], ARGV[1]}")


async def test_what_is_written_is_read_back_whatever_its_bytes(any_store: Store) -> None:
    for value in ("grüße\n\0", b"\xff\xfe\0\r\n", b""):
        await any_store.call("SET", keys.text("a"), value)
        expected = value.encode() if isinstance(value, str) else value
        assert await any_store.call("GET", keys.text("a")) == expected


async def test_a_script_is_sent_again_after_the_store_forgot_it(any_store: Store) -> None:
    for _ in range(2):
        assert await ECHO(any_store, ["k"], ["v"]) == [b"k", b"v"]
        for primary in await any_store.primaries():
            await primary.call("SCRIPT", "FLUSH")


async def test_an_error_of_a_command_is_not_an_absence_of_the_store(any_store: Store) -> None:
    await any_store.call("SET", keys.text("a"), "x")
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        await any_store.call("LLEN", keys.text("a"))


async def test_who_comes_when_all_connections_are_in_use_waits(any_store: Store) -> None:
    async with asyncio.TaskGroup() as group:
        pings = [group.create_task(any_store.call("PING")) for _ in range(400)]
    assert {ping.result() for ping in pings} <= {b"PONG", True}


async def test_every_server_that_holds_keys_can_be_asked(any_store: Store) -> None:
    primaries = await any_store.primaries()
    assert len(primaries) == (3 if any_store.url.topology == "cluster" else 1)
    for primary in primaries:
        assert (await primary.call("INFO"))["role"] == "master"


async def test_a_store_behind_tls_asks_for_our_certificate(folder: Path) -> None:
    with servers.tls(folder) as secure:
        async with Store(store_url.parse(secure.url)) as store:
            assert await store.call("PING")
        bare = secure.url.partition("&cert=")[0]
        async with Store(store_url.parse(bare)) as store:
            with pytest.raises(StoreUnavailable):
                await store.call("PING")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://127.0.0.1:1", "redis://127.0.0.1:1 can't be used: Connection refused"),
        ("unix:///nowhere/s", "unix:///nowhere/s can't be used: No such file"),
        ("redis+sentinel://127.0.0.1:1/x", "No master found"),
        ("redis+cluster://127.0.0.1:1", "127.0.0.1:1 can't be used"),
    ],
)
async def test_a_store_that_is_not_there_is_told_by_its_place(url: str, says: str) -> None:
    async with Store(store_url.parse(url)) as store:
        with pytest.raises(StoreUnavailable, match=says):
            await store.call("GET", "a")


async def test_a_wrong_password_is_told_without_showing_it(folder: Path) -> None:
    with servers.single(folder) as single:
        single.server.call("CONFIG", "SET", "requirepass", "right")
        url = single.url.replace("redis://", "redis://:wrong@")
        async with Store(store_url.parse(url)) as store:
            with pytest.raises(StoreUnavailable, match="refuses us with this password") as caught:
                await store.call("PING")
            assert "wrong" not in str(caught.value)
        right = single.url.replace("redis://", "redis://:right@")
        async with Store(store_url.parse(right)) as store:
            assert await store.call("PING")
            await store.call("CONFIG", "SET", "requirepass", "")


async def test_a_cancelled_task_stops_however_far_its_call_has_come(server: servers.Single) -> None:
    async def work(store: Store) -> None:
        while True:
            await store.call("PING")
            await asyncio.sleep(0)

    for steps in range(300):
        async with Store(store_url.parse(server.url)) as store, asyncio.TaskGroup() as group:
            task = group.create_task(work(store))
            for _ in range(steps % 30):
                await asyncio.sleep(0)
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=60)
            assert done, f"cancelled after {steps % 30} steps, and it goes on"
