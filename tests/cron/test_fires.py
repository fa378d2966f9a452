"""What is claimed of a job that is due, and what is recorded as not run."""

from itertools import count
from typing import Any

from tests.cron.crew import definition
from watchbell.cron.fires import GOES_ON_HERE, Claim, JobEntry, Left, due_claims
from watchbell.cron.model import Job
from watchbell.cron.validation import from_fields
from watchbell.schedule.agenda import Agenda

NOON = 1_763_208_000
GRACE = 60


def entry(*, lock: bool = True, **options: Any) -> JobEntry:
    """Of a job that fires every hour, with noon as its next fire."""
    job = from_fields("backup", definition("true", {"cronstring": "@hourly"}, lock=lock, **options))
    assert isinstance(job, Job)
    made, agenda = JobEntry(job, mark=NOON - 3600), Agenda[JobEntry]()
    agenda.add(made)
    assert made.fire == NOON
    return made


def claims(of: JobEntry, now: float, runs_here: int = 0) -> list[Claim | Left]:
    numbers = map(str, count(1))
    return due_claims(of, now, GRACE, runs_here=runs_here, new_run=lambda: next(numbers))


def test_a_fire_that_is_due_is_claimed_under_its_mark() -> None:
    due = entry()
    [claim] = claims(due, NOON)
    assert claim == Claim(
        "backup", NOON, f"{NOON}:{due.job.fingerprint}", "1", due.item(NOON, "schedule")
    )


def test_a_fire_that_is_claimed_ahead_has_its_instant() -> None:
    [claim] = claims(entry(), NOON - 0.04)
    assert isinstance(claim, Claim)
    assert claim.at == f"{NOON}.000000"


def test_a_job_without_lock_is_left_out_while_its_run_goes_on_here() -> None:
    [left] = claims(entry(lock=False, overlap="skip"), NOON, runs_here=1)
    assert isinstance(left, Left)
    assert (left.first, left.last, left.number, left.reason) == (NOON, NOON, 1, GOES_ON_HERE)
    for other in (entry(lock=False), entry(overlap="skip")):
        assert isinstance(claims(other, NOON, runs_here=1)[0], Claim)


def test_fires_that_are_too_late_are_recorded_and_reported() -> None:
    [left] = claims(entry(alert=True), NOON + 2 * 3600 + 600)
    assert isinstance(left, Left)
    assert (left.first, left.last, left.number) == (NOON, NOON + 2 * 3600, 3)
    assert "due 10 minutes ago" in left.event
    [silent] = claims(entry(alert=False), NOON + 2 * 3600 + 600)
    assert isinstance(silent, Left)
    assert silent.event == ""


def test_all_that_was_missed_is_run_late_where_the_job_says_so() -> None:
    found = claims(entry(missed="all"), NOON + 2 * 3600 + 600)
    assert [claim[1] for claim in found] == [NOON, NOON + 3600, NOON + 7200]
    assert all(isinstance(claim, Claim) and '"why":"late"' in claim.item for claim in found)
