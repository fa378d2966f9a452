"""Alerts begin and end with what really happens on the machine of an agent."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.agent.conftest import running_agent
from tests.fleet.agent.test_sampling import Minutes
from tests.jobs.acting import WHO
from tests.waiting import eventually
from tests.web.fleet.agents import join_token
from tests.web.site import Site, chosen, serving_services
from tests.whole.test_up import small_disk
from watchbell.clock import SYSTEM
from watchbell.fleet.monitoring import alerts, latest
from watchbell.fleet.monitoring.alerts import Query
from watchbell.jobs import definitions
from watchbell.store.client import Store
from watchbell.web.app import open_services

MIB = 1 << 20
LOAD = f"""
kept = bytearray({300 * MIB})
kept[::4096] = b"x" * len(kept[::4096])
while True:
    pass
"""
MOST_MINUTES = 60


class Watched:
    """A site with an agent, whose clock is put forward by whole minutes."""

    def __init__(self, site: Site, clock: Minutes) -> None:
        self._site, self._clock = site, clock

    async def next_minute(self) -> set[str]:
        """The alerts that are active after its sample."""
        store, (server,) = self._site.store, self._site.services.agents.sessions
        self._clock.ahead += 60
        at = self._clock.now()

        async def is_evaluated() -> bool:
            known = (await latest.states(store, [server])).get(server)
            return known is not None and known.at >= at

        await eventually(is_evaluated, why="the sample of the minute")
        return {one.alert for one in await alerts.active(store)}

    async def until(self, expected: set[str]) -> None:
        found = set[str]()
        for _ in range(MOST_MINUTES):
            found = await self.next_minute()
            if found == expected:
                return
        raise AssertionError(f"expected {expected}, found {found}")


async def define(store: Store, id_: str, expression: str) -> None:
    fields = {"id": id_, "title": id_, "expression": expression, "samples": 2}
    await definitions.create(store, "alert", fields, WHO, int(SYSTEM.now()))


@pytest.fixture
def load() -> Iterator[subprocess.Popen[bytes]]:
    """A process that keeps a core busy and has 300 MiB of memory."""
    with subprocess.Popen([sys.executable, "-c", LOAD]) as process:
        yield process
        process.kill()


async def test_cpu_memory_and_a_full_disk_make_alerts_that_end_with_them(
    store: Store, folder: Path, load: subprocess.Popen[bytes]
) -> None:
    clock = Minutes()
    services = await open_services(chosen(), store, clock)
    with small_disk(folder, 16) as disk:
        own = f"processes.list[.pid == {load.pid}]"
        await define(store, "cpu", f"{own}.time > 0.5")
        await define(store, "memory", f"{own}.memRss > {256 * MIB}")
        name = re.sub(r"\W+", "_", str(disk).strip("/"))
        await define(store, "disk", f"mounts.{name}.use >= 90")
        full = disk / "full"
        full.write_bytes(bytes(15 * MIB))
        async with serving_services(services) as site:
            token = await join_token(site)
            async with running_agent(folder / "agent", site, token=token, clock=clock):
                await eventually(lambda: services.agents.sessions, why="the connection")
                watched = Watched(site, clock)
                await watched.until({"cpu", "memory", "disk"})
                load.kill()
                await asyncio.to_thread(load.wait)  # until then the kernel shows its times
                full.unlink()
                await watched.until(set())
    found = (await alerts.search(store, Query())).alerts
    assert sorted((one.alert, one.active) for one in found) == [
        ("cpu", False),
        ("disk", False),
        ("memory", False),
    ]
