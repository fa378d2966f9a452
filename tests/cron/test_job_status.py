"""What a job's status is, and why."""

from typing import Any

import pytest

from tests.cron.crew import definition
from watchbell.cron.job_status import is_paused, status
from watchbell.cron.validation import from_fields

GOOD, BAD = from_fields("backup", definition("true")), from_fields("backup", {})


@pytest.mark.parametrize(
    ("facts", "state", "reason"),
    [
        ({}, "new", "it has not run yet"),
        ({"succeeded": 5.0}, "ok", "its last run succeeded"),
        ({"succeeded": 5.0, "failed": 6.0}, "failing", "its last run failed"),
        ({"succeeded": 7.0, "failed": 6.0}, "ok", "its last run succeeded"),
        (
            {"failed": 6.0, "obstacle": "no instance may run it"},
            "blocked",
            "no instance may run it",
        ),
        ({"obstacle": "no tag", "running": 1}, "running", "1 run is in progress"),
        ({"failed": 6.0, "running": 2}, "running", "2 runs are in progress"),
        ({"running": 1, "is_paused": True}, "paused", "it is paused"),
    ],
)
def test_the_first_state_that_applies_counts(
    facts: dict[str, Any], state: str, reason: str
) -> None:
    assert status(GOOD, **{"is_paused": False, **facts}) == (state, reason)


def test_a_definition_that_is_not_valid_comes_before_everything() -> None:
    found = status(BAD, is_paused=True, running=1)
    assert found.state == "invalid"
    assert "cron_args: enter when it runs" in found.reason


def test_a_job_is_paused_by_its_definition_or_by_its_name() -> None:
    asleep = from_fields("backup", definition("true") | {"job_state": {"paused": True}})
    assert is_paused(asleep, set())
    assert is_paused(GOOD, {"backup"})
    assert is_paused(BAD, {"backup"})
    assert not is_paused(GOOD, {"other"})
