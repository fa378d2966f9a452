"""Servers that go down, come back and are removed reach alerting, each change once."""

import asyncio

import msgspec

from watchbell.alerting.keys import Alerting
from watchbell.clock import SetClock
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Server
from watchbell.jobs.keys import Jobs
from watchbell.jobs.server_reporter import ServerReporter
from watchbell.settings import Jobs as JobsSettings
from watchbell.store.client import Store

DOWN_AFTER = 15
SETTINGS = JobsSettings(down_after=DOWN_AFTER)
UP, DOWN = ("servers:db-1", "ok"), ("servers:db-1", "critical")


class Scene:
    """A reporter with a clock of its own, and a server."""

    def __init__(self, store: Store) -> None:
        self.store, self.clock = store, SetClock(1_000)
        self.reporter = ServerReporter(store, SETTINGS, self.clock)
        self._beats = 0

    async def put(self, server: Server) -> None:
        text = msgspec.json.encode(server)
        await self.store.call("HSET", Fleet(self.store.prefix).servers(), server.id, text)

    async def beat(self, server: str = "s1", ago: float = 0) -> None:
        """A sign of life, so many seconds ago by the store's clock."""
        time = await self.store.call("TIME")
        self._beats += 1
        at = int(time[0]) - ago + self._beats / 1000
        await self.store.call("ZADD", Fleet(self.store.prefix).seen(), at, server)

    async def looked(self, after: float = 0) -> list[tuple[str, str]]:
        """What is reported when somebody looks so many seconds later."""
        self.clock.advance(after)
        await self.reporter.look()
        return await self.reported()

    async def reported(self) -> list[tuple[str, str]]:
        raw = await self.store.call("RPOP", Alerting(self.store.prefix).events(), 100) or []
        events = [msgspec.json.decode(one) for one in raw]
        return [(f"{one['entity']}:{one['check']}", one["state"]) for one in events]


async def running(store: Store) -> Scene:
    """A server that is up, and known to be."""
    scene = Scene(store)
    await scene.put(Server(id="s1", hostname="db-1"))
    await scene.beat()
    assert await scene.looked() == [UP]
    return scene


async def test_a_server_that_goes_down_and_comes_back_is_reported_once_each(store: Store) -> None:
    scene = await running(store)
    assert await scene.looked(DOWN_AFTER - 1) == []
    assert await scene.looked(1) == [DOWN]
    assert await scene.looked(100) == []
    await scene.beat()
    assert await scene.looked(5) == [UP]
    assert await scene.looked(5) == []


async def test_several_conductors_report_a_change_once(store: Store) -> None:
    scene = Scene(store)
    for number in range(20):
        await scene.put(Server(id=f"s{number}", hostname=f"db-{number}"))
        await scene.beat(f"s{number}", 100)
    reporters = [ServerReporter(store, SETTINGS, scene.clock) for _ in range(5)]
    for _ in range(2):
        await asyncio.gather(*(one.look() for one in reporters))
        scene.clock.advance(DOWN_AFTER)
    checks = [check for check, _ in await scene.reported()]
    assert sorted(checks) == sorted(f"servers:db-{number}" for number in range(20))


async def test_a_server_that_is_removed_while_down_does_not_fail_for_ever(store: Store) -> None:
    scene = await running(store)
    assert await scene.looked(DOWN_AFTER) == [DOWN]
    await store.call("DEL", Fleet(store.prefix).servers(), Fleet(store.prefix).seen())
    assert await scene.looked() == [UP]
    assert await store.call("EXISTS", Jobs(store.prefix).server_states()) == 0


async def test_a_disabled_server_may_be_down(store: Store) -> None:
    scene = Scene(store)
    await scene.put(Server(id="s1", hostname="db-1", enabled=False))
    await scene.beat(ago=100)
    assert await scene.looked() == []
    assert await scene.looked(DOWN_AFTER) == []


async def test_disabling_a_server_that_is_down_ends_its_failure(store: Store) -> None:
    scene = await running(store)
    assert await scene.looked(DOWN_AFTER) == [DOWN]
    await scene.put(Server(id="s1", hostname="db-1", enabled=False))
    assert await scene.looked(1) == [UP]
    await scene.put(Server(id="s1", hostname="db-1"))
    assert await scene.looked(1) == [DOWN]


async def test_a_step_of_the_stores_clock_takes_no_server_down(store: Store) -> None:
    scene = await running(store)
    for ago in (3_600, -3_600):
        await scene.beat(ago=ago)
        assert await scene.looked(1) == []
        assert await scene.looked(1) == []


async def test_an_outage_of_the_store_takes_no_server_down(store: Store) -> None:
    scene = await running(store)
    scene.clock.advance(600)
    scene.reporter.restart()
    assert await scene.looked(DOWN_AFTER - 1) == []
    await scene.beat()
    assert await scene.looked(DOWN_AFTER) == []


async def test_an_outage_of_the_store_brings_no_server_back(store: Store) -> None:
    scene = await running(store)
    await scene.beat(ago=100)
    assert await scene.looked() == []
    assert await scene.looked(DOWN_AFTER) == [DOWN]
    scene.clock.advance(1)
    scene.reporter.restart()
    assert await scene.looked(1) == []
    assert await scene.looked(DOWN_AFTER) == []


async def test_a_conductor_that_starts_neither_ends_nor_invents_a_failure(store: Store) -> None:
    scene = await running(store)
    await scene.beat(ago=100)
    assert await scene.looked() == []
    for expected in ([DOWN], []):
        scene.reporter = ServerReporter(store, SETTINGS, scene.clock)
        assert await scene.looked() == []
        assert await scene.looked(DOWN_AFTER) == expected


async def test_a_spoilt_record_or_state_stops_nothing(store: Store) -> None:
    scene = Scene(store)
    await store.call("HSET", Fleet(store.prefix).servers(), "s1", "{")
    await store.call("HSET", Jobs(store.prefix).server_states(), "s2", "{")
    await scene.put(Server(id="s2", hostname="db-2"))
    for server in ("s1", "s2"):
        await scene.beat(server, 100)
    assert await scene.looked() == []
    assert await scene.looked(DOWN_AFTER) == [("servers:db-2", "critical")]
