"""Categories, plugins, channels and tags over HTTP."""

from typing import Any

import pytest

from tests.web.site import BY, Site
from watchbell.jobs import stock
from watchbell.jobs.keys import Jobs
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.people.rights import Rights

NEW: dict[str, dict[str, Any]] = {
    "categories": {"title": "Reports", "color": "blue"},
    "plugins": {"title": "Backup", "command": "/usr/bin/backup", "env": {"KEY": "hunter2"}},
    "channels": {"title": "On call", "email": "alice@example.com"},
    "tags": {"title": "Important"},
}


@pytest.mark.parametrize("path", NEW)
async def test_a_definition_is_added_shown_changed_and_deleted(
    site: Site, store: Store, path: str
) -> None:
    await stock.ensure(store, 1_000)
    async with site.somebody("editor") as alice:
        made = await alice.post(f"/api/v1/{path}", json=NEW[path])
        assert made.status == 201, made.text
        one = f"/api/v1/{path}/{made.json()['id']}"
        shown = (await alice.get(one)).json()
        assert shown["record"].items() >= NEW[path].items()
        changed = await alice.ask("PUT", one, json={"title": "Other"}, headers={"If-Match": "1"})
        assert changed.json()["revision"] == 2
        listed = (await alice.get(f"/api/v1/{path}")).json()
        assert "Other" in [row["record"]["title"] for row in listed]
        stale = await alice.ask("PUT", one, json={"title": "Late"}, headers={"If-Match": "1"})
        assert stale.status == 412
        revisions = (await alice.get(f"{one}/revisions")).json()
        assert revisions[0]["changes"] == [
            {"field": "title", "old": NEW[path]["title"], "new": "Other"}
        ]
        restored = await alice.post(f"{one}/revisions/1/restore")
        assert restored.json()["revision"] == 3
        assert (await alice.get(one)).json()["record"]["title"] == NEW[path]["title"]
        assert (await alice.ask("DELETE", one)).status == 204
        assert (await alice.get(one)).status == 404
    entries = [found.entry.action for found in await audit.read(store, "", 10)]
    assert entries[:4] == [f"{path}.{word}" for word in ("delete", "restore", "update", "create")]


@pytest.mark.parametrize("path", NEW)
async def test_an_operator_reads_definitions_and_changes_none(site: Site, path: str) -> None:
    async with site.somebody("operator") as bob:
        assert (await bob.get(f"/api/v1/{path}")).status == 200
        assert (await bob.post(f"/api/v1/{path}", json=NEW[path])).status == 403


async def test_the_environment_of_a_plugin_is_masked_for_readers(site: Site) -> None:
    async with site.somebody("editor") as alice, site.somebody("viewer") as bob:
        made = (await alice.post("/api/v1/plugins", json=NEW["plugins"])).json()["id"]
        await alice.ask("PUT", f"/api/v1/plugins/{made}", json={"env": {"KEY": "hunter3"}})
        for path in (f"/api/v1/plugins/{made}", f"/api/v1/plugins/{made}/revisions"):
            assert "hunter" in (await alice.get(path)).text
            assert "hunter" not in (await bob.get(path)).text
        assert "hunter" not in (await bob.get("/api/v1/plugins")).text


async def test_a_wrong_property_is_named(site: Site) -> None:
    async with site.somebody("editor") as alice:
        answer = await alice.post("/api/v1/categories", json={"title": 5})
        assert (answer.status, answer.json()["errors"][0]["field"]) == (422, "title")


async def test_a_spoiled_record_is_listed_with_its_problem(site: Site, store: Store) -> None:
    await store.call("HSET", Jobs(store.prefix).tags(), "broken", "{")
    async with site.somebody("viewer") as bob:
        rows = (await bob.get("/api/v1/tags")).json()
        assert [row["record"]["id"] for row in rows if row["problem"]] == ["broken"]


async def test_a_foreign_category_is_not_changed(site: Site) -> None:
    await site.services.users.add("dave", "editor", BY, Rights(categories=("reports",)))
    async with site.somebody("editor") as alice, site.somebody("editor", "dave") as dave:
        for name in ("reports", "payroll"):
            wish = {"id": name, "title": name}
            assert (await alice.post("/api/v1/categories", json=wish)).status == 201
        path, change = "/api/v1/categories", {"notes": "Mine"}
        assert (await dave.ask("PUT", f"{path}/reports", json=change)).status == 200
        assert (await dave.ask("PUT", f"{path}/payroll", json=change)).status == 403
        assert (await dave.post(f"{path}/payroll/revisions/1/restore")).status == 403
        assert (await dave.ask("DELETE", f"{path}/payroll")).status == 403
        assert (await dave.post("/api/v1/events/gone/flush-queue")).status == 403


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("channels", {"title": "C", "run_event": "pay"}),
        (
            "categories",
            {
                "id": "reports",
                "title": "R",
                "actions": [{"trigger": "error", "type": "run_event", "event_id": "pay"}],
            },
        ),
    ],
)
async def test_nobody_runs_a_foreign_event_by_a_definition(
    site: Site, store: Store, path: str, values: dict[str, Any]
) -> None:
    await stock.ensure(store, 1_000)
    pay = {"id": "pay", "title": "Pay", "category": "payroll", "params": {"script": "true"}}
    rights = Rights(categories=("reports",))
    await site.services.users.add("dave", "editor", BY, rights)
    async with site.somebody("editor") as alice, site.somebody("editor", "dave") as dave:
        assert (await alice.post("/api/v1/events", json=pay)).status == 201
        assert (await dave.post(f"/api/v1/{path}", json=values)).status == 403
        made = await alice.post(f"/api/v1/{path}", json=values)
        assert made.status == 201, made.text
        one = f"/api/v1/{path}/{made.json()['id']}"
        assert (await dave.ask("PUT", one, json=values)).status == 403
        assert (await dave.ask("PUT", one, json={"title": "Other"})).status == 200
        assert (await dave.post(f"{one}/revisions/1/restore")).status == 403
