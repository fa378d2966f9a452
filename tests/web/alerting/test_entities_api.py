"""Entities over HTTP: found, tagged, renamed, removed, imported."""

from typing import Any

import pytest

from tests.alerting.scenes import Stage
from tests.web.site import Site
from watchbell.alerting import entities
from watchbell.alerting.entities import Entity
from watchbell.alerting.keys import Alerting
from watchbell.store.client import Store
from watchbell.web import audit

KEYS = Alerting()
PATH = "/api/v1/entity"


async def known(store: Store) -> dict[str, Entity]:
    return {one.name: one for one in await entities.find(store)}


async def test_entities_are_listed_with_their_checks_and_contacts(site: Site, store: Store) -> None:
    for entity in (
        Entity(id="1", name="web-1", tags=("eu", "web"), contacts=("alice",)),
        Entity(id="2", name="web-2/ü", tags=("us",), check_contacts={"Disk: /": ("bob",)}),
        Entity(id="ALL", name="ALL", contacts=("charlie",)),
    ):
        await entities.save(store, entity, with_checks=True)
    await store.call("ZADD", KEYS.entity_checks("web-1"), 1, "HTTP", 2, "PING")
    async with site.program("read") as reader:

        async def listed(query: str = "") -> Any:
            return (await reader.get(f"/api/v1/entities{query}")).json()

        page = await listed()
        assert [one["name"] for one in page["items"]] == ["ALL", "web-1", "web-2/ü"]
        version = page["items"][1].pop("version")
        assert page["items"][1] == {
            "name": "web-1",
            "id": "1",
            "tags": ["eu", "web"],
            "contacts": ["alice"],
            "check_contacts": {},
            "checks": 2,
            "failing": 0,
        }
        first = await listed("?limit=1")
        assert (first["items"][0]["name"], first["next"]) == ("ALL", "ALL\tALL")
        more = await listed("?limit=5&cursor=ALL%09ALL")
        assert [one["name"] for one in more["items"]] == ["web-1", "web-2/ü"]
        for query, names in (
            ("?text=WEB-", ["web-1", "web-2/ü"]),
            ("?text=eu", ["web-1"]),
            ("?tag=us", ["web-2/ü"]),
            ("?contact=bob", ["web-2/ü"]),
            ("?contact=charlie", ["ALL"]),
            ("?text=nothing", []),
        ):
            assert [one["name"] for one in (await listed(query))["items"]] == names, query
        one = await reader.get(PATH, params={"name": "Web-1"})
        assert one.json()["version"] == version
        assert (await reader.get(PATH, params={"name": "web-9"})).status == 404


async def test_failing_entities_are_listed_alone(site: Site, store: Store) -> None:
    stage = Stage(store)
    for name, state in (("web-1:HTTP", "critical"), ("web-1:PING", "warning"), ("db-1:Load", "ok")):
        await stage.send(state, name)
    async with site.program("read") as reader:
        found = (await reader.get("/api/v1/entities?failing=true")).json()["items"]
        assert [(one["name"], one["failing"]) for one in found] == [("web-1", 2)]
        everything = (await reader.get("/api/v1/entities")).json()["items"]
        assert [(one["name"], one["failing"]) for one in everything] == [("db-1", 0), ("web-1", 2)]


async def test_an_entity_is_made_tagged_renamed_and_removed(site: Site, store: Store) -> None:
    async with site.somebody("editor") as editor:
        new = await editor.post("/api/v1/entities", json={"name": "Web-1", "tags": ["eu"]})
        assert (new.status, new.json()["name"]) == (201, "web-1")
        again = await editor.post("/api/v1/entities", json={"name": "web-1"})
        assert (again.status, again.json()["errors"][0]["field"]) == (422, "name")
        change = {"name": "www-1", "tags": ["eu", "web"], "contacts": ["alice"]}
        mine = {"If-Match": new.json()["version"]}
        renamed = await editor.ask("PUT", PATH, params={"name": "web-1"}, json=change, headers=mine)
        assert (renamed.status, renamed.json()["id"]) == (200, new.json()["id"])
        late = await editor.ask("PUT", PATH, params={"name": "www-1"}, json=change, headers=mine)
        assert late.status == 412
        assert (await known(store))["www-1"].tags == ("eu", "web")
        assert (await editor.ask("DELETE", PATH, params={"name": "www-1"})).status == 204
        assert (await editor.ask("DELETE", PATH, params={"name": "www-1"})).status == 404
    assert await known(store) == {}
    entries = [one.entry for one in await audit.read(store, "", 9)]
    assert [(one.action, one.details) for one in entries if "entity" in one.action] == [
        ("entity.remove", ""),
        ("entity.change", "renamed to www-1"),
        ("entity.add", ""),
    ]


@pytest.mark.parametrize(
    "change", [{"name": "a:b"}, {"name": "check"}, {"name": "{a"}, {"tags": ["\u0001"]}]
)
async def test_what_is_no_entity_is_refused_by_field(site: Site, change: dict[str, Any]) -> None:
    async with site.program("write") as editor:
        await editor.post("/api/v1/entities", json={"name": "web-1"})
        made = await editor.post("/api/v1/entities", json={"name": "web-2"} | change)
        body = {"name": "web-1"} | change
        changed = await editor.ask("PUT", PATH, params={"name": "web-1"}, json=body)
    for answer in (made, changed):
        assert answer.status == 422, answer.text
        assert answer.json()["errors"][0]["field"] == next(iter(change))


async def test_everything_keeps_its_name_and_has_contacts_only(site: Site, store: Store) -> None:
    await entities.save(store, Entity(id="ALL", name="ALL", contacts=("alice",)))
    async with site.program("write") as editor:
        for body, status in (
            ({"name": "ALL", "contacts": ["bob"]}, 200),
            ({"name": "all"}, 422),
            ({"name": "ALL", "tags": ["eu"]}, 422),
        ):
            answer = await editor.ask("PUT", PATH, params={"name": "ALL"}, json=body)
            assert answer.status == status, answer.text
    assert (await known(store))["ALL"].contacts == ("bob",)


async def test_files_of_the_command_line_are_imported_and_exported(
    site: Site, store: Store
) -> None:
    given = [
        {"id": 10001, "name": "web-1", "contacts": ["alice"], "check_contacts": {"HTTP": ["bob"]}},
        {"name": "skipped"},
        {"id": "2", "name": "a:b"},
    ]
    async with site.program("write") as editor, site.program("operate") as operator:
        taken = (await editor.post("/api/v1/entities/import", json=given)).json()
        exported = (await operator.get("/api/v1/entities/export")).json()
        for method, path in (("POST", "/api/v1/entities"), ("PUT", PATH), ("DELETE", PATH)):
            answer = await operator.ask(method, path, params={"name": "web-1"}, json=given[1])
            assert answer.status == 403
        assert (await operator.post("/api/v1/entities/import", json=given)).status == 403
    assert [one["status"] for one in taken] == ["imported", "skipped", "refused"]
    assert exported == [
        {
            "id": "10001",
            "name": "web-1",
            "contacts": ["alice"],
            "tags": [],
            "check_contacts": {"HTTP": ["bob"]},
        }
    ]
    assert (await known(store))["web-1"].check_contacts == {"HTTP": ("bob",)}
