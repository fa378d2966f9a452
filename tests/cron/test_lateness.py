"""Which jobs are reported because they do not come to run."""

import pytest

from tests.cron.crew import definition
from watchbell.cron.lateness import Holder, Limits, Skips, Survey, held, late
from watchbell.cron.model import Fire, Job
from watchbell.cron.validation import from_fields

NOW = 1_800_000_000.0
LIMITS = Limits(skipped=3, overdue=600, grace=60)
LOCK = "ab12"
RUN = Holder("backup", "c0ffee0011", "web-1", NOW - 7_260)
NOTHING = Survey(NOW, {}, [], [], {}, {})


def find(name: str) -> Job | None:
    options = {"patient": {"grace": 3_600}}.get(name, {})
    said = definition("true", {"second": "*"}) | {"watchbell": options}
    job = from_fields(name, said)
    return job if isinstance(job, Job) and name != "gone" else None


def fire(job: str, ago: int) -> Fire:
    return Fire(fire=int(NOW) - ago, job=job, lock=LOCK)


def skips(count: int, ago: int) -> Skips:
    return Skips(count, int(NOW) - ago, LOCK)


@pytest.mark.parametrize(
    ("count", "ago", "is_held", "is_late"),
    [
        (1, 5, True, False),
        (2, 599, True, False),
        (3, 3, True, True),
        (3, 3, False, True),  # it may have been free for a moment
        (9, 9, True, True),
        (1, 601, True, True),  # a daily job whose run hangs
        (1, 601, False, False),  # the run ended, and the next fire is to come
    ],
)
def test_a_job_is_late_when_skipped_too_often_or_for_too_long(
    count: int, ago: int, is_held: bool, is_late: bool
) -> None:
    holders = {LOCK: RUN} if is_held else {}
    survey = NOTHING._replace(skipped={"backup": skips(count, ago)}, holders=holders)
    assert bool(late(survey, LIMITS, find)) == is_late


def test_the_reason_names_what_holds_the_lock() -> None:
    survey = NOTHING._replace(skipped={"report": skips(3, 3)}, holders={LOCK: RUN})
    reason = "skipped 3 times in a row: the run c0ffee00 of backup on web-1 holds its lock for"
    assert late(survey, LIMITS, find) == {"report": f"{reason} 2 hours, 1 minute"}
    assert (
        held("backup", RUN, NOW)
        == "its run c0ffee00 on web-1 has been in progress for 2 hours, 1 minute"
    )
    assert held("backup", Holder(), NOW) == "another program holds its lock"
    assert held("backup", Holder("report"), NOW) == "its lock is kept for the next run of report"


def test_fires_that_wait_are_late_after_their_time_and_their_grace() -> None:
    waiting = [fire("short", 599), fire("long", 601), fire("patient", 3_000), fire("gone", 9_999)]
    for kind in ("waiting", "pending"):
        found = late(NOTHING._replace(**{kind: waiting}), LIMITS, find)  # type: ignore[arg-type]
        assert list(found) == ["long"]
    unclaimed = {one.job: one.fire for one in waiting}
    found = late(NOTHING._replace(unclaimed=unclaimed), LIMITS, find)
    assert list(found) == ["long"]
    assert found["long"].endswith("every instance is drained")
