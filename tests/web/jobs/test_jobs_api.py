"""Jobs over HTTP: launched, listed, shown, aborted, run again, searched, tagged and deleted."""

from typing import Any

import pytest

from tests.jobs.logs import NOW, Printer, begun, job
from tests.jobs.test_job_history import finish, over
from tests.web.jobs.test_events_api import BACKUP, made
from tests.web.site import BY, Site, Visitor
from watchbell.jobs import stock
from watchbell.jobs.model import Activity
from watchbell.jobs.workflow_model import JobWorkflow
from watchbell.store.client import Store
from watchbell.web.people.rights import Rights


@pytest.fixture(autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, 1_000)


async def found(visitor: Visitor, **query: Any) -> list[str]:
    answer = await visitor.get("/api/v1/jobs/search", params=query)
    assert answer.status == 200, answer.text
    return [row["id"] for row in answer.json()["items"]]


async def test_an_event_is_run_and_its_job_is_listed_shown_and_aborted(site: Site) -> None:
    async with site.somebody("editor") as alice, site.somebody("operator", "bob") as bob:
        event = await made(alice)
        asked = {"params": {"annotate": True}, "tags": ["urgent"]}
        launched = await bob.post(f"/api/v1/events/{event}/run", json=asked)
        assert launched.status == 201, launched.text
        one = f"/api/v1/jobs/{launched.json()['id']}"
        listed = (await bob.get("/api/v1/jobs")).json()
        assert [row["title"] for row in listed["items"]] == ["Nightly backup"]
        assert listed["counts"]["queued"] == 1
        shown = (await bob.get(one)).json()
        assert shown["job"]["params"]["annotate"] is True
        assert (shown["row"]["source"], shown["row"]["username"]) == ("user", "bob")
        assert shown["row"]["tags"] == ["urgent"]
        assert shown["can_abort"]
        assert (await bob.post(f"{one}/abort", json={"reason": "Not now"})).status == 204
        assert (await bob.get(one)).json()["row"]["state"] == "finishing"


async def test_a_viewer_runs_and_aborts_nothing(site: Site) -> None:
    async with site.somebody("editor") as alice, site.somebody("viewer") as charlie:
        event = await made(alice)
        run = f"/api/v1/events/{event}/run"
        assert (await charlie.post(run, json={})).status == 403
        id = (await alice.post(run, json={})).json()["id"]  # noqa: A001
        assert (await charlie.post(f"/api/v1/jobs/{id}/abort", json={})).status == 403
        assert not (await charlie.get(f"/api/v1/jobs/{id}")).json()["can_abort"]


@pytest.mark.parametrize(
    ("body", "field"),
    [({"priority": 10}, "priority"), ({"delay": -1}, "delay"), ({"nonsense": 1}, "nonsense")],
)
async def test_a_wrong_wish_is_refused_with_its_field(
    site: Site, body: dict[str, Any], field: str
) -> None:
    async with site.somebody("editor") as alice:
        answer = await alice.post(f"/api/v1/events/{await made(alice)}/run", json=body)
        assert answer.status in (400, 422), answer.text
        assert field in answer.text


async def test_finished_jobs_are_found_by_what_they_are(site: Site, store: Store) -> None:
    await finish(
        store,
        over(1, event="e1", tags=("_success", "red"), workflow=JobWorkflow(event="w", node="x")),
        over(2, event="e2", code=3, tags=("_error",), server="s9"),
        over(3, event="e1", source="key", username="bob", category="reports"),
    )
    async with site.somebody("viewer") as charlie:
        assert await found(charlie, workflow="w") == ["j0001"]
        assert await found(charlie) == ["j0003", "j0002", "j0001"]
        assert await found(charlie, event="e1") == ["j0003", "j0001"]
        assert await found(charlie, tag="red") == ["j0001"]
        assert await found(charlie, code="error") == ["j0002"]
        assert await found(charlie, server="s9") == ["j0002"]
        assert await found(charlie, user="bob", category="reports") == ["j0003"]
        assert await found(charlie, since=NOW + 2, until=NOW + 3) == ["j0002"]
        assert await found(charlie, text="no such title") == []
        page = (await charlie.get("/api/v1/jobs/search", params={"limit": 2})).json()
        assert await found(charlie, limit=2, cursor=page["next"]) == ["j0001"]
        wrong = await charlie.get("/api/v1/jobs/search", params={"cursor": "?"})
        assert (wrong.status, wrong.json()["errors"][0]["field"]) == (400, "cursor")


async def test_the_output_of_a_job_is_read_searched_and_downloaded(
    site: Site, store: Store
) -> None:
    await begun(store, job("j1", state="active"))
    printer = Printer(store, "j1")
    await printer.print(b"one\ntwo\nthree\n")
    async with site.somebody("viewer") as charlie:
        shown = (await charlie.get("/api/v1/jobs/j1/output")).json()
        assert [line["text"] for line in shown["lines"]] == ["one", "two", "three"]
        hits = await charlie.get("/api/v1/jobs/j1/search", params={"text": "TWO"})
        assert hits.json()["places"] == [1]
        assert (await charlie.get("/api/v1/jobs/j1/download")).text == "one\ntwo\nthree\n"
        assert (await charlie.get("/api/v1/jobs/j2/output")).status == 404


async def test_a_finished_job_is_run_again_tagged_and_deleted(site: Site, store: Store) -> None:
    async with site.somebody("administrator") as alice:
        event = await made(alice)
        past = over(1, event=event, params=BACKUP["params"], targets=("main",))
        await finish(store, past)
        again = await alice.post("/api/v1/jobs/j0001/rerun")
        assert again.status == 201, again.text
        assert (await alice.get(f"/api/v1/jobs/{again.json()['id']}")).json()["event_exists"]
        tags = "/api/v1/jobs/j0001/tags"
        assert (await alice.ask("PUT", tags, json={"tags": ["red"]})).status == 204
        assert await found(alice, tag="red") == ["j0001"]
        ours = await alice.ask("PUT", tags, json={"tags": ["_error"]})
        assert (ours.status, ours.json()["errors"][0]["field"]) == (422, "tags")
        assert (await alice.ask("DELETE", "/api/v1/jobs/j0001")).status == 204
        assert await found(alice) == []
        running = f"/api/v1/jobs/{again.json()['id']}"
        assert (await alice.ask("DELETE", running)).status == 409


async def test_a_finished_job_is_shown_with_its_record_and_explanation(
    site: Site, store: Store
) -> None:
    activity = (Activity(epoch=NOW, msg="Job started"),)
    await finish(store, over(1, code=3, description="Exited with 3", activity=activity))
    async with site.somebody("viewer") as charlie:
        shown = (await charlie.get("/api/v1/jobs/j0001")).json()
        assert (shown["row"]["verdict"], shown["job"]["code"]) == ("error", 3)
        assert shown["job"]["activity"][0]["msg"] == "Job started"
        assert any("3" in line for line in shown["explanation"])
        assert not shown["can_abort"]


async def test_jobs_of_a_foreign_category_are_not_shown(site: Site, store: Store) -> None:
    await finish(store, over(1, category="payroll"), over(2, category="reports"))
    await site.services.users.add("dave", "operator", BY, Rights(categories=("reports",)))
    async with site.somebody("operator", "dave") as dave:
        assert await found(dave) == ["j0002"]
        assert (await dave.get("/api/v1/jobs/j0001")).status == 403


async def test_a_delayed_job_is_started_now(site: Site) -> None:
    async with site.somebody("editor") as alice:
        run = f"/api/v1/events/{await made(alice)}/run"
        id = (await alice.post(run, json={"delay": 3_600})).json()["id"]  # noqa: A001
        waiting = (await alice.get("/api/v1/jobs", params={"phase": "waiting"})).json()
        assert [row["state"] for row in waiting["items"]] == ["start_delay"]
        assert (await alice.post(f"/api/v1/jobs/{id}/skip-delay")).status == 204
        shown = (await alice.get(f"/api/v1/jobs/{id}")).json()
        assert (shown["row"]["state"], shown["is_suspended"]) == ("ready", False)
        again = await alice.post(f"/api/v1/jobs/{id}/skip-delay")
        assert (again.status, again.json()["code"]) == (409, "not_delayed")


async def test_jobs_on_foreign_groups_are_not_listed(site: Site, store: Store) -> None:
    await finish(store, over(1, targets=("db",)), over(2, targets=("web",)))
    await begun(store, job("j1", state="active", targets=("db",)))
    await site.services.users.add("dave", "operator", BY, Rights(groups=("web",)))
    async with site.somebody("operator", "dave") as dave:
        assert await found(dave) == ["j0002"]
        assert (await dave.get("/api/v1/jobs")).json()["items"] == []
        assert (await dave.get("/api/v1/jobs/j1")).status == 403
        assert (await dave.get("/api/v1/jobs/j1/output")).status == 403
