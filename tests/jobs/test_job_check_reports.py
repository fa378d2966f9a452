"""Check events about jobs and servers, and what happens while nobody processes them."""

import json

import pytest

from watchbell.alerting import bounded_reports
from watchbell.alerting.event import parse
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import CheckEvent
from watchbell.jobs import check_reports
from watchbell.jobs.check_reports import CheckReport
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Code, Job
from watchbell.jobs.report_returner import ReportReturner
from watchbell.store.client import Store

NOW = 1_772_716_029.5
LINK = "https://watchbell.example.com/jobs/job?id=j1"


def job(code: Code = 0, **more: object) -> Job:
    fields = {"id": "j1", "event": "backup", "state": "complete", "code": code, "completed": NOW}
    return Job(**{**fields, "elapsed": 3.21, **more})  # type: ignore[arg-type]


def reported(one: Job, log_end: str = "") -> CheckEvent:
    report = check_reports.job_ended(one, title="Backup", host="db-1", link=LINK, log_end=log_end)
    return event_of(report)


def event_of(report: CheckReport | None) -> CheckEvent:
    assert report is not None
    event = parse(report.event, None)
    assert isinstance(event, CheckEvent), event
    assert event.id == report.check
    return event


@pytest.mark.parametrize(
    ("ended", "state", "summary"),
    [
        (job(), "ok", "Backup: done in 3.2 s on db-1"),
        (job(description="42 files"), "ok", "Backup: 42 files after 3.2 s on db-1"),
        (job(3), "critical", "Backup: code 3 after 3.2 s on db-1"),
        (job(3, description="disk full."), "critical", "Backup: disk full after 3.2 s on db-1"),
        (job("warning"), "warning", "Backup: ended with a warning result after 3.2 s on db-1"),
        (job("critical"), "critical", "Backup: ended with a critical error after 3.2 s on db-1"),
        (job("abort"), "warning", "Backup: aborted after 3.2 s on db-1"),
        (job("abort", retry_ok=True), "critical", "Backup: aborted after 3.2 s on db-1"),
        (job(1, retry_count=2), "critical", "Backup: code 1 after 3.2 s on db-1, attempt 3"),
        (job(1, elapsed=125), "critical", "Backup: code 1 after 2 min 5 s on db-1"),
    ],
)
def test_a_job_is_reported_by_its_code(ended: Job, state: str, summary: str) -> None:
    event = reported(ended)
    assert (event.entity, event.check, event.state) == ("jobs", "backup", state)
    assert event.summary == summary
    assert event.time == int(NOW)


def test_details_have_the_link_the_notes_and_for_failures_the_end_of_the_log() -> None:
    failed = reported(job(1, notes="Call Alice."), "one\ntwo\n")
    assert failed.details == f"{LINK}\n\nCall Alice.\n\none\ntwo"
    assert reported(job(), "one\n").details == LINK


def test_a_long_log_is_cut_to_its_end() -> None:
    details = reported(job(1), "x" * 10_000 + "the end").details
    assert details is not None
    assert len(details) < 5_000
    assert details.endswith("the end")


@pytest.mark.parametrize("unreported", [job(1, retried=True), job(1, test=True)])
def test_retried_jobs_and_tests_report_nothing(unreported: Job) -> None:
    report = check_reports.job_ended(unreported, title="Backup", host="db-1", link=LINK)
    assert report is None


def test_a_server_is_critical_while_it_is_down() -> None:
    down = event_of(check_reports.server_down("db-1", 16, NOW))
    assert (down.id, down.state) == ("servers:db-1", "critical")
    assert down.summary == "no sign of life from the agent for 16 s"
    assert event_of(check_reports.server_up("db-1", 90, NOW)).summary == (
        "the agent is connected again, after 1 min 30 s"
    )
    assert event_of(check_reports.server_removed("db-1", "removed", NOW)).state == "ok"
    assert event_of(check_reports.event_removed("backup", "Backup", NOW)).state == "ok"


async def test_events_are_held_back_while_too_many_wait_and_return_later(store: Store) -> None:
    events, unreported = Alerting(store.prefix).events(), Jobs(store.prefix).unreported()
    first, second = (check_reports.event_removed("backup", title, NOW) for title in ("A", "B"))
    await store.call("LPUSH", events, *(json.dumps({"n": n}) for n in range(3)))
    for report in (first, second):
        await bounded_reports.push(store, unreported, [report], 3)
    assert await store.call("LLEN", events) == 3
    assert await store.call("HGETALL", unreported) == {b"jobs:backup": second.event}
    returner = ReportReturner(store, 3)
    await returner.look()
    assert await store.call("LLEN", events) == 3
    await store.call("LTRIM", events, 0, 0)
    await returner.look()
    assert await store.call("LINDEX", events, 0) == second.event
    assert await store.call("EXISTS", unreported) == 0
