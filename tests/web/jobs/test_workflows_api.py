"""Workflows over HTTP: drafts are checked while people edit them, and saved by those who may."""

from typing import Any

import msgspec
import pytest

from tests.jobs.dispatching import KEYS
from tests.jobs.workflows import graph, node, workflow
from tests.web.cron.test_cron_runs_api import told, watching
from tests.web.site import BY, Site
from watchbell.jobs import stock
from watchbell.jobs.decide.workflow_state import ActiveJob, RunState
from watchbell.jobs.parameters import MASK
from watchbell.jobs.workflow_model import NodeState, Stub
from watchbell.store.client import Store
from watchbell.web.people.rights import Rights

EVENTS = "/api/v1/events"
HOOK: dict[str, Any] = {
    "id": "hook",
    "title": "Hook",
    "command": "true",
    "params": [{"id": "token", "type": "text", "secret": True}],
}


@pytest.fixture(autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, 1_000)


async def test_a_draft_is_checked_with_all_its_problems(site: Site) -> None:
    async with site.somebody("editor") as alice:
        draft = graph([node("a"), node("z", "split"), node("b", "job", plugin="shellplug")],
                      "start > a", "a > b", "b > a")  # fmt: skip
        asked = {"id": "w", "workflow": draft, "timings": [{"type": "manual", "id": "start"}]}
        answer = await alice.post(f"{EVENTS}/check", json=asked)
        assert answer.status == 200, answer.text
        found = {
            (one["field"], one["node"] or one["connection"], one["is_warning"])
            for one in answer.json()["problems"]
        }
        assert found == {
            ("workflow.nodes[1].data.event", "a", False),
            ("workflow.nodes[2].data.split", "z", False),
            ("workflow.nodes[2]", "z", False),
            ("workflow.nodes[2]", "z", True),
            ("workflow.connections[1]", "a_b", False),
            ("workflow.connections[2]", "b_a", False),
        }
        assert (await alice.get(EVENTS)).json()["items"] == []


async def test_a_workflow_is_saved_and_its_secrets_are_masked(site: Site) -> None:
    job = node("j", "job", plugin="hook", params={"token": "hunter2"})
    run = node("again", "action", type="run_event", event_id="w", params={"token": "hunter2"})
    async with (
        site.somebody("administrator", "root") as root,
        site.somebody("viewer", "eve") as eve,
    ):
        assert (await root.post("/api/v1/plugins", json=HOOK)).status == 201
        asked = workflow("w", [job, run], "start > j", "j error> again")
        answer = await root.post(EVENTS, json=asked)
        assert answer.status == 201, answer.text
        whole = (await root.get(f"{EVENTS}/w")).json()["event"]
        assert (whole["type"], whole["plugin"]) == ("workflow", "_workflow")
        assert whole["workflow"]["nodes"][1]["data"]["params"] == {"token": "hunter2"}
        for path in (f"{EVENTS}/w", f"{EVENTS}/w/revisions"):
            text = (await eve.get(path)).text
            assert "hunter2" not in text
            assert MASK in text
        bad = workflow("w2", [node("a")], "start > a", "a > gone")
        refused = await root.post(EVENTS, json=bad)
        assert refused.status == 422
        assert "workflow.connections[1].dest" in refused.text


async def test_only_who_may_run_the_events_of_a_workflow_may_save_it(site: Site) -> None:
    await site.services.users.add("dave", "editor", BY, Rights(categories=("reports",)))
    async with site.somebody("editor") as alice, site.somebody("editor", "dave") as dave:
        for name, category in (("own", "reports"), ("foreign", "payroll")):
            made = {"id": name, "title": name, "category": category}
            assert (await alice.post(EVENTS, json=made)).status == 201
        inner = workflow("inner", [node("foreign")], "start > foreign", category="reports")
        assert (await alice.post(EVENTS, json=inner)).status == 201
        for nodes, status in (
            ([node("x", event="own")], 201),
            ([node("x", event="foreign")], 403),
            ([node("x", event="inner")], 403),
            ([node("x", "job", plugin="shellplug", category="payroll")], 403),
        ):
            asked = workflow("w", nodes, "start > x", category="reports")
            answer = await dave.post(EVENTS, json=asked)
            assert answer.status == status, answer.text
        asked = workflow("w", [node("x", event="foreign")], "start > x", category="reports")
        assert (await dave.ask("PUT", f"{EVENTS}/w", json=asked)).status == 403


async def begun(store: Store, job: str) -> None:
    """As conductors leave a run whose first node has ended."""
    state = RunState(
        nodes={
            "start": NodeState(started=1_000, completed=1_000),
            "a": NodeState(started=1_000, completed=1_002, count=1, max=1),
            "b": NodeState(started=1_002, active=1, max=1),
        },
        wires={"start_a": 1, "a_b": 1},
        active={"jb": ActiveJob("b")},
    )
    fields = {"state": "active", "_workflow": state, "updated": 1_002, "progress": 0.5}
    words = [word for name, one in fields.items() for word in (name, msgspec.json.encode(one))]
    await store.call("HSET", KEYS.job(job), *words)
    await store.call("LREM", KEYS.ready(), 0, job)
    stub = Stub(id="ja", node="a", server="s1", completed=1_002, elapsed=2)
    await store.call("HSET", KEYS.workflow_jobs(job), "ja", msgspec.json.encode(stub))


async def test_a_run_is_shown_node_by_node_followed_suspended_and_resumed(
    site: Site, store: Store
) -> None:
    async with site.somebody("editor") as alice:
        for name in ("a", "b"):
            assert (await alice.post(EVENTS, json={"id": name, "title": name})).status == 201
        made = workflow("w", [node("a"), node("b"), node("c", "job", plugin="shellplug")],
                        "start > a", "a > b", "b error> c")  # fmt: skip
        assert (await alice.post(EVENTS, json=made)).status == 201
        answer = await alice.post(f"{EVENTS}/w/run", json={})
        assert answer.status == 201, answer.text
        one = f"/api/v1/jobs/{answer.json()['id']}"
        await begun(store, answer.json()["id"])
        run = (await alice.get(f"{one}/workflow")).json()
        conditions = {each["id"]: each["condition"] for each in run["nodes"]}
        assert conditions == {"start": "succeeded", "a": "succeeded", "b": "running", "c": "idle"}
        reasons = {each["id"]: each["reason"] for each in run["nodes"] if each["reason"]}
        assert reasons == {"c": "b is still running"}
        jobs = {each["id"]: [job["id"] for job in each["jobs"]] for each in run["nodes"]}
        assert jobs == {"start": [], "a": ["ja"], "b": ["jb"], "c": []}
        assert (run["progress"], [wire["fired"] for wire in run["wires"]]) == (0.5, [1, 1, 0])
        async with watching(alice, f"{one}/workflow/live") as stream:
            name, first, _ = await told(stream)
            assert name == "run"
            assert first["nodes"][2]["condition"] == "running"
            assert (await alice.post(f"{one}/suspend")).status == 204
            (raw,) = await store.call("LRANGE", KEYS.workflow_steps(), 0, -1)
            assert msgspec.json.decode(raw)["what"] == "suspend"
        refused = await alice.post(f"{one}/resume", params={"node": "b"})
        assert (refused.status, "not suspended" in refused.text) == (422, True)
        explained = (await alice.get(one)).json()
        assert explained["explanation"][0].endswith("runs b")
        assert "c has not run: b is still running" in explained["explanation"]
        assert (await alice.get(f"{one}/workflow/no")).status == 404


async def test_only_who_may_run_all_nodes_may_run_a_workflow(site: Site) -> None:
    await site.services.users.add("dave", "operator", BY, Rights(categories=("reports",)))
    async with site.somebody("editor") as alice, site.somebody("operator", "dave") as dave:
        for name, category in (("own", "reports"), ("foreign", "payroll")):
            made = {"id": name, "title": name, "category": category}
            assert (await alice.post(EVENTS, json=made)).status == 201
        for name, inner, status in (("w1", "own", 201), ("w2", "foreign", 403)):
            made = workflow(name, [node("x", event=inner)], "start > x", category="reports")
            assert (await alice.post(EVENTS, json=made)).status == 201
            assert (await dave.post(f"{EVENTS}/{name}/run", json={})).status == status


async def test_an_action_of_a_node_needs_the_privilege_for_what_it_does(site: Site) -> None:
    rights = Rights(privileges=("create_events", "run_jobs", "edit_events"))
    await site.services.users.add("dave", "viewer", BY, rights)
    async with site.somebody("editor") as alice, site.somebody("viewer", "dave") as dave:
        assert (await alice.post(EVENTS, json={"id": "a", "title": "A"})).status == 201
        for kind, status in (("disable", 201), ("delete", 403)):
            nodes = [node("x", event="a"), node("y", "action", type=kind)]
            made = workflow(f"w_{kind}", nodes, "start > x", "x error> y")
            answer = await dave.post(EVENTS, json=made)
            assert answer.status == status, answer.text
        nodes = [
            node("x", event="a"),
            node("y", "action", type="delete"),
            node("q", "wait", wait=1),
        ]
        loose = workflow("w", nodes, "start > x", "start > q", "q > y")
        assert (await dave.post(EVENTS, json=loose)).status == 201
        loose["workflow"]["connections"].append({"source": "x", "dest": "y", "condition": "error"})
        assert (await dave.ask("PUT", f"{EVENTS}/w", json=loose)).status == 403


async def test_only_who_may_run_jobs_on_all_targets_of_a_node_may_select_them(site: Site) -> None:
    await site.services.users.add("dave", "editor", BY, Rights(groups=("main",)))
    async with site.somebody("editor") as alice, site.somebody("editor", "dave") as dave:
        assert (await alice.post(EVENTS, json={"id": "a", "title": "A"})).status == 201
        for targets, status in ((["main"], 201), (["main", "vault"], 403)):
            made = workflow(
                f"w{len(targets)}", [node("x", event="a", targets=targets)], "start > x"
            )
            assert (await dave.post(EVENTS, json=made)).status == status
        moved = workflow("w1", [node("x", event="a", targets=["main"])], "start > x")
        moved["workflow"]["nodes"][1]["x"] = 100
        assert (await dave.ask("PUT", f"{EVENTS}/w1", json=moved)).status == 200
