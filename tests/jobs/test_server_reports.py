"""Servers that go down, come back and are removed reach alerting, each change once."""

import asyncio
from collections.abc import Awaitable

import msgspec

from watchbell.alerting.keys import Alerting
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Server
from watchbell.jobs.keys import Jobs
from watchbell.jobs.server_reporter import ServerReporter
from watchbell.settings import Jobs as JobsSettings
from watchbell.store.client import Store

SETTINGS = JobsSettings(down_after=15)


async def put(store: Store, server: Server) -> None:
    text = msgspec.json.encode(server)
    await store.call("HSET", Fleet(store.prefix).servers(), server.id, text)


async def seen(store: Store, server: str, ago: float) -> None:
    time = await store.call("TIME")
    await store.call("ZADD", Fleet(store.prefix).seen(), int(time[0]) - ago, server)


async def reported(store: Store) -> list[tuple[str, str, str]]:
    """What was reported since the last call."""
    raw = await store.call("RPOP", Alerting(store.prefix).events(), 100) or []
    events = [msgspec.json.decode(one) for one in raw]
    return [(f"{one['entity']}:{one['check']}", one["state"], one["summary"]) for one in events]


async def looked(store: Store) -> list[tuple[str, str]]:
    await ServerReporter(store, SETTINGS).look()
    return [one[:2] for one in await reported(store)]


async def test_a_server_that_goes_down_and_comes_back_is_reported_once_each(store: Store) -> None:
    await put(store, Server(id="s1", hostname="db-1"))
    await seen(store, "s1", 0)
    assert await looked(store) == [("servers:db-1", "ok")]
    assert await looked(store) == []
    await seen(store, "s1", 100)
    assert await looked(store) == [("servers:db-1", "critical")]
    assert await looked(store) == []
    await seen(store, "s1", 0)
    assert await looked(store) == [("servers:db-1", "ok")]
    assert await looked(store) == []


async def test_several_conductors_report_a_change_once(store: Store) -> None:
    for number in range(20):
        await put(store, Server(id=f"s{number}", hostname=f"db-{number}"))
        await seen(store, f"s{number}", 100)
    looks: list[Awaitable[None]] = [ServerReporter(store, SETTINGS).look() for _ in range(5)]
    await asyncio.gather(*looks)
    checks = [check for check, _, _ in await reported(store)]
    assert sorted(checks) == sorted(f"servers:db-{number}" for number in range(20))


async def test_a_server_that_is_removed_while_down_does_not_fail_for_ever(store: Store) -> None:
    await put(store, Server(id="s1", hostname="db-1"))
    await seen(store, "s1", 100)
    assert await looked(store) == [("servers:db-1", "critical")]
    await store.call("DEL", Fleet(store.prefix).servers(), Fleet(store.prefix).seen())
    assert await looked(store) == [("servers:db-1", "ok")]
    assert await store.call("EXISTS", Jobs(store.prefix).server_states()) == 0


async def test_a_disabled_server_may_be_down(store: Store) -> None:
    await put(store, Server(id="s1", hostname="db-1", enabled=False))
    await seen(store, "s1", 100)
    assert await looked(store) == []


async def test_disabling_a_server_that_is_down_ends_its_failure(store: Store) -> None:
    await put(store, Server(id="s1", hostname="db-1"))
    await seen(store, "s1", 100)
    assert await looked(store) == [("servers:db-1", "critical")]
    await put(store, Server(id="s1", hostname="db-1", enabled=False))
    assert await looked(store) == [("servers:db-1", "ok")]
    await put(store, Server(id="s1", hostname="db-1"))
    assert await looked(store) == [("servers:db-1", "critical")]


async def test_a_spoilt_record_or_state_stops_nothing(store: Store) -> None:
    await store.call("HSET", Fleet(store.prefix).servers(), "s1", "{")
    await store.call("HSET", Jobs(store.prefix).server_states(), "s2", "{")
    await put(store, Server(id="s2", hostname="db-2"))
    for server in ("s1", "s2"):
        await seen(store, server, 100)
    assert await looked(store) == [("servers:db-2", "critical")]
