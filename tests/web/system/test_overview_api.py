"""Everything at a glance: what is wrong, what is done about it, what runs; and never too much."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.alerting.scenes import Stage
from tests.fleet.crew import join
from tests.jobs.logs import begun, job
from tests.jobs.test_job_history import finish, over
from tests.web.site import Site, Visitor
from watchbell.alerting import maintenance
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.cron import jobs
from watchbell.cron.reading import Reading
from watchbell.gateways.overview import MediumStatus
from watchbell.store import processes
from watchbell.store.client import Store
from watchbell.store.processes import Process, RoleReport
from watchbell.web.alerting.check_rows import CheckRow
from watchbell.web.system import overview

JOB = {"cron_args": {"cronstring": "@hourly"}, "job_args": {"cmd": "x", "lock": True, "ttl": 60}}


@pytest.fixture
async def stage(store: Store) -> Stage:
    """By the clock, for whom things happen now."""
    stage = Stage(store)
    stage.now = int(SYSTEM.now())
    return stage


@pytest.fixture
async def program(site: Site) -> AsyncIterator[Visitor]:
    async with site.program("read") as program:
        yield program


async def told(program: Visitor) -> Any:
    answer = await program.get("/api/v1/overview")
    assert answer.status == 200, answer.text
    return answer.json()


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


async def test_where_nothing_ever_reported_there_is_nothing(program: Visitor) -> None:
    found = await told(program)
    assert (found["checks"], found["counts"]["ok"], found["latest_change"]) == (0, 0, None)
    assert found["failing"]["open"] == found["alerts"] == found["runs"]["next"] == []
    assert {queue["name"]: queue["length"] for queue in found["queues"]} == {
        "events": 0,
        "notifications": 0,
    }


async def test_alerts_for_a_medium_without_a_gateway_are_a_problem(
    program: Visitor, store: Store
) -> None:
    await store.call("LPUSH", Alerting().queue("sms"), "{}")
    [problem] = (await told(program))["troubles"]
    assert (problem["kind"], problem["subject"], problem["state"]) == ("gateway", "sms", "critical")
    assert problem["words"].startswith("1 alert is waiting: no gateway is configured")


def test_a_gateway_that_runs_elsewhere_serves_its_medium() -> None:
    status = MediumStatus(medium="sms", queued=3, on_its_way=0, failed=0, seen=1_000)
    assert list(overview.of_media([status], 1_001)) == []
    [problem] = overview.of_media([status], 2_000)
    assert problem.words.startswith("3 alerts are waiting")


async def test_what_fails_is_told_by_what_is_done_about_it(program: Visitor, stage: Stage) -> None:
    await stage.contact("alice", "email")
    for state, name in (
        ("warning", "a:1"),
        ("critical", "a:2"),
        ("critical", "a:3"),
        ("ok", "b:1"),
    ):
        await stage.send(state, name, initial_failure_delay=0)
    for name in ("c:ack", "c:maint"):
        await stage.send("critical", name, initial_failure_delay=0)
    await stage.send("acknowledgement", "c:ack", duration=600)
    plan = (stage.now - 5, 600, "new disks", stage.now)
    await maintenance.create_scheduled(stage.store, "c:maint", *plan)
    found = await told(program)
    failing = found["failing"]
    assert names(failing["open"]) == ["a:2", "a:3", "a:1"]
    assert (names(failing["acknowledged"]), names(failing["maintenance"])) == (
        ["c:ack"],
        ["c:maint"],
    )
    assert (failing["open_count"], failing["acknowledged_count"]) == (3, 1)
    assert found["counts"] == {
        "ok": 1,
        "warning": 1,
        "critical": 4,
        "unknown": 0,
        "acknowledged": 1,
        "maintenance": 1,
    }
    assert (found["checks"], found["events"]) == (6, 7)
    assert found["alerts"][0]["contact_name"] == "Alice"
    assert abs(found["latest_change"] - stage.now) <= 1


def test_of_very_many_failures_the_worst_are_listed_and_the_rest_counted() -> None:
    rows = [
        CheckRow(id=f"e:{n}", entity="e", check=str(n), state="critical", since=n)
        for n in range(100)
    ]
    found = overview.parted(rows)
    assert (len(found.open), found.open_count) == (overview.MOST_OPEN, 100)


async def test_many_checks_are_not_all_read_for_who_glances(
    program: Visitor, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.send("critical", "a:1")
    await stage.send("ok", "a:2")
    monkeypatch.setattr(overview, "FEW", 1)
    found = await told(program)
    assert (found["is_complete"], found["counts"], found["latest_change"]) == (True, None, None)
    assert names(found["failing"]["open"]) == ["a:1"]
    monkeypatch.setattr(overview, "LATEST", 1)
    assert not (await told(program))["is_complete"]


async def test_jobs_say_what_is_due_next(program: Visitor, store: Store) -> None:
    now = SYSTEM.now()
    # Named in the order in which they fire, which decides where an hour or a year begins next.
    for name, at in (("hourly", "@hourly"), ("yearly", "@yearly"), ("each", "* * * * *")):
        await jobs.save(store, name, {**JOB, "cron_args": {"cronstring": at}}, Reading(), "new")
    paused = {**JOB, "job_state": {"paused": True}}
    await jobs.save(store, "never", paused, Reading(), "new")
    runs = (await told(program))["runs"]
    assert [one["job"] for one in runs["next"]] == ["each", "hourly", "yearly"]
    assert now < runs["next"][0]["at"] <= now + 120
    assert (runs["jobs"], runs["paused"], runs["failing"]) == (4, 1, 0)


async def test_what_of_ours_is_in_trouble_is_named(
    program: Visitor, store: Store, stage: Stage
) -> None:
    await store.call("LPUSH", Alerting().events(), "not json")
    await stage.drain()
    roles = [
        RoleReport(name="notifier", state="failed", words="KeyError; again in 4 s"),
        RoleReport(name="processor", state="running", words="12 events"),
    ]
    await processes.report(store, Process(name="p", host="box", pid=7, version="1", roles=roles))
    troubles = {
        (one["kind"], one["subject"], one["words"]) for one in (await told(program))["troubles"]
    }
    assert ("role", "notifier on box", "KeyError; again in 4 s") in troubles
    assert ("rejected", "Rejected events", "1 since the start of the previous hour") in troubles
    assert not any("processor" in subject for _, subject, _ in troubles)


@pytest.mark.parametrize(
    ("medium_status", "words"),
    [
        ({"seen": 100, "last_success": 90}, []),
        ({"seen": 100, "last_success": 90, "last_failure": 80, "last_error": "refused"}, []),
        (
            {"seen": 100, "last_success": 80, "last_failure": 90, "last_error": "refused"},
            ["the last message failed: refused"],
        ),
        ({"seen": 100, "last_failure": 90}, ["the last message failed"]),
        ({"seen": 100, "failed": 1_200}, ["gave up 1,200 alerts that can be sent again"]),
        ({"seen": 50}, ["not running"]),
        ({"seen": 50, "queued": 2, "on_its_way": 1}, ["not running; 3 alerts waiting"]),
    ],
)
def test_a_gateway_is_in_trouble_when_it_fails_or_is_gone(
    medium_status: dict[str, Any], words: list[str]
) -> None:
    usual = {"medium": "email", "queued": 0, "on_its_way": 0, "failed": 0}
    assert [
        one.words for one in overview.of_gateways([MediumStatus(**{**usual, **medium_status})], 100)
    ] == words


def test_a_process_that_is_gone_is_missed() -> None:
    gone = Process(name="p", host="box", pid=7, version="1", roles=[], is_alive=False)
    (trouble,) = overview.of_processes([gone])
    assert (trouble.kind, trouble.subject) == ("process", "box")


async def test_a_key_that_may_only_report_gets_no_glance(site: Site) -> None:
    async with site.program("intake") as program:
        assert (await program.get("/api/v1/overview")).status == 403


async def test_jobs_that_run_or_failed_and_servers_that_are_down_are_shown(
    program: Visitor, store: Store
) -> None:
    now = SYSTEM.now()
    await join(store, "db-1")
    await begun(store, job("j1", started=now, launched=now))
    await begun(store, job("j2", state="queued", launched=now))
    failed = {"code": 3, "tags": ("_error",)}
    await finish(store, over(1, completed=now - 60, **failed), over(2, completed=now - 60))
    await finish(store, over(3, completed=now - 90_000, **failed))
    found = (await told(program))["jobs"]
    assert (found["active"], found["waiting"], found["finished"]) == (1, 1, 3)
    assert names(found["running"]) == ["j1"]
    assert names(found["failed"]) == ["j0001"]
    assert (found["servers"], [one["title"] for one in found["down"]]) == (1, ["db-1"])
