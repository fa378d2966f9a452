"""Connections: how many one address may have, and that nobody locks the others out."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from litestar.types import Receive, Scope, Send

from tests.waiting import eventually
from tests.web.site import Site, certified, chosen, serving_app
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web import server
from watchbell.web.app import open_services

HERE, THERE = "127.0.0.1", "127.0.0.2"


class Client:
    """One connection from an address of this machine."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def ask(self, path: str = "/", **headers: str) -> None:
        lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()]
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\n{''.join(lines)}\r\n".encode())

    async def answer(self) -> tuple[int, str]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        return int(head.split()[1]), head + (await self._reader.readexactly(length)).decode()

    async def got(self, path: str = "/", **headers: str) -> int:
        self.ask(path, **headers)
        return (await self.answer())[0]

    async def is_open(self) -> bool:
        """Whether it serves another request."""
        try:
            return await self.got() == 200
        except (asyncio.IncompleteReadError, ConnectionError):
            return False

    async def is_hung_up_on(self) -> bool:
        try:
            return await self._reader.read() == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        self._writer.close()


class Door:
    """A server that answers at once, but for `/hold`, which waits for the gate."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.held = 0
        self.site: Site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":  # type: ignore[comparison-overlap]
            for event in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{event}.complete"})  # type: ignore[typeddict-item]
            return
        if scope["path"] == "/hold":
            self.held += 1
            await self.gate.wait()
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok", "more_body": False})

    async def hold(self, *clients: Client, **headers: str) -> None:
        """A request of each is being answered until the gate opens."""
        wanted = self.held + len(clients)
        for client in clients:
            client.ask("/hold", **headers)
        await eventually(lambda: self.held == wanted)


@asynccontextmanager
async def opened(store: Store, **web: object) -> AsyncIterator[Door]:
    door, services = Door(), await open_services(chosen(**web), store, SYSTEM)
    async with serving_app(door, services) as site:
        door.site = site
        try:
            yield door
        finally:
            door.gate.set()


class Visitors:
    def __init__(self, door: Door, stack: AsyncExitStack) -> None:
        self._door, self._stack = door, stack

    async def come(self, count: int, address: str = HERE, **more: Any) -> list[Client]:
        """New connections, none of which has asked for anything."""
        host, port = self._door.site.url.partition("://")[2].split(":")
        found = []
        for _ in range(count):
            place = await asyncio.open_connection(host, int(port), local_addr=(address, 0), **more)
            found.append(Client(*place))
            self._stack.callback(found[-1].close)
        return found

    async def come_and_ask(self, count: int, address: str = HERE) -> list[Client]:
        """New connections that were served, and wait for their next request."""
        found = []
        for _ in range(count):
            found += await self.come(1, address)
            assert await found[-1].got() == 200
        return found


@asynccontextmanager
async def visited(store: Store, **web: object) -> AsyncIterator[tuple[Door, Visitors]]:
    async with opened(store, **web) as door, AsyncExitStack() as stack:
        yield door, Visitors(door, stack)


async def test_an_address_that_hoards_idle_connections_loses_its_oldest(store: Store) -> None:
    async with visited(store, connections_per_address=20) as (_, visitors):
        other = await visitors.come_and_ask(2, THERE)
        hoard = await visitors.come_and_ask(60)
        assert [await client.is_open() for client in hoard] == [False] * 40 + [True] * 20
        assert [await client.is_open() for client in other] == [True] * 2
        await visitors.come_and_ask(1, THERE)
        await visitors.come_and_ask(1)


async def test_what_never_asks_is_closed_before_what_was_served_last(store: Store) -> None:
    async with visited(store, connections_per_address=3) as (_, visitors):
        (used,) = await visitors.come_and_ask(1)
        silent = await visitors.come(2)
        assert await used.got() == 200
        await visitors.come_and_ask(2)
        assert [await client.is_hung_up_on() for client in silent] == [True] * 2
        assert await used.is_open()


async def test_who_is_answered_keeps_the_connection_and_one_more_is_refused(store: Store) -> None:
    async with visited(store, connections_per_address=3) as (door, visitors):
        busy = await visitors.come(3)
        await door.hold(*busy)
        (late,) = await visitors.come(1)
        late.ask()
        status, text = await late.answer()
        assert (status, "retry-after: 10" in text) == (429, True)
        assert "web.connections_per_address" in text
        assert "nosniff" in text
        assert await late.is_hung_up_on()
        await visitors.come_and_ask(3, THERE)
        door.gate.set()
        assert [(await client.answer())[0] for client in busy] == [200] * 3
        await visitors.come_and_ask(1)


async def test_few_refused_connections_are_answered_and_the_rest_cut(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_REFUSED", 2)
    async with visited(store, connections_per_address=4) as (door, visitors):
        await door.hold(*await visitors.come(4))
        late = await visitors.come(4)
        assert [await client.is_hung_up_on() for client in late[2:]] == [True] * 2
        assert [await client.got() for client in late[:2]] == [429] * 2


async def test_a_trusted_proxy_has_as_many_connections_as_it_needs(store: Store) -> None:
    proxied = {"trusted_proxies": (HERE,), "connections_per_address": 3}
    async with visited(store, **proxied) as (door, visitors):
        pool = await visitors.come_and_ask(12)
        assert all([await client.is_open() for client in pool])
        await door.hold(*pool[:3], X_Forwarded_For="192.0.2.7")
        assert await pool[3].got(X_Forwarded_For="192.0.2.7") == 429
        assert await pool[4].got(X_Forwarded_For="192.0.2.8") == 200
        door.gate.set()
        assert [(await client.answer())[0] for client in pool[:3]] == [200] * 3
        assert await pool[4].got(X_Forwarded_For="192.0.2.7") == 200
        crowd = await visitors.come_and_ask(4, THERE)
        assert not await crowd[0].is_open()


async def test_when_all_is_full_the_address_with_most_makes_room(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 10)
    async with visited(store, connections_per_address=8) as (_, visitors):
        many = await visitors.come_and_ask(8)
        few = await visitors.come_and_ask(4, THERE)
        assert [await client.is_open() for client in many] == [False] * 2 + [True] * 6
        assert [await client.is_open() for client in few] == [True] * 4


async def test_without_a_limit_there_is_none(store: Store) -> None:
    async with visited(store, connections_per_address=0) as (door, visitors):
        busy = await visitors.come(300)
        await door.hold(*busy)
        door.gate.set()
        assert [(await client.answer())[0] for client in busy] == [200] * 300


async def test_a_connection_that_asks_for_nothing_more_is_closed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "KEEP_ALIVE", 0.05)
    async with visited(store) as (_, visitors):
        (client,) = await visitors.come_and_ask(1)
        async with asyncio.timeout(60):
            assert await client.is_hung_up_on()


async def test_what_never_begins_tls_counts_too(store: Store, tmp_path: Path) -> None:
    cert, key, trust = certified(tmp_path)
    web = {"tls_cert": str(cert), "tls_key": str(key), "connections_per_address": 3}
    async with visited(store, **web) as (_, visitors):
        silent = await visitors.come(6)
        (cut,) = await visitors.come(1)
        assert await cut.is_hung_up_on()
        (other,) = await visitors.come(1, THERE, ssl=trust)
        assert await other.got() == 200
        silent.pop().close()

        async def has_room() -> bool:
            try:
                (late,) = await visitors.come(1, ssl=trust)
            except (ConnectionError, ssl.SSLError):
                return False
            return await late.got() == 200

        await eventually(has_room)


async def test_what_has_gone_counts_no_longer(store: Store) -> None:
    async with visited(store, connections_per_address=2) as (door, visitors):
        for _ in range(5):
            gone = await visitors.come(2)
            await door.hold(*gone)
            door.gate.set()
            assert [(await client.answer())[0] for client in gone] == [200] * 2
            for client in gone:
                client.close()
            door.gate.clear()
