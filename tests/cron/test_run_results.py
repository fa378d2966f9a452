"""The results of runs that ended or froze: what is recorded, reported and retried."""

from typing import Any

import msgspec
import pytest

from tests.cron.crew import definition
from watchbell.cron import run_results
from watchbell.cron.model import Begun, Detail, Fire, Job, Record
from watchbell.cron.run_results import End, RunResult
from watchbell.cron.validation import from_fields

NOON = 1_763_208_000


def job(*, lock: bool = True, **options: Any) -> Job:
    made = from_fields("backup", definition("true", lock=lock, **options))
    assert isinstance(made, Job)
    return made


def ended(of: Job | None, **facts: Any) -> RunResult:
    known = {"at": NOON + 2.5, "retcode": 0, "reason": "", "output": "ok\n", "lock": "abc"}
    fire = Fire(job="backup", fire=NOON, why="schedule", attempts=3)
    return run_results.ended(
        Begun("run-1", NOON, fire, has_lock=True),
        of,
        End(**{"is_cancelled": False, **known, **facts}),
        instance="one",
        host="web-1",
        upstream=False,
    )


def frozen(of: Job | None) -> RunResult:
    record = Record(job_name="backup", start_time=NOON, host="web-1", status="running")
    known = record, Detail(job="backup", fire=NOON, why="schedule", attempts=3, lock="abc")
    return run_results.frozen("run-1", known, of, "half\n", NOON + 90, NOON + 45, upstream=False)


def detail(result: RunResult) -> Detail:
    return msgspec.json.decode(result.detail, type=Detail)


def test_a_success_is_recorded_and_reported_and_not_retried() -> None:
    result = ended(job(retries=2))
    record = msgspec.json.decode(result.record, type=Record)
    assert (record.status, record.duration, record.output) == ("success", 2.5, "ok\n")
    assert msgspec.json.decode(result.event)["state"] == "ok"
    assert (result.verdict, result.retry, result.retry_at) == ("success", b"", 0)


@pytest.mark.parametrize(
    "facts", [{"retcode": 1}, {"retcode": None}, {"reason": "its time limit was reached"}]
)
def test_a_failure_is_retried_after_the_delay(facts: dict[str, Any]) -> None:
    result = ended(job(retries=2, retry_delay=60), **facts)
    assert result.verdict == "fail"
    assert result.retry_at == detail(result).retry_at == NOON + 62.5
    assert msgspec.json.decode(result.event)["state"] == "critical"


def test_a_run_that_a_person_ended_is_not_retried() -> None:
    assert ended(job(retries=2), retcode=-15, is_cancelled=True).retry == b""


@pytest.mark.parametrize("of", [None, job(alert=False)])
def test_nothing_is_reported_of_a_job_that_is_gone_or_does_not_alert(of: Job | None) -> None:
    assert ended(of, retcode=1).event == b""


def test_a_frozen_run_fails_unless_it_sends_a_heartbeat_meanwhile() -> None:
    result = frozen(job())
    record = msgspec.json.decode(result.record, type=Record)
    assert (record.status, record.duration, record.output) == ("frozen", 90, "half\n")
    assert (result.verdict, result.stale) == ("fail", f"{NOON + 45}.000000")
    assert detail(result).reason == "frozen: no heartbeat from web-1"
    assert msgspec.json.decode(result.event)["state"] == "critical"


def test_a_frozen_run_is_retried_only_under_a_lock() -> None:
    assert frozen(job(retries=2)).retry
    assert not frozen(job(retries=2, lock=False)).retry
    assert not frozen(None).retry


def test_a_frozen_run_of_an_unknown_job_is_reported() -> None:
    assert frozen(None).event
    assert not frozen(job(alert=False)).event
