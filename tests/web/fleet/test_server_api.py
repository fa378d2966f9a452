"""The API of servers, tokens and groups, as people and programs use it."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.fleet.crew import NOW, join, sample
from tests.jobs.assigned import FLEET, JOBS, sent
from tests.waiting import eventually
from tests.web.app_api.app_client import AppClient
from tests.web.fleet.agents import joined, linked
from tests.web.site import BY, Site, Visitor
from watchbell.fleet import groups, samples, servers
from watchbell.fleet.messages import Sampled
from watchbell.store.client import Store
from watchbell.web.people.rights import Rights


async def rows(visitor: Visitor, query: str = "") -> list[Any]:
    answer = await visitor.get(f"/api/v1/servers{query}")
    assert answer.status == 200, answer.text
    found: list[Any] = answer.json()["items"]
    return found


async def test_servers_are_listed_with_their_state(site: Site, store: Store) -> None:
    await groups.create(store, {"title": "Databases", "hostname_match": "^db-"}, "alice", NOW, "db")
    offline, _ = await join(store, "web-1")
    disabled, _ = await join(store, "web-2")
    await servers.update(store, disabled.id, {"enabled": False, "title": "A spare"}, NOW)
    async with joined(site) as (_, welcome), site.program("read") as program:
        await sent(store, welcome.server, "j1")
        page = (await program.get("/api/v1/servers")).json()
        found = {row["id"]: row for row in page["items"]}
        assert [row["hostname"] for row in page["items"]] == ["web-2", "db-1", "web-1"]
        assert found[welcome.server]["state"] == "online"
        assert found[welcome.server]["groups"] == ["db"]
        assert found[welcome.server]["slots"] == 8
        assert found[offline.id]["state"] == "offline"
        assert found[disabled.id]["state"] == "disabled"
        assert page["counts"] == {
            "online": 1,
            "offline": 1,
            "disabled": 1,
            "jobs": 1,
            "slots": 8,
            "alerting": 0,
        }
        for query, names in (
            ("?group=db", ["db-1"]),
            ("?online=true", ["db-1"]),
            ("?online=false", ["web-2", "web-1"]),
            ("?enabled=false", ["web-2"]),
            ("?text=SPARE", ["web-2"]),
            ("?text=web%20main", ["web-2", "web-1"]),
            ("?sort=state", ["web-1", "db-1", "web-2"]),
            ("?sort=jobs&limit=1", ["db-1"]),
            ("?reverse=true", ["web-1", "db-1", "web-2"]),
        ):
            assert [row["hostname"] for row in await rows(program, query)] == names, query
        first = (await program.get("/api/v1/servers?limit=2")).json()
        assert first["count"] == 3
        rest = await rows(program, f"?limit=2&cursor={first['next']}")
        assert [row["hostname"] for row in rest] == ["web-1"]
        assert (await program.get("/api/v1/servers?cursor=x")).status == 400


async def test_a_list_of_servers_is_followed(site: Site, store: Store) -> None:
    server, _ = await join(store, "db-1")
    async with site.program("read") as program:
        page = (await program.get("/api/v1/servers")).json()
        assert [row["state"] for row in page["items"]] == ["offline"]
        url = f"{site.url}/api/v1/servers/live?resume={page['moment']}"
        async with program.http.get(url) as stream, linked(site, await token_for(site)) as agent:
            seen: list[Any] = []

            async def until_online() -> None:
                async for line in stream.content:
                    if line.startswith(b"data: {"):
                        change = msgspec.json.decode(line.removeprefix(b"data: "))
                        seen.extend(change["rows"])
                        if any(row["state"] == "online" for row in seen):
                            return

            waiting = asyncio.create_task(until_online())
            await agent.greet("db-1")
            await waiting
        assert {row["id"] for row in seen} == {server.id}


async def token_for(site: Site) -> str:
    async with site.program("admin") as program:
        answer = await program.post("/api/v1/servers/tokens", json={"hostname": "db-1"})
    assert answer.status == 201
    secret: str = answer.json()["secret"]
    return secret


async def test_a_server_is_shown_changed_and_removed(site: Site, store: Store) -> None:
    async with joined(site) as (agent, welcome), site.program("admin") as program:
        path = f"/api/v1/servers/{welcome.server}"
        await agent.send(Sampled(sample=sample(5, cpu=12.5)))
        await eventually(lambda: samples.latest(store))
        shown = (await program.get(path)).json()
        assert shown["row"]["hostname"] == "db-1"
        assert shown["info"]["cpu"] == {"cores": 2}
        assert shown["sample"]["cpu"] == 12.5
        change = {"title": "Main", "maxJobs": 2, "userData": {"rack": 5}, "enabled": False}
        headers = {"If-Match": f'"{shown["revision"]}"'}
        answer = await program.ask("PATCH", path, json=change, headers=headers)
        assert answer.status == 200, answer.text
        changed = answer.json()
        assert (changed["row"]["title"], changed["maxJobs"]) == ("Main", 2)
        assert (changed["userData"], changed["row"]["state"]) == ({"rack": 5}, "disabled")
        stale = await program.ask("PATCH", path, json={"title": "x"}, headers=headers)
        assert stale.status == 412
        back = await program.ask("PATCH", path, json={"maxJobs": None})
        assert back.json()["maxJobs"] is None
        wrong = await program.ask("PATCH", path, json={"groups": ["none"]})
        assert (wrong.status, wrong.json()["errors"][0]["field"]) == (422, "groups")
        await sent(store, welcome.server, "j1")
        busy = await program.ask("DELETE", path)
        assert (busy.status, busy.json()["code"]) == (422, "busy")
        await store.call("DEL", JOBS.server_jobs(welcome.server))
        assert (await program.ask("DELETE", path)).status == 204
        assert (await agent.refused()).is_final
        assert (await program.get(path)).status == 404
        audit = (await program.get("/api/v1/audit")).json()
        actions = {one["action"] for one in audit["items"]}
        assert {"server.change", "server.remove"} <= actions


async def test_samples_of_a_server(site: Site, store: Store) -> None:
    server, _ = await join(store, "db-1")
    begun = NOW - NOW % 3600
    for n in (58, 59, 60):
        one = samples.Sampled(server.id, sample(begun + 60 * n, cpu=float(n)), True)
        await samples.record(store, [one])
    async with site.program("read") as program:
        path = f"/api/v1/servers/{server.id}/samples"
        minutes = (await program.get(path)).json()["items"]
        assert [one["cpu"] for one in minutes] == [60.0, 59.0, 58.0]
        hours = (await program.get(f"{path}?resolution=hour")).json()["items"]
        assert [one["cpu"] for one in hours] == [58.5]
        assert (await program.get("/api/v1/servers/none/samples")).status == 404


async def test_tokens_are_created_listed_and_revoked(site: Site, store: Store) -> None:
    await groups.create(store, {"title": "Databases"}, "alice", NOW, "db")
    async with site.somebody("administrator", "alice") as alice:
        wish = {"hostname": "db-1", "groups": ["db"], "hours": 1}
        answer = await alice.post("/api/v1/servers/tokens", json=wish)
        made = answer.json()
        assert (answer.status, made["token"]["created_by"]) == (201, "alice")
        assert made["command"].endswith(f"--token {made['secret']}")
        assert made["token"]["expires"] == made["token"]["created"] + 3600
        listed = (await alice.get("/api/v1/servers/tokens")).json()["items"]
        assert listed == [made["token"]]
        assert made["secret"] not in str(listed)
        path = f"/api/v1/servers/tokens/{made['token']['id']}"
        assert (await alice.ask("DELETE", path)).status == 204
        assert (await alice.get("/api/v1/servers/tokens")).json()["items"] == []
        wrong = await alice.post("/api/v1/servers/tokens", json={"groups": ["none"]})
        assert (wrong.status, wrong.json()["errors"][0]["field"]) == (422, "groups")


async def test_the_tokens_of_a_server_are_revoked(site: Site) -> None:
    async with joined(site) as (agent, welcome), site.program("admin") as program:
        answer = await program.post(f"/api/v1/servers/{welcome.server}/revoke")
        assert answer.status == 204
        assert (await agent.refused()).is_final


async def test_a_token_names_the_server_that_has_joined_with_it(site: Site) -> None:
    async with site.program("admin") as program:
        made = (await program.post("/api/v1/servers/tokens", json={"hostname": "db-1"})).json()
        path = f"/api/v1/servers/tokens/{made['token']['id']}"
        assert (await program.get(path)).json()["server"] == ""
        async with linked(site, made["secret"]) as agent:
            first = await agent.greet("db-1")
            assert (await program.get(path)).json()["server"] == first.server
        async with linked(site, first.token) as agent:  # and so it has replaced the one before
            await agent.greet("db-1")
            assert (await program.get(path)).json()["server"] == first.server
        listed = (await program.get(f"/api/v1/servers/{first.server}/tokens")).json()["items"]
        assert [one["id"] for one in listed] == [first.token.split("_")[1]]
        assert (await program.get("/api/v1/servers/tokens/none")).status == 404


async def test_the_token_of_a_server_is_rotated(site: Site) -> None:
    async with joined(site) as (_, welcome):
        pass
    path = f"/api/v1/servers/{welcome.server}"
    async with site.program("admin") as program:
        async with linked(site, welcome.token) as agent:
            assert (await agent.greet("db-1")).token == ""
            for _ in range(2):  # to repeat it changes nothing
                assert (await program.post(f"{path}/rotate")).status == 204
            assert not (await agent.refused()).is_final
        async with linked(site, welcome.token) as agent:
            second = await agent.greet("db-1")
            assert second.token
        async with linked(site, second.token) as agent:
            assert (await agent.greet("db-1")).token == ""
        assert len((await program.get(f"{path}/tokens")).json()["items"]) == 1
        assert (await program.post(f"{path}/revoke")).status == 204
        assert (await program.post(f"{path}/rotate")).status == 422


async def test_an_expression_is_tried_before_a_group_is_saved(site: Site, store: Store) -> None:
    for hostname in ("db-2", "db-1", "web-1"):
        await join(store, hostname)
    async with site.program("read") as program:
        answer = await program.get("/api/v1/groups/matching?hostname_match=%5Edb-")
        assert answer.json() == {"hostnames": ["db-1", "db-2"], "count": 2}
        wrong = await program.get("/api/v1/groups/matching?hostname_match=(")
        assert (wrong.status, wrong.json()["errors"][0]["field"]) == (422, "hostname_match")


async def test_groups_are_managed(site: Site, store: Store) -> None:
    await join(store, "db-1")
    async with site.somebody("editor", "bob") as bob:
        wish = {"id": "db", "title": "Databases", "hostname_match": "^db-"}
        made = await bob.post("/api/v1/groups", json=wish)
        assert made.status == 201, made.text
        assert (made.json()["servers"], made.json()["online"]) == (1, 0)
        assert made.json()["username"] == "bob"
        headers = {"If-Match": '"1"'}
        change = {"title": "SQL", "max_jobs_per_server": 3}
        changed = await bob.ask("PATCH", "/api/v1/groups/db", json=change, headers=headers)
        assert (changed.json()["title"], changed.json()["revision"]) == ("SQL", 2)
        stale = await bob.ask("PATCH", "/api/v1/groups/db", json=change, headers=headers)
        assert stale.status == 412
        listed = (await bob.get("/api/v1/groups")).json()["items"]
        assert [one["max_jobs_per_server"] for one in listed] == [3]
        wrong = await bob.post("/api/v1/groups", json={"title": "x", "hostname_match": "("})
        assert (wrong.status, wrong.json()["errors"][0]["field"]) == (422, "hostname_match")
        assert (await bob.get("/api/v1/groups/db")).status == 200
        assert (await bob.ask("DELETE", "/api/v1/groups/db")).status == 204
        assert (await bob.get("/api/v1/groups/db")).status == 404
    assert (await servers.every(store))[0].groups == ("main",)


@pytest.mark.parametrize("key", ["servers", "links", "samples", "groups"])
async def test_a_spoilt_key_spoils_no_list(site: Site, store: Store, key: str) -> None:
    server, _ = await join(store, "db-1")
    name: str = getattr(FLEET, key)()
    await store.call("HSET", name, "odd", "no JSON")
    if key in ("links", "samples"):
        await store.call("HSET", name, server.id, "no JSON")
    async with site.program("read") as program:
        assert [row["hostname"] for row in await rows(program)] == ["db-1"]
        assert (await program.get("/api/v1/groups")).status == 200


LIMITED = Rights(privileges=("add_servers", "update_servers"), groups=("web",))


@pytest.fixture
async def grouped(site: Site, store: Store) -> None:
    """Charlie has access to the group web alone."""
    for name in ("web", "db"):
        await groups.create(store, {"title": name, "hostname_match": f"^{name}-"}, "", NOW, name)
    await join(store, "web-1")
    await join(store, "db-1")
    await site.services.users.add("charlie", "editor", BY, LIMITED)


@pytest.mark.usefixtures("grouped")
@pytest.mark.parametrize(
    ("wish", "status"),
    [
        ({"groups": ["web"]}, 201),
        ({"groups": ["web", "db"]}, 403),
        ({}, 403),
        ({"groups": ["web"], "hostname": "DB-1."}, 403),
        ({"groups": ["web"], "hostname": "web-1"}, 201),
    ],
)
async def test_servers_join_only_the_groups_of_who_created_the_token(
    site: Site, wish: dict[str, Any], status: int
) -> None:
    async with site.somebody("editor", "charlie") as charlie:
        assert (await charlie.post("/api/v1/servers/tokens", json=wish)).status == status


@pytest.mark.usefixtures("grouped")
async def test_people_see_only_servers_of_their_groups(site: Site, store: Store) -> None:
    ids = {one.hostname: one.id for one in await servers.every(store)}
    async with site.somebody("editor", "charlie") as charlie, site.somebody("viewer") as alice:
        assert {row["hostname"] for row in await rows(alice)} == {"web-1", "db-1"}
        page = (await charlie.get("/api/v1/servers")).json()
        assert [row["hostname"] for row in page["items"]] == ["web-1"]
        assert (page["count"], page["counts"]["offline"]) == (1, 1)
        assert await rows(charlie, "?group=db") == []
        matching = "/api/v1/groups/matching?hostname_match=."
        assert (await charlie.get(matching)).json() == {"hostnames": ["web-1"], "count": 1}
        for path in ("", "/samples"):
            for hostname, status in (("web-1", 200), ("db-1", 403)):
                answer = await charlie.get(f"/api/v1/servers/{ids[hostname]}{path}")
                assert answer.status == status
        targets = (await charlie.get("/api/v1/events/options")).json()["targets"]
        assert [one["title"] for one in targets if one["kind"] == "server"] == ["web-1"]
        app = AppClient(charlie)
        found = await app.ok("search_servers", query="*")
        assert [row["hostname"] for row in found["rows"]] == ["web-1"]
        assert (await app.ok("get_server", id=ids["web-1"]))["online"] is False
        assert (await app.ask("get_server", id=ids["db-1"])).status == 403
        jobs = (await charlie.get("/api/v1/overview")).json()["jobs"]
        assert (jobs["servers"], [one["title"] for one in jobs["down"]]) == (1, ["web-1"])


@pytest.mark.usefixtures("grouped")
async def test_the_live_list_leaves_servers_of_other_groups_out(site: Site, store: Store) -> None:
    async with site.somebody("editor", "charlie") as charlie:
        await rows(charlie)
        url = f"{site.url}/api/v1/servers/live"
        async with charlie.http.get(url) as stream, asyncio.timeout(30):
            assert stream.status == 200
            await stream.content.readuntil(b"\n\n")
            for hostname in ("db-2", "web-2"):
                await join(store, hostname)
            said = b""
            while b"web-2" not in said:
                said += await stream.content.readuntil(b"\n\n")
            assert b"db-2" not in said


@pytest.mark.usefixtures("grouped")
async def test_a_token_for_foreign_groups_is_not_revoked(site: Site) -> None:
    async with site.somebody("administrator") as alice, site.somebody("editor", "charlie") as bob:
        for wish, status in (({"groups": ["db"]}, 403), ({}, 403), ({"groups": ["web"]}, 204)):
            made = await alice.post("/api/v1/servers/tokens", json=wish)
            path = f"/api/v1/servers/tokens/{made.json()['token']['id']}"
            assert (await bob.ask("DELETE", path)).status == status


@pytest.mark.usefixtures("grouped")
@pytest.mark.parametrize(
    ("hostname", "change", "status"),
    [
        ("web-1", {"title": "Mine"}, 200),
        ("web-1", {"groups": ["web"]}, 200),
        ("web-1", {"groups": ["web", "db"]}, 403),
        ("web-1", {"groups": []}, 403),
        ("web-1", {"hostname": "db-2"}, 403),
        ("db-1", {"title": "Mine"}, 403),
    ],
)
async def test_a_server_gets_into_no_foreign_group(
    site: Site, store: Store, hostname: str, change: dict[str, Any], status: int
) -> None:
    (one,) = [one for one in await servers.every(store) if one.hostname == hostname]
    async with site.somebody("editor", "charlie") as charlie:
        path = f"/api/v1/servers/{one.id}"
        assert (await charlie.ask("PATCH", path, json=change)).status == status


@pytest.mark.usefixtures("grouped")
async def test_only_own_groups_are_changed_and_no_servers_drawn_into_them(site: Site) -> None:
    async with site.somebody("editor", "charlie") as charlie:
        for path, change, status in (
            ("web", {"title": "Sites"}, 200),
            ("web", {"hostname_match": ".*"}, 403),
            ("db", {"title": "Mine"}, 403),
        ):
            answer = await charlie.ask("PATCH", f"/api/v1/groups/{path}", json=change)
            assert answer.status == status
        assert (await charlie.ask("DELETE", "/api/v1/groups/db")).status == 403
        wish = {"title": "All", "hostname_match": ".*"}
        assert (await charlie.post("/api/v1/groups", json=wish)).status == 403
