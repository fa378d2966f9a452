"""Servers whose minute samples are evaluated in a real store."""

from collections.abc import Iterable
from typing import Any

import msgspec

from watchbell.alerting.keys import Alerting
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import AlertRule, Monitor, Server
from watchbell.fleet.monitoring import alerts, compiled, evaluator
from watchbell.fleet.monitoring.judgement import Reading
from watchbell.fleet.monitoring.minute_scripts import Outlets
from watchbell.fleet.monitoring.state import Turn
from watchbell.fleet.monitoring.transitions import Active
from watchbell.store.client import Store

START = 1_900_000_020.0
LOAD = Monitor(id="load", title="Load", source="load[0]")
READS = Monitor(id="reads", title="Reads", source="stats.fs.rx", delta=True, divide_by_delta=True)
HIGH = AlertRule(
    id="high",
    title="High load",
    expression="monitors.load > 4",
    message="load {{monitors.load}}",
    samples=2,
    monitor_id="load",
)


def sample(load: object = 1.0, reads: int = 0, uptime: float = 0) -> dict[str, Any]:
    return {"load": [load, 0, 0], "stats": {"fs": {"rx": reads}}, "uptime_sec": uptime}


class Scene:
    def __init__(
        self,
        store: Store,
        monitors: Iterable[Monitor] = (LOAD, READS),
        rules: Iterable[AlertRule] = (HIGH,),
    ) -> None:
        self.store, self.keys = store, Fleet(store.prefix)
        self.definitions = compiled.definitions(monitors, rules)
        actions, unreported = (
            f"{store.prefix}{{jobs}}:actions",
            f"{store.prefix}{{jobs}}:unreported",
        )
        self.outlets = Outlets(actions, unreported, 1_000)

    async def put(self, id_: str = "s1", *groups: str) -> None:
        server = Server(id=id_, hostname=f"host-{id_}", groups=groups)
        text = msgspec.json.encode(server)
        await self.store.call("HSET", self.keys.servers(), id_, text)

    async def see(self, minute: float, data: dict[str, Any], server: str = "s1") -> list[Turn]:
        """A sample of the minute after the start."""
        reading = Reading(server, START + minute * 60, data)
        found = await evaluator.evaluate(self.store, [reading], self.definitions, self.outlets)
        return [one.turn for one in found]

    async def active(self) -> list[Active]:
        return await alerts.active(self.store)

    async def reported(self) -> list[tuple[str, str]]:
        """The check events since the last call."""
        key = Alerting(self.store.prefix).events()
        raw = await self.store.call("RPOP", key, 100) or []
        events = [msgspec.json.decode(one) for one in raw]
        return [(f"{one['entity']}:{one['check']}", one["state"]) for one in events]

    async def queued(self) -> list[str]:
        """The triggers of actions since the last call."""
        raw = await self.store.call("LPOP", self.outlets.actions, 100) or []
        return [msgspec.json.decode(one)["trigger"] for one in raw]
