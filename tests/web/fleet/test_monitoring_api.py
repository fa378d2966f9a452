"""Samples that an agent sends become values, series and alerts, which the API shows."""

import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from tests.waiting import eventually
from tests.web.fleet.agents import Agent, joined
from tests.web.site import Site, chosen, serving_services
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM, SetClock
from watchbell.fleet import groups, servers
from watchbell.fleet.machine_sample import (
    Cpu,
    CpuShares,
    DiskStats,
    MachineSample,
    Mount,
    Processes,
    Stats,
)
from watchbell.fleet.messages import MachineSampled
from watchbell.fleet.monitoring import alerts
from watchbell.jobs import agent_hub, sample_evaluator, stock
from watchbell.jobs.monitoring_stock import ALERTS
from watchbell.store.client import Store
from watchbell.web.app import open_services
from watchbell.web.people.rights import Rights

GIB = 1 << 30
STOCK = {one.id for one in ALERTS}
AT_ONCE = {one.id for one in ALERTS if one.samples == 1}


def sample(*, is_bad: bool = False, read: int = 0, uptime: int = 1_000) -> MachineSample:
    use = 95.0 if is_bad else 40.0
    available = GIB // 100 if is_bad else GIB
    return MachineSample(
        hostname="db-1",
        date=1,
        uptime_sec=uptime,
        load=(9, 5, 1) if is_bad else (1, 1, 1),
        cpu=Cpu(cores=2, totals=CpuShares(idle=20, iowait=80 if is_bad else 1)),
        memory={"total": 2 * GIB, "used": GIB, "available": available},
        mounts={"root": Mount(mount="/", use=use)},
        stats=Stats(fs=DiskStats(rx=read)),
        processes=Processes(all=120),
        jobs=60 if is_bad else 3,
        commands={"open_files": "1234\t0\t999999\n"},
    )


class Scene:
    def __init__(self, site: Site, clock: SetClock, agent: Agent, server: str) -> None:
        self.site, self.clock, self.agent, self.server = site, clock, agent, server

    async def send(self, given: MachineSample) -> None:
        """A minute later; waits until it is evaluated."""
        await self.send_only(given)
        await self.evaluated()

    async def send_only(self, given: MachineSample) -> None:
        self.clock.advance(60)
        packed = zlib.compress(msgspec.msgpack.encode(given))
        await self.agent.send(MachineSampled(packed=packed))

    async def evaluated(self) -> None:
        at = self.clock.now()

        async def is_evaluated() -> bool:
            async with self.site.program("read") as program:
                rows = (await program.get("/api/v1/servers/values")).json()
            return bool(rows) and rows[0]["at"] >= at - 1

        await eventually(is_evaluated)

    async def send_until_certain(self, *, is_bad: bool) -> None:
        """As many samples as the most patient definition wants."""
        for _ in range(max(one.samples for one in ALERTS)):
            await self.send(sample(is_bad=is_bad))

    async def active(self) -> set[str]:
        return {one.alert for one in await alerts.active(self.site.store)}

    async def reported(self) -> set[tuple[str, str]]:
        raw = await self.site.store.call("RPOP", Alerting("").events(), 100) or []
        events = [msgspec.json.decode(one) for one in raw]
        return {(one["check"], one["state"]) for one in events if one["entity"] == "db-1"}

    async def get(self, path: str) -> Any:
        async with self.site.program("read") as program:
            answer = await program.get(f"/api/v1/{path}")
            assert answer.status == 200, answer.text
            return answer.json()

    async def post(self, path: str, body: dict[str, Any], status: int = 200) -> Any:
        async with self.site.program("write") as program:
            answer = await program.post(f"/api/v1/{path}", json=body)
            assert answer.status == status, answer.text
            return answer.json() if answer.text else None


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples are evaluated at once, not with all others of a second."""
    for loop in (agent_hub, sample_evaluator):
        monkeypatch.setattr(loop, "ROUND", 0.01)


@asynccontextmanager
async def scene(store: Store) -> AsyncIterator[Scene]:
    await stock.ensure(store, SYSTEM.now())
    clock = SetClock(SYSTEM.now())
    services = await open_services(chosen(), store, clock)
    async with serving_services(services) as site, joined(site) as (agent, welcome):
        yield Scene(site, clock, agent, welcome.server)


async def test_stock_alerts_become_active_and_are_cleared(store: Store) -> None:
    async with scene(store) as one:
        await one.send(sample())
        assert await one.active() == set()
        await one.send(sample(is_bad=True))
        assert await one.active() == AT_ONCE
        await one.send_until_certain(is_bad=True)
        assert await one.active() == STOCK
        assert await one.reported() == {(name, "critical") for name in STOCK}
        await one.send_until_certain(is_bad=False)
        assert await one.active() == set()
        assert await one.reported() == {(name, "ok") for name in STOCK}
        server = await servers.get(store, one.server)
        assert not any(found.limits for found in await alerts.active(store)), server


async def test_a_sample_counts_although_its_agent_has_gone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_hub, "ROUND", 1.0)  # the connection ends before the next one
    async with scene(store) as one:
        await one.send_only(sample())
        await one.agent.link.close()
        await eventually(lambda: not one.site.services.agents.sessions, why="the end")
        await one.evaluated()


async def test_pages_get_values_series_and_alerts(store: Store) -> None:
    async with scene(store) as one:
        for minute in range(3):
            await one.send(sample(read=minute * 6_000, uptime=1_000 + minute * 60))
        (values,) = await one.get("servers/values?group=main")
        assert values["values"]["cpu_usage"] == 80
        assert values["values"]["open_files"] == 1234
        assert values["values"]["disk_read_sec"] == 100
        assert (values["is_stale"], values["alerts"]) == (False, [])
        wanted = "resolution=hour&monitor=load_avg&monitor=disk_read_sec"
        found = await one.get(f"servers/{one.server}/series?{wanted}")
        load, reads = ([v for v in each["values"] if v is not None] for each in found["series"])
        assert (found["step"], load, reads) == (60, [1, 1, 1], [100, 100])
        whole = await one.get(f"servers/{one.server}/series")
        assert len(whole["series"]) == 15
        assert len({len(each["values"]) for each in whole["series"]}) == 1
        (each,) = (await one.get("series?monitor=mem_used&resolution=year"))["series"]
        assert {v for v in each["values"] if v is not None} == {
            GIB
        }  # of one half of the day, or two
        await one.send_until_certain(is_bad=True)
        page = await one.get("server-alerts?active=true&definition=mem_free_low")
        (row,) = page["items"]
        assert (row["state"], row["check"]) == ("active", "db-1:mem_free_low")
        shown = await one.get(f"server-alerts/{row['id']}")
        assert "memory.available < (memory.total * 0.05)" in shown["reason"]
        one.clock.advance(86_400)
        assert (await one.get(f"server-alerts/{row['id']}"))["row"]["state"] == "stale"
        assert (await one.get("servers/values"))[0]["is_stale"] is True


async def test_definitions_are_tried_on_the_last_sample(store: Store) -> None:
    async with scene(store) as one:
        on = {"server": one.server}
        early = await one.post("monitors/test", {**on, "source": "load[0]"}, 422)
        assert "no full sample yet" in early["detail"]
        await one.send_until_certain(is_bad=True)
        tried = await one.post("monitors/test", {**on, "source": "memory.used / 2"})
        assert tried["value"] == GIB / 2
        wrong = await one.post("monitors/test", {**on, "source": "memory.used /"}, 422)
        assert "column" in wrong["detail"]
        definition = {"expression": "jobs > 50", "message": "{{jobs}} jobs", "samples": 2}
        tried = await one.post("alert-definitions/test", {**on, "definition": definition})
        assert (tried["is_true"], tried["message"], tried["would_fire"]) == (True, "60 jobs", False)
        tried = await one.post(
            "alert-definitions/test", {**on, "definition": {**definition, "samples": 1}}
        )
        assert tried["would_fire"] is True
        assert tried["is_active"] is False
        saved = msgspec.to_builtins(next(found for found in ALERTS if found.id == "mem_free_low"))
        tried = await one.post("alert-definitions/test", {**on, "definition": saved})
        assert (tried["is_active"], tried["would_fire"], tried["would_clear"]) == (
            True,
            False,
            False,
        )
        saved |= {"expression": "jobs > 1000", "samples": 1}
        tried = await one.post("alert-definitions/test", {**on, "definition": saved})
        assert (tried["is_active"], tried["is_true"], tried["would_clear"]) == (True, False, True)


async def test_failures_and_snoozes_are_shown(store: Store) -> None:
    async with scene(store) as one:
        made = await one.post("monitors", {"title": "Text", "source": "hostname"}, 201)
        await one.post("server-alerts/snooze", {"definition": "io_wait_high", "seconds": 600})
        await one.send_until_certain(is_bad=True)
        (failure,) = (await one.get("monitors/failures"))["monitors"]
        assert failure["id"] == made["id"]
        assert "expected a number, got 'db-1'" in failure["reason"]
        assert (failure["server"], failure["hostname"]) == (one.server, "db-1")
        async with one.site.program("read", given=Rights(groups=("shop",))) as program:
            hidden = (await program.get("/api/v1/monitors/failures")).json()
        assert hidden == {"monitors": [], "alerts": []}
        (snooze,) = await one.get("server-alerts/snoozes")
        assert snooze["definition"] == "io_wait_high"
        page = await one.get("server-alerts?definition=io_wait_high")
        assert page["items"][0]["notified"] is False
        await one.post("server-alerts/snooze/end", {"definition": "io_wait_high"}, 204)
        await one.send_until_certain(is_bad=True)
        page = await one.get("server-alerts?definition=io_wait_high")
        assert page["items"][0]["notified"] is True


async def test_people_with_some_groups_see_and_change_theirs_alone(store: Store) -> None:
    async with scene(store) as one:
        await groups.create(store, {"title": "Shop"}, "alice", 1, "shop")
        await one.send_until_certain(is_bad=True)
        everything = await one.get("server-alerts")
        assert everything["count"] == len(STOCK)
        definition = {"title": "Mine", "expression": "jobs > 1"}
        async with one.site.program("write", given=Rights(groups=("shop",))) as program:
            assert (await program.get("/api/v1/servers/values")).json() == []
            assert (await program.get("/api/v1/server-alerts")).json()["count"] == 0
            hidden = f"/api/v1/server-alerts/{everything['items'][0]['id']}"
            assert (await program.get(hidden)).status == 403
            assert (await program.get(f"/api/v1/servers/{one.server}/series")).status == 403
            path = "/api/v1/alert-definitions"
            assert (await program.post(path, json=definition)).status == 403
            made = await program.post(path, json={**definition, "groups": ["shop"]})
            assert made.status == 201
            known = made.json()["id"]
            for silenced, status in ((known, 200), ("mem_free_low", 403), ("", 403)):
                wish = {"definition": silenced, "seconds": 60}
                answer = await program.post("/api/v1/server-alerts/snooze", json=wish)
                assert answer.status == status, answer.text
            answer = await program.post("/api/v1/server-alerts/snooze/end", json={"definition": ""})
            assert (answer.status, "snoozed, too" in answer.text) == (403, True)
            for wider in (list[str](), ["shop", "main"]):
                answer = await program.ask("PUT", f"{path}/{known}", json={"groups": wider})
                assert answer.status == 403
            answer = await program.ask("PUT", f"{path}/mem_free_low", json={"limit_jobs": True})
            assert answer.status == 403
