"""Every handler of the app API: documented, and answering as it is documented."""

import asyncio
import re
import zlib
from pathlib import Path

import msgspec
import pytest
from aiohttp import FormData

from tests.jobs.logs import Printer, begun, job
from tests.jobs.test_job_history import finish, over
from tests.web.app_api.app_client import AppClient
from tests.web.fleet.agents import Agent, joined
from tests.web.site import Site
from watchbell.fleet import samples
from watchbell.fleet.machine_sample import MachineSample
from watchbell.fleet.messages import RanOnce, RunOnce
from watchbell.fleet.model import CommandOutcome
from watchbell.fleet.samples import Machine
from watchbell.jobs import stock
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Action
from watchbell.jobs.sample_evaluator import SampleEvaluator
from watchbell.store.client import Store
from watchbell.web.app_api.table import HANDLERS

PAGE = Path(__file__).parents[3] / "docs" / "api-app.md"
_ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)


@pytest.fixture(autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, 1_000)


def _names(text: str) -> tuple[str, ...]:
    return tuple(one.strip("`") for one in text.split(", ") if one != "none")


def test_the_page_lists_every_handler_and_no_other() -> None:
    listed = {
        name: (needs, _names(takes), _names(gives))
        for name, needs, takes, gives in _ROW.findall(PAGE.read_text())
    }
    expected = {
        one.name: (
            one.needs,
            tuple("properties" if name == "*" else name for name in one.takes),
            one.gives,
        )
        for one in HANDLERS.values()
    }
    assert listed == expected


def test_handlers_that_change_something_do_not_say_that_they_read() -> None:
    for one in HANDLERS.values():
        is_reading = one.name.startswith(("get_", "search_", "admin_get_", "view_", "download_"))
        assert not (is_reading and one.is_change), one.name
        assert one.is_change or not one.name.startswith(("create_", "update_", "delete_")), one.name
        assert not one.is_change or one.needs != "read", one.name


async def test_every_handler_answers_as_the_page_says(site: Site, store: Store) -> None:
    async with site.somebody("administrator") as alice:
        app = AppClient(alice)
        await _use_definitions(app)
        await _use_events(app, store)
        await _use_jobs(app, store)
        await _use_fleet(app, site)
        await _use_people(app)
        await _use_files(app, store)
        await _use_the_rest(app)
    assert set(HANDLERS) - app.answered == {"error"}


async def _use_definitions(app: AppClient) -> None:
    for kind, plural in (
        *(("category", "categories"), ("channel", "channels")),
        *(("plugin", "plugins"), ("tag", "tags"), ("monitor", "monitors"), ("alert", "alerts")),
    ):
        more = {
            "plugin": {"command": "/usr/bin/true"},
            "monitor": {"source": "load[0]"},
            "alert": {"expression": "load[0] > 4"},
        }.get(kind, {})
        made = await app.ok(f"create_{kind}", id="mine", title="Mine", **more)
        assert made[kind]["title"] == "Mine"
        await app.ok(f"update_{kind}", id="mine", title="Ours")
        assert (await app.ok(f"get_{kind}", id="mine"))[kind]["title"] == "Ours"
        rows = (await app.ok(f"get_{plural}"))["rows"]
        assert "Ours" in [one["title"] for one in rows]
        if kind in ("category", "monitor"):
            await app.ok(f"multi_update_{kind}", items=[{"id": "mine", "sort_order": 7}])
            assert (await app.ok(f"get_{kind}", id="mine"))[kind]["sort_order"] == 7
        await app.ok(f"delete_{kind}", id="mine")
        await app.refused(f"get_{kind}", kind, 404, id="mine")


async def _use_events(app: AppClient, store: Store) -> None:
    await app.ok("create_event", id="e1", title="Backup", params={"script": "true"})
    await app.ok("update_event", id="e1", notes="Nightly")
    assert (await app.ok("get_events"))["list"]["length"] == 1
    launched = await app.ok("run_event", id="e1")
    found = await app.ok("get_event", id="e1")
    assert (found["queued"], found["event"]["notes"]) == (1, "Nightly")
    assert (await app.ok("get_event_history", id="e1", limit=5))["list"]["length"] == 2
    await store.call("ZADD", Jobs(store.prefix).queued("e1"), 1, launched["id"])
    assert (await app.ok("flush_event_queue", id="e1"))["count"] == 1
    await app.ok("create_event", id="e2", title="Other", params={"script": "true"})
    await app.ok("delete_event", id="e2", delete_jobs=True)


async def _use_jobs(app: AppClient, store: Store) -> None:
    suspending = Action(trigger="start", type="suspend")
    await begun(store, job("j1", state="active", server="s1"))
    await begun(store, job("j2", state="start_delay", until=9e9))
    await begun(store, job("j3", state="queued", actions=(suspending,)))
    await store.call("SADD", Jobs(store.prefix).suspended(), "j3")
    await Printer(store, "j1").print(b"one\ntwo\n")
    await finish(store, over(1, event="e1"))
    assert (await app.ok("get_active_jobs", state="active"))["list"]["length"] == 1
    assert "e1" in (await app.ok("get_active_job_summary"))["events"]
    assert (await app.ok("get_workflow_job_summary"))["nodes"] == {}
    assert (await app.ok("get_job", id="j1"))["job"]["state"] == "active"
    assert len((await app.ok("get_jobs", ids=["j0001", "j1"]))["jobs"]) == 2
    assert (await app.ok("tail_live_job_log", id="j1"))["text"] == "one\ntwo\n"
    for name in ("get_job_log", "view_job_log", "download_job_log"):
        answer = await app.ask(name, id="j1")
        assert (answer.status, answer.text) == (200, "one\ntwo\n")
        app.answered.add(name)
    stream = await app.ask("stream_job", id="j0001")
    assert stream.headers["Content-Type"].startswith("text/event-stream")
    names = re.findall("^event: (.+)$", stream.text, re.MULTILINE)
    assert names == ["start", "update", "end"]
    app.answered.add("stream_job")
    await app.ok("job_skip_delay", id="j2")
    await app.ok("resume_job", id="j3", params={"script": "false"})
    assert (await app.ok("get_job", id="j3"))["job"]["params"]["script"] == "false"
    await app.ok("abort_job", id="j2")
    await app.ok("update_job", id="j0001", label="Corrected")
    await app.ok("manage_job_tags", id="j0001", tags=["red", "_success"])
    changed = (await app.ok("get_job", id="j0001"))["job"]
    assert (changed["label"], changed["tags"]) == ("Corrected", ["red", "_success", "_last"])
    assert (await app.ok("search_jobs", query="tags:red"))["list"]["length"] == 1
    await app.ok("delete_job", id="j0001")
    await finish(store, over(2, event="e1"))
    assert (await app.ok("bulk_search_delete_jobs", query="event:e1"))["count"] == 1


async def _use_fleet(app: AppClient, site: Site) -> None:
    async with joined(site) as (agent, welcome):
        server = welcome.server
        await _use_snapshots(app, agent, server)
        assert (await app.ok("get_active_servers"))["rows"][0]["hostname"] == "db-1"
        assert (await app.ok("get_active_server", id=server))["server"]["id"] == server
        assert (await app.ok("get_server", id=server))["online"] is True
        assert server in (await app.ok("get_servers"))["servers"]
    await app.ok("get_server_summaries")
    await _use_monitoring(app, site, server)
    assert (await app.ok("search_servers", query="db-1"))["list"]["length"] == 1
    await app.ok("create_group", id="db", title="Databases", hostname_match="^db-")
    await app.ok("update_group", id="db", title="DB")
    assert (await app.ok("get_group", id="db"))["group"]["title"] == "DB"
    await app.ok("multi_update_group", items=[{"id": "db", "sort_order": 3}])
    assert [one["id"] for one in (await app.ok("get_groups"))["rows"]] == ["main", "db"]
    shown = (await app.ok("get_server", id=server))["server"]
    await app.ok("update_server", **{**shown, "title": "Database"})
    await app.ok("update_server_data", id=server, data={"rack": 3})
    assert (await app.ok("get_server", id=server))["server"]["userData"] == {"rack": 3}
    await app.ok("delete_server", id=server, history=True)
    await app.ok("delete_group", id="db")


async def _use_snapshots(app: AppClient, agent: Agent, server: str) -> None:
    taken = await app.ok("create_snapshot", server=server)
    shown = (await app.ok("get_snapshot", id=taken["id"]))["snapshot"]
    assert (shown["hostname"], shown["data"]) == ("db-1", {})
    await app.ok("create_group_snapshot", group="main")
    assert (await app.ok("search_snapshots", query="*"))["list"]["length"] == 2
    await app.ok("delete_snapshot", id=taken["id"])
    assert (await app.ok("bulk_search_delete", index="snapshots", query="type:group"))["count"] == 1
    await app.ok("watch_server", id=server, duration=60)
    await app.ok("watch_group", id="main", duration=0)
    assert (await app.ok("get_quickmon_data", server=server))["servers"] == {server: []}

    async def answer() -> None:
        asked = await agent.next(RunOnce)
        outcome = CommandOutcome(id=asked.command.id, output=7, text="7\n")
        await agent.send(RanOnce(request=asked.request, outcome=outcome))

    async with asyncio.TaskGroup() as group:
        group.create_task(answer())
        ran = await app.ok("test_monitor_plugin", server=server, command="echo 7", format="json")
    assert ran["output"] == 7


async def _use_monitoring(app: AppClient, site: Site, server: str) -> None:
    store, now = site.services.store, site.services.clock.now() - 300
    await app.ok("create_monitor", id="load", title="Load", source="load[0]")
    alert = {"expression": "monitors.load > 4", "message": "load {{monitors.load}}"}
    await app.ok("create_alert", id="busy", title="Busy", **alert)
    sample = MachineSample(hostname="db-1", date=now, load=(9, 0, 0))
    packed = zlib.compress(msgspec.msgpack.encode(sample))
    await samples.record(store, [], [Machine(server, "db-1", now, packed)])
    evaluator = SampleEvaluator(store, 1_000, site.services.definitions.catalogue)
    evaluator.add(server, now, samples.as_data(sample))
    await evaluator.evaluate()
    tried = await app.ok("test_monitor", server=server, source="load[0]", data_type="integer")
    assert tried["value"] == 9
    assert (await app.ok("test_monitor", server=server, source="nothing"))["fail"] is True
    tried = await app.ok("test_alert", server=server, **alert)
    assert (tried["result"], tried["message"]) == (True, "load 9")
    found = await app.ok("get_latest_monitor_data", server=server, sys="hourly")
    assert [one["totals"]["load"] for one in found["rows"]] == [9]
    assert found["data"]["monitors"]["load"] == 9
    asked = {"server": server, "sys": "daily", "date": int(now) - 3_600, "limit": 60}
    assert len((await app.ok("get_historical_monitor_data", **asked))["rows"]) == 1
    (row,) = (await app.ok("search_alerts", query="alert:busy active:true", limit=5))["rows"]
    assert (await app.ok("get_alert_invocations", ids=[row["id"], "a0"]))["alerts"] == [row, None]
    await app.refused("delete_alert_invocation", "alert", 422, id=row["id"])
    evaluator.add(server, now + 60, {**samples.as_data(sample), "load": [1]})
    await evaluator.evaluate()
    await app.ok("delete_alert_invocation", id=row["id"])
    for minute, load in ((2, 9), (3, 1), (4, 9)):
        evaluator.add(server, now + minute * 60, {**samples.as_data(sample), "load": [load]})
        await evaluator.evaluate()
    asked = {"index": "alerts", "query": "alert:busy date:<2100-01-01"}
    assert (await app.ok("bulk_search_delete", **asked))["count"] == 1
    (row,) = (await app.ok("search_alerts", query="active:true", limit=5))["rows"]
    evaluator.add(server, now + 300, {**samples.as_data(sample), "load": [1]})
    await evaluator.evaluate()
    assert (await app.ok("bulk_search_delete", **asked))["count"] == 1
    await app.refused("bulk_search_delete", "api", 400, index="users", query="*")
    assert (await app.ok("search_alerts", query="alert:busy", limit=5))["rows"] == []


async def _use_people(app: AppClient) -> None:
    await app.ok("create_role", id="runners", title="Runners", privileges={"run_jobs": True})
    await app.ok("update_role", id="runners", notes="They run jobs.")
    assert (await app.ok("get_role", id="runners"))["role"]["privileges"] == {"run_jobs": True}
    assert (await app.ok("get_roles"))["list"]["length"] == 1
    asked = {"username": "bob", "password": "correct horse battery", "roles": ["runners"]}
    assert (await app.ok("admin_create", **asked))["user"]["role"] == "viewer"
    changed = await app.ok("admin_update", username="bob", roles=[], privileges={"run_jobs": 1})
    assert changed["user"]["privileges"]["run_jobs"] is True
    assert (await app.ok("admin_get_user", username="bob"))["user"]["roles"] == []
    assert (await app.ok("admin_get_users"))["list"]["length"] == 2
    await app.ok("admin_logout_all", username="bob")
    await app.ok("admin_delete", username="bob")
    await app.ok("delete_role", id="runners")
    made = await app.ok("create_api_key", title="Build bot", privileges={"run_jobs": 1})
    assert made["plain_key"].startswith("wb_")
    key = made["api_key"]["id"]
    await app.ok("update_api_key", id=key, title="Bot")
    assert (await app.ok("get_api_key", id=key))["api_key"]["title"] == "Bot"
    assert (await app.ok("get_api_keys"))["list"]["length"] == 1
    await app.ok("delete_api_key", id=key)
    assert (await app.ok("get_user_activity", limit=3))["rows"][0]["action"] == "key.revoke"
    found = await app.ok("search_activity", query="action:user.add subject:bob", limit=9)
    assert [one["username"] for one in found["rows"]] == ["administrator"]


async def _use_files(app: AppClient, store: Store) -> None:
    await begun(store, job("j9", state="active"))
    path = ""
    for name in ("upload_files", "upload_job_input_files", "upload_job_file"):
        form = FormData()
        form.add_field("file1", b"id,value\n", filename="input.csv")
        answer = await app.visitor.post(f"/api/app/{name}/v1?id=j9", data=form)
        assert set(answer.json()) == {"code", *HANDLERS[name].gives}, answer.text
        app.answered.add(name)
        path = answer.json().get("key", "")
    read = await app.ask("file", path=path)
    assert (read.status, read.text) == (200, "id,value\n")
    app.answered.add("file")
    await app.ok("delete_job_file", id="j9", path=path)
    assert (await app.ok("get_job", id="j9"))["job"]["files"] == []


async def _use_the_rest(app: AppClient) -> None:
    await app.ok("ping")
    assert (await app.ok("echo", hello="there"))["params"] == {"hello": "there"}
    assert (await app.ok("config"))["config"]["name"] == "Watchbell"
    assert (await app.ok("dash_stats"))["stats"]["events"] == 1
    lists = (await app.ok("get_multiple", lists=["events", "groups", "tags"]))["lists"]
    assert list(lists) == ["events", "groups", "tags"]
    await app.ok("search_revision_history", type="events", query="*", limit=10)
    assert "test" in await app.refused("error", "test", 400)
