"""Snapshots, watches and commands over HTTP; and what reaches the store from an agent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fleet.agent.conftest import running_agent
from tests.fleet.crew import NOW, sample
from tests.fleet.snapshot_scene import packed, quick, resample, sampled
from tests.jobs.acting import WHO
from tests.waiting import eventually
from tests.web.app_api.app_client import AppClient
from tests.web.fleet.agents import join_token, joined
from tests.web.site import BY, Site
from watchbell.fleet import groups, samples, servers, snapshots, watches
from watchbell.fleet.keys import Fleet
from watchbell.fleet.messages import (
    MachineSampled,
    RanOnce,
    RunEachMinute,
    RunOnce,
    Sampled,
)
from watchbell.fleet.model import CommandOutcome
from watchbell.fleet.snapshots import Taking
from watchbell.jobs import definitions, stock
from watchbell.store.client import Store
from watchbell.web.people.rights import Rights

MONITOR = {"id": "queue", "title": "Queue", "type": "monitor", "command": "/bin/echo 7"}


async def define(store: Store, **more: Any) -> None:
    await definitions.create(store, "plugin", {**MONITOR, **more}, WHO, NOW)


@asynccontextmanager
async def real_agent(site: Site, folder: Path) -> AsyncIterator[str]:
    """The id of its server."""
    token = await join_token(site)
    async with running_agent(folder / "agent", site, token=token):
        await eventually(lambda: site.services.agents.sessions, why="the connection")
        yield next(iter(site.services.agents.sessions))


async def test_a_real_agent_reports_runs_commands_and_is_frozen_in_a_snapshot(
    site: Site, store: Store, folder: Path
) -> None:
    await stock.ensure(store, NOW)
    async with site.somebody("editor") as alice, real_agent(site, folder) as server:

        async def shown() -> Any:
            found = (await alice.get(f"/api/v1/servers/{server}/machine")).json()
            return found if found["data"] and found["quick"] else None

        machine = await eventually(shown, why="a full sample")
        assert machine["data"]["processes"]["all"] > 1
        assert machine["quick"][-1]["mem_used"] > 0
        ran = await alice.post(f"/api/v1/servers/{server}/commands/open_files")
        assert ran.status == 200, ran.text
        assert len(ran.json()["output"].split()) == 3
        assert ran.json()["error"] == ""
        tried = {"command": "/bin/sh", "script": "echo '[1'", "format": "json"}
        ran = await alice.post(f"/api/v1/servers/{server}/commands", json=tried)
        assert (ran.json()["text"], ran.json()["output"]) == ("[1\n", None)
        assert "no JSON" in ran.json()["error"]
        taken = (await alice.post(f"/api/v1/servers/{server}/snapshots")).json()
        found = (await alice.get(f"/api/v1/snapshots/{taken['id']}")).json()
        assert (found["snapshot"]["source"], found["snapshot"]["username"]) == ("user", "editor")
        (state,) = found["states"]
        assert state["data"]["processes"]["all"] > 1
        assert state["quick"]


async def test_commands_follow_definitions_and_groups(site: Site, store: Store) -> None:
    await groups.create(store, {"title": "Mail"}, "alice", NOW, "mail")
    async with joined(site) as (agent, welcome):
        assert (await agent.next(RunEachMinute)).commands == ()
        async with site.somebody("editor") as alice:
            made = await alice.post("/api/v1/plugins", json={**MONITOR, "groups": ["mail"]})
            assert made.status == 201, made.text
            await servers.update(store, welcome.server, {"groups": ["mail"]}, NOW)
            (command,) = (await agent.next(RunEachMinute)).commands
            assert (command.id, command.command, command.timeout) == ("queue", "/bin/echo 7", 5)
            await alice.ask("PUT", "/api/v1/plugins/queue", json={"timeout": 3})
            (command,) = (await agent.next(RunEachMinute)).commands
            assert command.timeout == 3
            await servers.update(store, welcome.server, {"groups": ["main"]}, NOW)
            assert (await agent.next(RunEachMinute)).commands == ()


async def test_no_command_is_tried_on_a_server_that_is_offline(site: Site, store: Store) -> None:
    await define(store)
    async with joined(site) as (_, welcome):
        url = f"/api/v1/servers/{welcome.server}/commands/queue"
    async with site.somebody("editor") as alice:
        await eventually(lambda: not site.services.agents.sessions, why="the disconnection")
        refused = await alice.post(url)
        assert (refused.status, "offline" in refused.text) == (422, True)


async def test_an_agent_answers_only_what_it_was_asked(site: Site, store: Store) -> None:
    await define(store)
    async with (
        joined(site) as (agent, welcome),
        site.somebody("editor") as alice,
    ):
        forged = CommandOutcome(id="queue", output="forged")
        for name in ("*", "x" * 32, "0" * 32):
            await agent.send(RanOnce(request=name, outcome=forged))

        async def answer() -> None:
            asked = await agent.next(RunOnce)
            deep: Any = 1
            for _ in range(30):
                deep = [deep]
            outcome = CommandOutcome(id="queue", output=deep, text="x" * 100_000)
            await agent.send(RanOnce(request=asked.request, outcome=outcome))

        async with asyncio.TaskGroup() as group:
            group.create_task(answer())
            ran = await alice.post(f"/api/v1/servers/{welcome.server}/commands/queue")
        assert (ran.json()["output"], len(ran.json()["text"])) == (None, 64 << 10)
        assert "nested" in ran.json()["error"]


async def test_a_hostile_agent_hurts_nobody(site: Site, store: Store) -> None:
    async with joined(site) as (hostile, bad), joined(site, "web-1") as (agent, good):
        for content in (b"", b"x" * 100, packed(load=[float("nan"), 0, 0]), packed(cpu=1)):
            await hostile.send(MachineSampled(packed=content))
        values = tuple(quick(float("nan"), float("inf")) for _ in range(500))
        await hostile.send(Sampled(sample=sample(NOW), quick=values))
        await agent.send(Sampled(sample=sample(NOW), quick=(quick(1), quick(2))))
        await agent.send(MachineSampled(packed=packed(jobs=3)))

        async def has_come() -> bool:
            found = await samples.newest(store, [good.server, bad.server])
            return found[good.server].data is not None and bool(found[bad.server].quick)

        await eventually(has_come, why="the sample of the other one")
        found = await samples.newest(store, [good.server, bad.server])
        assert found[bad.server].data is None
        assert len(found[bad.server].quick) == 60
        assert {one.cpu_usage for one in found[bad.server].quick} == {0}
        data = found[good.server].data
        assert data
        assert (data["hostname"], data["jobs"]) == ("web-1", 3)
        first, second = found[good.server].quick
        assert round(second.date - first.date) == 1


async def test_snapshots_are_listed_compared_and_deleted(site: Site, store: Store) -> None:
    server = await sampled(store, load=[1, 1, 1])
    async with site.somebody("editor") as alice, site.somebody("viewer") as bob:
        first = (await alice.post(f"/api/v1/servers/{server.id}/snapshots")).json()["id"]
        await resample(store, server, load=[5, 1, 1])
        second = (await alice.post("/api/v1/groups/main/snapshots")).json()["id"]
        page = (await bob.get("/api/v1/snapshots?limit=1")).json()
        assert [one["id"] for one in page["items"]] == [second]
        page = (await bob.get(f"/api/v1/snapshots?limit=1&cursor={page['next']}")).json()
        assert ([one["id"] for one in page["items"]], page["next"]) == ([first], None)
        only = (await bob.get(f"/api/v1/snapshots?server={server.id}")).json()
        assert [one["id"] for one in only["items"]] == [first]
        query = f"before={first}&after={second}"
        compared = (await bob.get(f"/api/v1/snapshots/compare?{query}")).json()
        assert compared["servers"][0]["values"][0]["after"] == 5
        assert (await bob.ask("DELETE", f"/api/v1/snapshots/{first}")).status == 403
        assert (await bob.post(f"/api/v1/servers/{server.id}/snapshots")).status == 403
        assert (await alice.ask("DELETE", f"/api/v1/snapshots/{first}")).status == 204
        assert (await alice.get(f"/api/v1/snapshots/{first}")).status == 404


async def test_watches_begin_are_listed_and_end(site: Site, store: Store) -> None:
    server = await sampled(store)
    async with site.somebody("operator") as alice:
        for path, seconds in ((f"servers/{server.id}", 60), ("groups/main", 120)):
            made = await alice.ask("PUT", f"/api/v1/{path}/watch", json={"seconds": seconds})
            assert made.status == 200, made.text
        listed = (await alice.get("/api/v1/watches")).json()
        assert {(one["type"], one["name"], one["username"]) for one in listed} == {
            ("server", "db-1", "operator"),
            ("group", "Main", "operator"),
        }
        assert (await alice.ask("DELETE", f"/api/v1/servers/{server.id}/watch")).status == 204
        assert (await alice.ask("DELETE", f"/api/v1/servers/{server.id}/watch")).status == 404
        too_long = await alice.ask("PUT", "/api/v1/groups/main/watch", json={"seconds": 1_000_000})
        assert too_long.status in (400, 422)


async def test_who_is_limited_to_a_group_sees_and_runs_what_belongs_to_it(
    site: Site, store: Store
) -> None:
    for name in ("db", "web"):
        await groups.create(store, {"title": name}, "alice", NOW, name)
    mine, other = (
        await sampled(store, "db-1", group="db"),
        await sampled(store, "web-1", group="web"),
    )
    for server in (mine, other):
        await snapshots.take(store, server.id, source="user", now=NOW, id=f"sn{server.hostname}")
    rights = Rights(
        privileges=("create_snapshots", "delete_snapshots", "create_plugins", "edit_plugins"),
        groups=("db",),
    )
    await site.services.users.add("bob", "viewer", BY, rights)
    async with site.somebody("viewer", "bob") as bob:
        listed = (await bob.get("/api/v1/snapshots")).json()["items"]
        assert [one["id"] for one in listed] == ["sndb-1"]
        for method, path in (
            ("GET", "/api/v1/snapshots/snweb-1"),
            ("GET", f"/api/v1/servers/{other.id}/machine"),
            ("POST", f"/api/v1/servers/{other.id}/snapshots"),
            ("POST", "/api/v1/groups/web/snapshots"),
            ("POST", f"/api/v1/servers/{other.id}/commands/queue"),
            ("DELETE", "/api/v1/snapshots/snweb-1"),
        ):
            answer = await bob.ask(method, path)
            assert answer.status in (403, 404), (path, answer.text)
        assert (await bob.post(f"/api/v1/servers/{mine.id}/snapshots")).status == 201
        everywhere = await bob.post("/api/v1/plugins", json=MONITOR)
        assert (everywhere.status, "all servers" in everywhere.text) == (403, True)
        assert (
            await bob.post("/api/v1/plugins", json={**MONITOR, "groups": ["web"]})
        ).status == 403
        assert (await bob.post("/api/v1/plugins", json={**MONITOR, "groups": ["db"]})).status == 201
        app = AppClient(bob)
        assert set((await app.ok("get_quickmon_data"))["servers"]) == {mine.id}
        rows = (await app.ok("search_snapshots", query="hostname:web-1", limit=9))["rows"]
        assert rows == []
        await app.refused("update_plugin", "access", 403, id="queue", groups=[])


async def test_xyops_finds_snapshots_in_its_own_form(site: Site, store: Store) -> None:
    server = await sampled(store, connections={"list": [{"type": "tcp", "state": "LISTEN"}]})
    async with site.somebody("administrator") as alice:
        app = AppClient(alice)
        id_ = (await app.ok("create_snapshot", server=server.id))["id"]
        shown = (await app.ok("get_snapshot", id=id_))["snapshot"]
        assert (shown["type"], shown["source"], shown["version"]) == ("server", "user", "1.0")
        assert shown["data"]["conns"][0]["state"] == "LISTEN"
        assert shown["quickmon"][1]["_qm_cpu_load"] == 1.5
        assert len(shown["quickmon"][1]) == 9
        group = (await app.ok("create_group_snapshot", group="main"))["id"]
        shown = (await app.ok("get_snapshot", id=group))["snapshot"]
        assert shown["servers"][0]["hostname"] == "db-1"
        assert shown["snapshots"][0]["load"][0] == 1.5
        data = (await app.ok("get_server", id=server.id))["data"]
        assert (data["load"][0], data["conns"][0]["state"]) == (1.5, "LISTEN")
        found = await app.ok("search_snapshots", query="type:group", limit=5)
        assert [one["id"] for one in found["rows"]] == [group]
        found = await app.ok("search_snapshots", query="hostname:db-1", verbose=True)
        assert found["rows"][0]["data"]["load"][0] == 1.5
        await store.call("SET", Fleet("").snapshot(group), b"spoiled")
        found = await app.ok("search_snapshots", query="*", limit=5, verbose=True)
        assert [("data" in one, one["id"]) for one in found["rows"]] == [
            (False, group),
            (True, id_),
        ]
        await app.ok("watch_server", id=server.id, duration=60)
        await app.ok("watch_group", id="main", duration=60)
        assert len(await watches.every(store)) == 2
        await app.ok("watch_server", id=server.id, duration=0)
        assert [one.watch.type for one in await watches.every(store)] == ["group"]
        await app.ok("delete_snapshot", id=id_)
        await app.refused("get_snapshot", "snapshot", 404, id=id_)


async def test_a_search_shows_the_data_of_so_many_servers_only(site: Site, store: Store) -> None:
    server = await sampled(store)
    group = await groups.get(store, "main")
    for number in range(2):
        taking = Taking(source="user", now=NOW + number, id=f"sn{number}")
        head, _ = await snapshots.take_server(store, server, taking)
        large = msgspec.structs.replace(head, type="group", groups=(group.id,), servers=600)
        await store.call("HSET", Fleet("").snapshot_heads(), head.id, msgspec.json.encode(large))
    async with site.somebody("viewer") as bob:
        app = AppClient(bob)
        asked = {"query": "type:group", "verbose": True}
        reason = await app.refused("search_snapshots", "api", 400, limit=-1, **asked)
        assert "1,200 servers" in reason
        assert len((await app.ok("search_snapshots", limit=1, **asked))["rows"]) == 1


@pytest.fixture(autouse=True)
async def main_group(store: Store) -> None:
    await groups.create(store, {"title": "Main"}, "alice", NOW, "main")
