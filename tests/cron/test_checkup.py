"""What `doctor` says of cron."""

from pathlib import Path
from typing import Any

import pytest

from tests.cron.crew import NEVER, READING, definition, now, put, serving
from tests.cron.test_bursts import beat as put_beat
from watchbell.alerting.keys import Alerting
from watchbell.cron import checkup
from watchbell.cron.checkup import Facts
from watchbell.cron.instances import instances
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import Beat, Job
from watchbell.cron.validation import from_fields
from watchbell.settings import Cron as CronSettings
from watchbell.store.client import Store
from watchbell.store.health import Finding

NOW = 1_794_000_000.0
SETTINGS = CronSettings()
OWN = CronOwn()


def beat(name: str = "one", **more: Any) -> Beat:
    known = {"host": "web-1", "ip": "10.0.0.1", "pid": 1, "seen": NOW, "capacity": 10}
    return Beat(name=name, **{**known, **more})


def job(name: str, **options: Any) -> Job:
    made = from_fields(name, definition("true", {"cronstring": "@hourly"}, **options))
    assert isinstance(made, Job)
    return made


def judged(**facts: Any) -> list[Finding]:
    known = {"now": NOW, "beats": [beat()], "count": 1, **facts}
    return list(checkup.judge(Facts(**known), SETTINGS))


def warnings(**facts: Any) -> list[str]:
    return [finding.text for finding in judged(**facts) if finding.level == "warning"]


def test_a_fleet_that_works_is_said_in_one_line() -> None:
    beats = [beat(running=2), beat("two", running=1)]
    [finding] = judged(beats=beats, count=1_200)
    assert finding == Finding("ok", "cron", "1,200 jobs; 3 of 20 places taken on 2 instances")


def test_without_jobs_and_instances_there_is_nothing_to_say() -> None:
    assert judged(beats=[], count=0) == []


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"beats": []}, "no instance is running: the job is not run"),
        (
            {"beats": [beat(is_drained=True)], "count": 2},
            "every instance is drained: 2 jobs are not run",
        ),
        (
            {"invalid": {"b": "x", "a": "y"}},
            "jobs with an invalid definition are not run: 2 jobs (a, b)",
        ),
        (
            {"jobs": [job("train", tags=["gpu"])]},
            "train: no instance may run it: web-1 lacks the tag gpu",
        ),
        (
            {"jobs": [job("late")], "marks": {"late": int(NOW) - 3600 - int(NOW) % 3600}},
            "late: due 20 minutes ago, but no instance has started it",
        ),
        (
            {"jobs": [job("ahead")], "marks": {"ahead": int(NOW) + 3600}},
            "marks ahead of the store's clock keep jobs from running: 1 job (ahead)",
        ),
    ],
)
def test_what_is_wrong_is_a_warning_with_advice(facts: dict[str, Any], text: str) -> None:
    [found] = [finding for finding in judged(**facts) if finding.level == "warning"]
    assert found.text == text
    assert found.advice


def test_a_job_in_time_is_not_late() -> None:
    hour = int(NOW) - int(NOW) % 3600
    assert warnings(jobs=[job("fine")], marks={"fine": hour}) == []
    assert warnings(jobs=[job("patient", grace=7200)], marks={"patient": hour - 3600}) == []


def test_of_many_jobs_some_are_named() -> None:
    many = [job(f"job-{n:02}", tags=["gpu"]) for n in range(30)]
    found = warnings(jobs=many)
    assert found[0].startswith("job-00: no instance may run it")
    assert found[-1].startswith("the same kind of problem: 25 jobs (job-05, ")
    invalid = warnings(invalid={one.name: "bad" for one in many})
    assert invalid[0].endswith(", job-04 and 25 more)")


def test_a_fleet_of_other_programs_runs_the_jobs() -> None:
    assert judged(beats=[], is_mixed=True) == []


async def test_the_facts_are_those_of_the_store(store: Store, folder: Path) -> None:
    hourly = definition("true", {"cronstring": "@hourly"})
    await put(store, "good", hourly)
    await put(store, "free", definition("true", NEVER, lock=False))
    await put(store, "asleep", hourly | {"job_state": {"paused": True}})
    await put(store, "quiet", hourly)
    await put(store, "bad", {"cron_args": {}})
    await store.call("SADD", Cron().paused(), "quiet")
    async with serving(store, folder):
        found = await checkup.facts(store, READING)
        [beat] = await instances(store)
    assert [one.name for one in found.beats] == [beat.name]
    assert (found.count, sorted(one.name for one in found.jobs)) == (5, ["free", "good"])
    assert list(found.invalid) == ["bad"]
    assert list(found.marks) == ["good"]
    assert not found.is_mixed


async def found_wrong(store: Store, most_events: int = 100) -> list[str]:
    found = await checkup.facts(store, READING)
    findings = checkup.judge(found, CronSettings(most_events=most_events))
    return [finding.text for finding in findings if finding.level == "warning"]


async def test_nothing_is_said_of_a_fleet_that_is_well(store: Store) -> None:
    await put_beat(store, "web-1", seen=await now(store))
    assert await found_wrong(store) == []


async def test_each_trouble_is_said_in_a_line(store: Store) -> None:
    await put_beat(store, "web-1", seen=await now(store) - 1_000)
    await store.call("HSET", OWN.ahead(), "backup", "9999999999:1800000000")
    await store.call(
        "HSET", OWN.overdue(), "report", "skipped 3 times in a row: a run was in progress"
    )
    await store.call("HSET", OWN.unreported(), "cron:backup", "{}")
    await store.call("LPUSH", Alerting().events(), *range(7))
    moved, late, events, silent = await found_wrong(store, most_events=5)
    assert moved.startswith(
        "the store's clock was set back in the last hour; affected: 1 job (backup)"
    )
    assert late == "report: skipped 3 times in a row: a run was in progress"
    assert events.startswith("7 check events wait for alerting; cron keeps back the latest events")
    assert silent == "the instance web-1 sends no heartbeat"


async def test_what_others_wrote_into_our_keys_stops_no_doctor(store: Store) -> None:
    await store.call("LPUSH", OWN.ahead(), "x")
    await store.call("SET", Alerting().events(), "x")
    assert await found_wrong(store) == []
    await store.call("DEL", OWN.ahead(), Alerting().events())
