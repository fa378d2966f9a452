"""Which failures can be acknowledged, and why not the others."""

import pytest

from watchbell.alerting.decide.acknowledgement import Refusal, refusal
from watchbell.alerting.decide.maintenance import Maintenance, is_acknowledged, maintenance


@pytest.mark.parametrize(
    ("state", "found", "expected"),
    [
        ("critical", None, None),
        ("warning", None, None),
        ("unknown", None, None),
        ("critical", Maintenance.UNSCHEDULED, None),
        ("critical", Maintenance.SCHEDULED, Refusal.SCHEDULED),
        ("ok", None, Refusal.NOT_FAILING),
        ("ok", Maintenance.SCHEDULED, Refusal.NOT_FAILING),
        (None, None, Refusal.NOT_FAILING),
    ],
)
def test_only_failures_outside_scheduled_maintenance_can_be_acknowledged(
    state: str | None, found: Maintenance | None, expected: Refusal | None
) -> None:
    assert refusal(state, found) is expected


@pytest.mark.parametrize(
    ("scheduled", "unscheduled", "expected"),
    [
        (None, None, None),
        (1_000, None, Maintenance.SCHEDULED),
        (None, 1_000, Maintenance.UNSCHEDULED),
        (1_000, 2_000, Maintenance.SCHEDULED),
        (0, None, Maintenance.SCHEDULED),
    ],
)
def test_scheduled_maintenance_comes_before_unscheduled(
    scheduled: int | None, unscheduled: int | None, expected: Maintenance | None
) -> None:
    assert maintenance(scheduled, unscheduled) is expected


def test_only_a_failure_is_acknowledged() -> None:
    assert is_acknowledged("critical", 1_000)
    assert not is_acknowledged("critical", None)
    assert not is_acknowledged("ok", 1_000)
