"""Names, addresses and connections: what is asked once, and what is tried next."""

import asyncio
from pathlib import Path

import pytest

from tests.archive.wire_server import page, serving
from tests.servers import HOST, held_port
from watchbell.archive.fetching.connection import Connection, connected
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.model import FetchFailed, Limits, Request, networks
from watchbell.archive.fetching.resolver import Resolver
from watchbell.clock import SetClock


def made(address: str) -> Connection:
    return Connection(address, lambda _connection: None)


async def test_the_next_address_is_tried() -> None:
    async with serving({"/": page(b"")}) as site:
        addresses = ["127.0.0.2", HOST]
        connection = await connected(made, addresses, site.port, None, "", 20)
        assert connection.address == HOST
        connection.abort()


async def test_a_failure_of_all_addresses_is_the_last_one() -> None:
    with held_port() as hold:
        port = hold.getsockname()[1]
        with pytest.raises(FetchFailed, match="connection refused"):
            await connected(made, ["127.0.0.2", HOST], port, None, "", 20)


async def test_private_addresses_of_a_name_are_refused() -> None:
    resolver = Resolver(networks(allow_private=False))
    with pytest.raises(FetchFailed, match="is not on the public Internet"):
        await resolver.addresses("localhost")
    resolver.close()


async def test_an_answer_is_kept_for_a_minute() -> None:
    clock = SetClock(1_000)
    resolver = Resolver(networks(allow_private=True), clock)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(resolver.addresses("localhost")) for _ in range(10)]
    assert {tuple(task.result()) for task in tasks} == {tuple(tasks[0].result())}
    resolver.close()  # it can't ask any more
    clock.advance(59)
    assert HOST in await resolver.addresses("localhost")
    clock.advance(2)
    with pytest.raises(RuntimeError):
        await resolver.addresses("localhost")


async def test_one_who_stops_waiting_does_not_end_the_lookup_of_others() -> None:
    resolver = Resolver(networks(allow_private=True))
    async with asyncio.TaskGroup() as group:
        first = group.create_task(resolver.addresses("localhost"))
        second = group.create_task(resolver.addresses("localhost"))
        await asyncio.sleep(0)
        first.cancel()
    assert HOST in second.result()
    resolver.close()


async def test_a_disk_that_takes_no_response_is_no_error_of_the_site(folder: Path) -> None:
    """Here the folder is gone."""
    fetcher = Fetcher(networks(allow_private=True), folder / "gone", Limits())
    async with serving({"/large": page(b"x" * 2_000_000), "/small": page(b"x")}) as site:
        with pytest.raises(FileNotFoundError):
            await fetcher.fetch(Request(url=site.url("/large")))
        assert (await fetcher.fetch(Request(url=site.url("/small")))).error == ""
    fetcher.close()
