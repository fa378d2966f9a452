"""Metrics, read as Prometheus reads them, and the rules and dashboard that use them."""

import asyncio
import json
import re
import shutil
import subprocess
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families

from tests.alerting.scenes import Stage
from tests.archive.crawling import added, append, ident_of, running
from tests.cron.crew import definition, ended, put, say, serving
from tests.gateways.post import alert
from tests.jobs.logs import begun, job
from tests.jobs.test_finisher import end, finish
from tests.web.site import Site, serving_services
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.gateways import outcomes
from watchbell.gateways.keys import Gateways
from watchbell.gateways.message import Message
from watchbell.gateways.outbox import Item, Outbox
from watchbell.jobs.finisher import Finisher
from watchbell.settings import Tables
from watchbell.store import processes
from watchbell.store.client import Store
from watchbell.store.processes import Process, RoleReport
from watchbell.web.ping_check import ping_of

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
MAIL = {"host": "127.0.0.1", "from_address": "watchbell@example.com"}


@pytest.fixture
async def mailing(site: Site) -> AsyncIterator[Site]:
    """A site with a gateway for mail."""
    settings = replace(site.services.settings, gateways=Tables({"email": MAIL}))
    async with serving_services(replace(site.services, settings=settings)) as other:
        yield other


async def scraped(site: Site) -> dict[str, dict[tuple[str, ...], float]]:
    """The samples by name, each by the values of its labels."""
    async with site.program("metrics") as prometheus:
        answer = await prometheus.get("/metrics")
    assert answer.status == 200
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


async def test_events_notifications_and_checks_are_counted(site: Site, store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    await stage.send("ok")
    await stage.later(60).fails()
    await stage.push("no event")
    await stage.later(60).send("ok")
    found = await scraped(site)
    kinds = found["watchbell_events_total"]
    assert (kinds["ok",], kinds["failure",], kinds["invalid",]) == (2, 2, 1)
    assert found["watchbell_notifications_total"] == {("problem",): 1, ("recovery",): 1}
    assert found["watchbell_checks"] == {(): 1}
    assert found["watchbell_checks_failing"] == {(): 0}


async def test_jobs_and_servers_are_counted(site: Site, store: Store) -> None:
    await begun(store, job("j1", state="active", server="s1"))
    await begun(store, job("j2", state="queued"))
    finisher = Finisher(store, site.services.settings.jobs, "", SYSTEM, most_events=100)
    for name, code in (("j3", 0), ("j4", 1), ("j5", 1)):
        await end(store, job(name), code=code)
    await finish(finisher)
    found = await scraped(site)
    assert found["watchbell_jobs_total"] == {("success",): 1, ("failure",): 2}
    states = found["watchbell_jobs_in_progress"]
    assert (states["active",], states["waiting",], states["delayed",]) == (1, 1, 0)
    assert found["watchbell_jobs_kept"] == {(): 3}
    assert found["watchbell_servers"] == {(): 0}


async def test_a_queue_has_a_length_and_the_age_of_its_oldest_item(
    mailing: Site, store: Store
) -> None:
    now = int(SYSTEM.now())
    stage = Stage(store)
    await stage.push({"time": now - 500}, {"time": now - 100})
    box = Outbox(store, "email")
    waiting = [alert(1), alert(2, "bob@example.com")]
    await store.call(
        *("RPUSH", Alerting(store.prefix).queue("email")), *map(msgspec.json.encode, waiting)
    )
    batch = await box.taker.take()
    assert batch is not None
    await box.admit(batch, now - 300)
    found = await scraped(mailing)
    lengths, ages = found["watchbell_queue_length"], found["watchbell_queue_oldest_seconds"]
    assert lengths == {("events",): 2, ("notifications",): 0, ("gateway email",): 2}
    assert ages["events",] >= 500
    assert ages["gateway email",] >= 300
    assert ("notifications",) not in ages


@pytest.mark.parametrize("item", ["no json", "[" * 10_000, '{"time": "soon"}', "{}", '{"time":{}}'])
async def test_an_item_without_a_readable_time_has_no_age(
    site: Site, store: Store, item: str
) -> None:
    await Stage(store).push(item)
    found = await scraped(site)
    assert found["watchbell_queue_length"]["events",] == 1
    assert "watchbell_queue_oldest_seconds" not in found


async def test_deliveries_are_counted_by_outcome(mailing: Site, store: Store) -> None:
    now = int(SYSTEM.now())
    items = [Item(alert=alert(number), since=now) for number in range(3)]
    table = Gateways(store.prefix).outbox("email")
    for item in items:
        await store.call("HSET", table, item.id, msgspec.json.encode(item))
    message = Message(id="a0", address="alice@example.com", subject="subject", text="text")
    results = [
        outcomes.delivered(items[0], message, "250 ok", now),
        outcomes.again(items[1]),
        outcomes.again(items[1]),
        outcomes.given_up(items[2], None),
    ]
    await outcomes.settle(store, "email", results, now, 0)
    found = await scraped(mailing)
    assert found["watchbell_deliveries_total"] == {
        ("email", "delivered"): 1,
        ("email", "retried"): 2,
        ("email", "given_up"): 1,
    }


async def test_runs_are_counted_by_how_they_ended(site: Site, store: Store, folder: Path) -> None:
    await put(store, "good", definition("true"))
    await put(store, "bad", definition("false"))
    async with serving(store, folder):
        for name in ("good", "bad"):
            await say(store, "trigger", name)
            await ended(store, name)
    found = await scraped(site)
    assert found["watchbell_cron_runs_total"] == {("success",): 1, ("failure",): 1}
    assert found["watchbell_cron_jobs"] == {(): 2}
    assert found["watchbell_cron_runs_active"] == {(): 0}


async def test_roles_have_one_state_each(site: Site, store: Store) -> None:
    role = RoleReport(name="processor", state="failed", failures=3)
    await processes.report(store, Process(name="a.7.x", host="a", pid=7, version="1", roles=[role]))
    found = await scraped(site)
    states = {labels[-1]: value for labels, value in found["watchbell_role_state"].items()}
    assert states == {"starting": 0, "running": 0, "waiting": 0, "failed": 1, "stopped": 0}
    assert found["watchbell_role_failures_total"] == {("a", "a.7.x", "processor"): 3}


async def test_the_store_and_this_version_are_shown(site: Site) -> None:
    found = await scraped(site)
    (memory,) = found["watchbell_store_memory_bytes"].values()
    assert memory > 100_000
    assert list(found["watchbell_build_info"].values()) == [1]


async def test_requests_are_timed_by_route_never_by_path(site: Site) -> None:
    async with site.somebody("viewer") as viewer:
        await viewer.get("/api/v1/overview")
        await viewer.get("/api/v1/checks/no-such:check")
        await viewer.post("/api/v1/contacts", json={})
    found = await scraped(site)
    counts = found["watchbell_http_request_duration_seconds_count"]
    assert counts["GET", "/api/v1/overview", "200"] == 1
    assert ("POST", "/api/v1/contacts", "403") in counts
    assert not any("no-such" in route for _, route, _ in counts)


async def test_metrics_are_not_for_keys_of_another_scope(site: Site) -> None:
    ping = ping_of("web-1:HTTP", 60, 0)
    async with site.program("intake") as reporter, site.program("ping", ping=ping) as pinger:
        assert (await reporter.get("/metrics")).status == 403
        assert (await pinger.get("/metrics")).status == 403


async def test_a_metrics_key_reads_metrics_alone(site: Site) -> None:
    async with site.program("metrics") as prometheus:
        assert (await prometheus.get("/metrics")).status == 200
        assert (await prometheus.get("/api/v1/system")).status == 403
        assert (await prometheus.get("/api/v1/checks")).status == 403
    async with site.stranger() as stranger:
        assert (await stranger.get("/metrics")).status == 401


async def test_open_metrics_are_given_to_who_asks(site: Site) -> None:
    asked = {"Accept": "application/openmetrics-text; version=1.0.0"}
    async with site.program("metrics") as prometheus:
        answer = await prometheus.get("/metrics", headers=asked)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert any(family.name == "watchbell_events" for family in open_metrics(answer.text))  # type: ignore[no-untyped-call]


@pytest.fixture
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian's prometheus)")
    return found


async def test_names_and_types_follow_the_conventions(mailing: Site, promtool: str) -> None:
    async with mailing.program("metrics") as prometheus:
        text = (await prometheus.get("/metrics")).body
    program = await asyncio.create_subprocess_exec(
        promtool, "check", "metrics", stdin=PIPE, stderr=PIPE
    )
    _, complaints = await program.communicate(text)
    assert (program.returncode, complaints.decode()) == (0, "")


def test_prometheus_accepts_the_alert_rules(promtool: str) -> None:
    rules = DEPLOY / "prometheus" / "watchbell.rules.yml"
    done = subprocess.run([promtool, "check", "rules", rules], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def expressions(panel: dict[str, Any]) -> Iterator[str]:
    yield from (target["expr"] for target in panel["targets"])


async def test_rules_and_dashboard_use_metrics_that_exist(mailing: Site) -> None:
    async with mailing.program("metrics") as prometheus:
        exposed = (await prometheus.get("/metrics")).text
    known = set(re.findall(r"^# TYPE (\w+)", exposed, re.MULTILINE))
    dashboard = json.loads((DEPLOY / "grafana" / "watchbell.json").read_text())
    rules = (DEPLOY / "prometheus" / "watchbell.rules.yml").read_text()
    used = set(re.findall(r"watchbell_\w+", rules))
    for panel in dashboard["panels"]:
        for expression in expressions(panel):
            used |= set(re.findall(r"watchbell_\w+", expression))
    assert len(used) > 10
    assert {name for name in used if re.sub("_(bucket|count|sum)$", "", name) not in known} == set()


async def test_the_documentation_lists_every_metric(mailing: Site) -> None:
    async with mailing.program("metrics") as prometheus:
        exposed = (await prometheus.get("/metrics")).text
    known = {
        name
        for name in re.findall(r"^# TYPE (\w+)", exposed, re.MULTILINE)
        if not name.endswith("_created")
    }
    page = (DEPLOY.parent / "docs" / "metrics.md").read_text()
    assert set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE)) == known


async def test_crawls_and_pipelines_are_counted(site: Site, store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200, 200)
    await added(store, ident_of(2))
    found = await scraped(site)
    assert found["watchbell_crawls_in_progress"] == {("running",): 1, ("queued",): 1}
    assert found["watchbell_crawl_responses"] == {(): 2}
    assert found["watchbell_crawl_bytes"] == {(): 200}
    assert found["watchbell_pipelines"] == {(): 0}
    assert found["watchbell_crawls_total"]["completed",] == 0
