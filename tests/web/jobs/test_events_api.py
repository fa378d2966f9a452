"""Events over HTTP: what there is, how each is doing, and what people do with them."""

import asyncio
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from tests.gateways.gates import Gate, GatedStore
from tests.web.site import BY, Site, Visitor, served
from watchbell.actors import system
from watchbell.jobs import definitions, job_records, stock
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Event
from watchbell.jobs.parameters import MASK
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.people.rights import Rights

DAILY = {"type": "schedule", "hours": [2], "minutes": [30], "timezone": "Europe/Rome"}
BACKUP: dict[str, Any] = {
    "title": "Nightly backup",
    "params": {"script": "#!/bin/sh\npg_dump shop\n"},
    "timings": [DAILY],
    "tags": ["important"],
}


@pytest.fixture(autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, 1_000)


async def made(visitor: Visitor, **more: Any) -> str:
    answer = await visitor.post("/api/v1/events", json=BACKUP | more)
    assert answer.status == 201, answer.text
    identifier: str = answer.json()["id"]
    return identifier


async def titles(visitor: Visitor, **query: Any) -> list[str]:
    answer = await visitor.get("/api/v1/events", params=query)
    assert answer.status == 200, answer.text
    return [row["title"] for row in answer.json()["items"]]


async def test_an_event_is_added_shown_changed_and_deleted(site: Site, store: Store) -> None:
    async with site.somebody("editor") as alice:
        one = f"/api/v1/events/{await made(alice)}"
        shown = (await alice.get(one)).json()
        assert shown["event"]["params"] == BACKUP["params"]
        assert shown["row"]["words"] == "at 02:30 every day, Europe/Rome"
        assert shown["row"]["status"] == "idle"
        assert [fire["at"] for fire in shown["next"]][:3] == shown["row"]["next"]
        assert " 02:30 CE" in shown["next"][0]["local"]
        assert shown["obstacle"] == ""
        changed = await alice.ask("PUT", one, json={"notes": "Ask Bob."}, headers={"If-Match": "1"})
        assert changed.json()["revision"] == 2
        stale = await alice.ask("PUT", one, json={"notes": ""}, headers={"If-Match": "1"})
        assert stale.status == 412
        for tag, status in (('W/"2"', 200), ("*", 200), ("second", 400)):
            answer = await alice.ask("PUT", one, json={"icon": ""}, headers={"If-Match": tag})
            assert answer.status == status, tag
        assert (await alice.get(one)).json()["event"]["notes"] == "Ask Bob."
        assert (await alice.ask("DELETE", one)).status == 204
        assert (await alice.get(one)).status == 404
        assert await titles(alice) == []
    found = [entry.entry.action for entry in await audit.read(store, "", 5)]
    assert found == ["events.delete", *["events.update"] * 3, "events.create"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("PUT", "", {"notes": "Ask Bob."}), ("POST", "/disable", None)],
)
async def test_an_event_that_is_moved_while_access_is_checked_is_not_changed(
    store: Store, method: str, path: str, body: dict[str, Any] | None
) -> None:
    events = Jobs(store.prefix).events()
    async with GatedStore(store) as gated, served(gated) as site:
        await site.services.users.add("dave", "editor", BY, Rights(categories=("reports",)))
        async with site.somebody("editor", "dave") as dave:
            event = await made(dave, category="reports")
            gate = Gate(lambda command: command[:2] == ("HGET", events), loses=False)
            gated.gates.append(gate)
            change = asyncio.create_task(
                dave.ask(method, f"/api/v1/events/{event}{path}", json=body)
            )
            await gate.reached.wait()
            moved = {"category": "payroll"}
            await definitions.update(store, "event", event, moved, system("tests"), 2_000)
            gate.open()
            answer = await change
    assert (answer.status, "load it again" in answer.text) == (409, True)
    found = await definitions.get(store, "event", event)
    assert isinstance(found, Event)
    assert (found.category, found.notes, found.enabled, found.revision) == ("payroll", "", True, 2)


async def test_a_disabled_event_has_no_next_run_and_says_why(site: Site) -> None:
    async with site.somebody("editor") as alice:
        one = f"/api/v1/events/{await made(alice)}"
        assert (await alice.post(f"{one}/disable")).json()["next"] is None
        shown = (await alice.get(one)).json()
        assert (shown["row"]["status"], shown["next"]) == ("disabled", [])
        assert shown["obstacle"] == "the event is disabled"
        assert (await alice.post(f"{one}/enable")).json()["next"] is not None


async def test_events_are_filtered_sorted_and_paged(site: Site) -> None:
    async with site.somebody("editor") as alice:
        for title in ("Charlie", "alpha", "Bravo"):
            await made(alice, title=title, tags=["x"] if title == "alpha" else [])
        assert await titles(alice) == ["alpha", "Bravo", "Charlie"]
        assert await titles(alice, sort="-title") == ["Charlie", "Bravo", "alpha"]
        assert await titles(alice, tag="x") == ["alpha"]
        assert await titles(alice, text="RAV") == ["Bravo"]
        assert await titles(alice, target="other") == []
        first = (await alice.get("/api/v1/events", params={"limit": 2})).json()
        assert (first["total"], len(first["items"])) == (3, 2)
        assert await titles(alice, limit=2, cursor=first["next"]) == ["Charlie"]
        wrong = await alice.get("/api/v1/events", params={"cursor": "?"})
        assert (wrong.status, wrong.json()["errors"][0]["field"]) == (400, "cursor")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": ""}, "title"),
        ({"plugin": "nothing"}, "plugin"),
        ({"timings": [{"type": "schedule", "minutes": [60]}]}, "timings[0].minutes"),
        ({"timings": [{"type": "continuous"}, DAILY]}, "timings"),
        ({"limits": [{"type": "queue", "amount": 3}]}, "limits"),
        ({"unknown": 1}, "unknown"),
    ],
)
async def test_a_wrong_property_is_named(site: Site, change: dict[str, Any], field: str) -> None:
    async with site.somebody("editor") as alice:
        answer = await alice.post("/api/v1/events", json=BACKUP | change)
        assert answer.status == 422, answer.text
        assert answer.json()["errors"][0]["field"].startswith(field)
        assert await titles(alice) == []


async def test_a_preview_lists_ten_runs_or_names_the_wrong_field(site: Site) -> None:
    async with site.somebody("viewer") as bob:
        good = (await bob.post("/api/v1/events/preview", json={"timings": [DAILY]})).json()
        assert (len(good["next"]), good["errors"]) == (10, [])
        wrong = {"timings": [DAILY | {"hours": [24]}]}
        bad = (await bob.post("/api/v1/events/preview", json=wrong)).json()
        assert bad["errors"][0]["field"].startswith("timings[0].hours")


async def test_earlier_revisions_are_listed_and_restored(site: Site) -> None:
    async with site.somebody("editor") as alice:
        one = f"/api/v1/events/{await made(alice)}"
        await alice.ask("PUT", one, json={"title": "Other"})
        [second, first] = (await alice.get(f"{one}/revisions")).json()
        assert second["changes"] == [{"field": "title", "old": "Nightly backup", "new": "Other"}]
        assert (second["revision"], first["action"]) == (2, "create")
        assert (await alice.post(f"{one}/revisions/1/restore")).json()["revision"] == 3
        assert (await alice.get(one)).json()["event"]["title"] == "Nightly backup"


async def test_secret_parameters_are_masked_for_readers(site: Site) -> None:
    plugin = {
        "id": "vault",
        "title": "Vault",
        "command": "/bin/true",
        "params": [{"id": "token", "type": "text", "title": "Token", "secret": True}],
    }
    async with site.somebody("editor") as alice, site.somebody("operator") as bob:
        assert (await alice.post("/api/v1/plugins", json=plugin)).status == 201
        event = await made(alice, plugin="vault", params={"token": "hunter2"})
        assert "hunter2" in (await alice.get(f"/api/v1/events/{event}")).text
        shown = (await bob.get(f"/api/v1/events/{event}")).json()
        assert (shown["event"]["params"], shown["is_masked"]) == ({"token": MASK}, True)
        assert "hunter2" not in (await bob.get(f"/api/v1/events/{event}/revisions")).text


async def test_secrets_of_plugins_jobs_and_actions_are_masked_for_readers(
    site: Site, store: Store
) -> None:
    secret = {"id": "token", "type": "text", "secret": True, "value": "hunter-default"}
    plugin = {
        "id": "vault",
        "title": "Vault",
        "command": "/bin/true",
        "env": {"KEY": "hunter-env"},
        "params": [secret],
    }
    async with site.somebody("editor") as alice, site.somebody("operator") as bob:
        assert (await alice.post("/api/v1/plugins", json=plugin)).status == 201
        event = await made(alice, plugin="vault", params={"token": "hunter-param"})
        action = {
            "trigger": "error",
            "type": "run_event",
            "event_id": event,
            "params": {"token": "hunter-action"},
        }
        changes = {"actions": [action], "timings": [{"type": "manual"}]}
        changed = await alice.ask("PUT", f"/api/v1/events/{event}", json=changes)
        assert changed.status == 200, changed.text
        category = {"id": "vaults", "title": "Vaults", "actions": [action]}
        assert (await alice.post("/api/v1/categories", json=category)).status == 201
        job = (await bob.post(f"/api/v1/events/{event}/run", json={})).json()["id"]
        paths = [
            *("/api/v1/events", f"/api/v1/events/{event}", f"/api/v1/events/{event}/revisions"),
            *("/api/v1/events/options", "/api/v1/plugins", "/api/v1/plugins/vault"),
            *("/api/v1/plugins/vault/revisions", "/api/v1/categories", "/api/v1/categories/vaults"),
            *("/api/v1/categories/vaults/revisions", "/api/v1/jobs", f"/api/v1/jobs/{job}"),
        ]
        for path in paths:
            answer = await bob.get(path)
            assert answer.status == 200, (path, answer.text)
            assert "hunter" not in answer.text, path
        stored = await job_records.read(store, job)
        assert stored
        assert stored.params["token"] == "hunter-param"
        mine = (await alice.get(f"/api/v1/jobs/{job}")).json()["job"]
        assert (mine["params"]["token"], mine["env"]["KEY"]) == ("hunter-param", "hunter-env")


async def test_a_spoiled_event_is_listed_with_its_problem_and_can_be_deleted(
    site: Site, store: Store
) -> None:
    await store.call("HSET", Jobs(store.prefix).events(), "broken", "[]")
    async with site.somebody("editor") as alice:
        [row] = (await alice.get("/api/v1/events", params={"invalid": "true"})).json()["items"]
        assert (row["id"], row["status"]) == ("broken", "invalid")
        assert (await alice.get("/api/v1/events/broken")).status == 409
        assert (await alice.ask("DELETE", "/api/v1/events/broken")).status == 204


async def test_many_events_are_changed_at_once_and_each_failure_is_told(site: Site) -> None:
    async with site.somebody("editor") as alice, site.somebody("operator") as bob:
        event = await made(alice)
        body = {"ids": [event, "missing"], "action": "disable"}
        assert (await bob.post("/api/v1/events/bulk", json=body)).status == 403
        done = (await alice.post("/api/v1/events/bulk", json=body)).json()["items"]
        assert [bool(one["problem"]) for one in done] == [False, True]
        assert await titles(alice, enabled="false") == ["Nightly backup"]


async def test_options_name_what_an_event_can_be_made_of(site: Site) -> None:
    async with site.somebody("viewer") as bob:
        found = (await bob.get("/api/v1/events/options")).json()
        assert "general" in [one["id"] for one in found["categories"]]
        assert "shellplug" in [one["id"] for one in found["plugins"]]
        assert [one["id"] for one in found["targets"]] == ["main"]
        assert len(found["algorithms"]) == 7


async def test_events_of_a_foreign_category_are_not_shown(site: Site) -> None:
    await site.services.users.add("dave", "editor", BY, Rights(categories=("reports",)))
    async with site.somebody("editor") as alice, site.somebody("editor", "dave") as dave:
        foreign = f"/api/v1/events/{await made(alice, category='payroll')}"
        own = await made(alice, title="Report", category="reports")
        assert await titles(dave) == ["Report"]
        assert (await dave.get("/api/v1/events")).json()["counts"]["all"] == 1
        assert (await dave.get(f"/api/v1/events/{own}")).status == 200
        for path in (foreign, f"{foreign}/revisions"):
            assert (await dave.get(path)).status == 403
        now = site.services.clock.now()
        day = {"start": now, "end": now + 2 * 86_400}
        planned = (await alice.get("/api/v1/timeline", params=day)).json()["ahead"]
        assert {one["title"] for one in planned} == {"Nightly backup", "Report"}
        planned = (await dave.get("/api/v1/timeline", params=day)).json()["ahead"]
        assert {one["title"] for one in planned} == {"Report"}
        await alice.ask("DELETE", foreign)
        assert (await dave.get(f"{foreign}/revisions")).status == 403


async def test_an_event_that_moved_away_is_not_brought_back_by_a_revision(site: Site) -> None:
    await site.services.users.add("dave", "editor", BY, Rights(categories=("reports",)))
    async with site.somebody("editor") as alice, site.somebody("editor", "dave") as dave:
        one = f"/api/v1/events/{await made(alice, category='reports')}"
        await alice.ask("PUT", one, json={"category": "payroll"})
        assert (await dave.post(f"{one}/revisions/1/restore")).status == 403
        assert (await alice.get(one)).json()["event"]["category"] == "payroll"


async def test_variables_and_secret_defaults_of_plugins_are_masked_for_viewers(site: Site) -> None:
    secret = {"id": "token", "type": "text", "value": "canary-1", "secret": True}
    plugin = {"id": "deploy", "title": "Deploy", "command": "deploy", "params": [secret]}
    async with site.somebody("administrator") as alice, site.somebody("viewer") as charlie:
        plugin["env"] = {"KEY": "canary-2"}  # type: ignore[assignment]
        assert (await alice.post("/api/v1/plugins", json=plugin)).status == 201
        for path in ("/events/options", "/plugins", "/plugins/deploy", "/plugins/deploy/revisions"):
            shown = await charlie.get(f"/api/v1{path}")
            assert shown.status == 200
            assert "canary" not in shown.text, path


async def test_an_action_runs_no_event_that_its_author_may_not_run(site: Site) -> None:
    await site.services.users.add("dave", "editor", BY, Rights(categories=("reports",)))
    async with site.somebody("editor") as alice, site.somebody("editor", "dave") as dave:
        foreign = await made(alice, category="payroll")
        run = {"trigger": "success", "type": "run_event", "event_id": foreign}
        run["params"] = {"script": "evil"}  # type: ignore[assignment]
        asked = BACKUP | {"category": "reports", "actions": [run]}
        assert (await dave.post("/api/v1/events", json=asked)).status == 403
        one = f"/api/v1/events/{await made(dave, category='reports')}"
        assert (await dave.ask("PUT", one, json={"actions": [run]})).status == 403
        assert (await alice.ask("PUT", one, json={"actions": [run]})).status == 200
        assert (await dave.ask("PUT", one, json={"notes": "Ask Bob."})).status == 200


async def test_limits_and_actions_are_replaced_for_one_job(site: Site, store: Store) -> None:
    await site.services.users.add("dave", "operator", BY, Rights(categories=("reports",)))
    async with site.somebody("editor") as alice, site.somebody("operator", "dave") as dave:
        foreign = await made(alice, category="payroll")
        one = f"/api/v1/events/{await made(alice, category='reports')}/run"
        answer = await dave.post(one, json={"limits": [{"type": "time", "duration": 60}]})
        job = await job_records.read(store, answer.json()["id"])
        assert job
        assert [limit.duration for limit in job.limits] == [60]
        action = {"trigger": "success", "type": "run_event", "event_id": foreign}
        assert (await dave.post(one, json={"actions": [action]})).status == 403
        wrong = await dave.post(one, json={"limits": [{"type": "speed"}]})
        assert (wrong.status, wrong.json()["errors"][0]["field"]) == (422, "limits[0].type")


async def test_an_event_shows_which_scheduled_runs_were_left_out(site: Site, store: Store) -> None:
    async with site.somebody("editor") as alice:
        event = await made(alice)
        one = f"/api/v1/events/{event}"
        assert (await alice.get(one)).json()["left_out"] is None
        note = '{"at": 9, "first": 5, "last": 7, "number": 3, "reason": "missed"}'
        await store.call("HSET", Jobs(store.prefix).left_out(), event, note)
        shown = (await alice.get(one)).json()["left_out"]
        words = "3 scheduled runs were left out: missed"
        assert shown == {"at": 9, "first": 5, "last": 7, "words": words}


async def test_events_are_imported_and_exported(site: Site) -> None:
    tab = {"format": "crontab", "text": "0 4 * * * /usr/local/bin/tidy\nnonsense\n"}
    path = "/api/v1/events/import"
    async with site.somebody("editor") as alice, site.somebody("operator", "bob") as bob:
        assert (await bob.post(path, json=tab)).status == 403
        tried = await alice.post(path, json=tab | {"dry_run": True})
        assert tried.status == 200, tried.text
        [event] = tried.json()["items"]
        assert (event["kind"], event["title"], event["outcome"]) == ("event", "tidy", "created")
        assert event["words"].startswith("at 04:00 every day")
        assert [note["item"] for note in tried.json()["notes"]] == ["line 2"]
        assert (await alice.get("/api/v1/events")).json()["total"] == 0
        done = await alice.post(path, json=tab)
        assert done.json()["items"] == [event]
        shown = (await alice.get(f"/api/v1/events/{event['id']}")).json()
        assert "/usr/local/bin/tidy" in shown["event"]["params"]["script"]
        assert (await alice.post(path, json={"format": "xyops", "text": "{"})).status == 422
    async with site.somebody("administrator", "charlie") as charlie:
        exported = await charlie.get("/api/v1/events/export")
        assert exported.status == 200, exported.text
        back = {"format": "xyops", "text": exported.text, "dry_run": True}
        items = (await charlie.post(path, json=back)).json()["items"]
        assert {one["outcome"] for one in items} == {"unchanged"}


async def test_an_import_replaces_or_leaves_out_what_exists(site: Site) -> None:
    path = "/api/v1/events/import"
    tab = {"format": "crontab", "text": "0 4 * * * /bin/tidy", "targets": ["db-1"]}
    newer = tab | {"text": "0 5 * * * /bin/tidy\n0 6 * * * /bin/sweep", "targets": ["db-1"]}
    async with site.somebody("editor") as alice:
        assert (await alice.post(path, json=tab)).status == 200
        refused = await alice.post(path, json=newer)
        assert refused.status == 422
        assert "exists already and differs; nothing was imported" in refused.text
        left_out, created = (await alice.post(path, json=newer | {"skip": True})).json()["items"]
        assert (left_out["outcome"], left_out["reason"]) == (
            "left_out",
            "exists already and differs",
        )
        assert (created["title"], created["outcome"]) == ("sweep", "created")
        items = (await alice.post(path, json=newer | {"replace": True})).json()["items"]
        assert [one["outcome"] for one in items] == ["replaced", "unchanged"]
        shown = (await alice.get(f"/api/v1/events/{items[0]['id']}")).json()["event"]
        assert shown["timings"][0]["hours"] == [5]
        assert shown["targets"] == ["db-1"]


async def test_an_import_needs_the_right_to_define_each_kind(site: Site) -> None:
    panels = [{"type": "plot", "monitor": "swap"}]
    kinds = {
        "monitor": {"id": "swap", "title": "Swap", "source": "memory.swapused"},
        "alert": {"id": "swapping", "title": "Swapping", "expression": "monitors.swap > 9"},
        "dashboard": {"id": "night", "title": "Night", "panels": panels},
    }
    given = {"watchbell": 1, "items": [{"type": kind, "data": one} for kind, one in kinds.items()]}
    file = {"format": "xyops", "text": msgspec.json.encode(given).decode()}
    await site.services.users.add("dave", "viewer", BY, Rights(privileges=("create_events",)))
    async with site.somebody("editor") as alice, site.somebody("viewer", "dave") as dave:
        refused = await dave.post("/api/v1/events/import", json=file)
        assert (refused.status, "create_monitors" in refused.text) == (403, True), refused.text
        items = (await alice.post("/api/v1/events/import", json=file)).json()["items"]
        assert [(one["kind"], one["outcome"]) for one in items] == [
            (kind, "created") for kind in kinds
        ]
        shown = (await alice.get("/api/v1/dashboards/night")).json()
        assert [one["monitor"] for one in shown["record"]["panels"]] == ["swap"]


async def test_some_events_are_exported_alone(site: Site) -> None:
    async with site.somebody("administrator", "charlie") as charlie:
        first = await made(charlie)
        await made(charlie, title="Reports")
        exported = await charlie.get(f"/api/v1/events/export?id={first}")
        items = exported.json()["items"]
        assert [(one["type"], one["data"]["id"]) for one in items] == [("event", first)]


async def test_limited_people_neither_import_nor_export(site: Site) -> None:
    rights = Rights(privileges=("bulk_export",), categories=("reports",))
    await site.services.users.add("dave", "editor", BY, rights)
    tab = {"format": "crontab", "text": "0 4 * * * /usr/local/bin/tidy"}
    async with site.somebody("editor", "dave") as dave:
        assert (await dave.post("/api/v1/events/import", json=tab)).status == 403
        assert (await dave.get("/api/v1/events/export")).status == 403


async def test_the_next_runs_are_those_that_the_conductor_launches(site: Site) -> None:
    timings = [
        {"type": "schedule", "minutes": [0], "timezone": "UTC"},
        {"type": "delay", "duration": 90},
        {"type": "nth", "every": 2},
    ]
    async with site.somebody("editor") as alice:
        event = await made(alice, timings=timings)
        await site.store.call("HSET", Jobs(site.store.prefix).counts(), event, 1)
        shown = (await alice.get(f"/api/v1/events/{event}")).json()
        times = [one["at"] for one in shown["next"]]
    assert {time % 3_600 for time in times} == {90}
    assert {later - time for time, later in pairwise(times)} == {7_200}
    assert shown["row"]["next"] == times[:3]


async def test_a_clock_change_is_remarked(site: Site) -> None:
    yearly = {"months": [3], "days": list(range(25, 32)), "weekdays": [0], "hours": [2]}
    timing = {"type": "schedule", "minutes": [30], "timezone": "Europe/Rome"} | yearly
    async with site.somebody("viewer") as bob:
        found = (await bob.post("/api/v1/events/preview", json={"timings": [timing]})).json()
    assert "clocks are set forward" in found["next"][0]["remark"]
