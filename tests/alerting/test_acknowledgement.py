"""Which failures can be acknowledged, and why not the others."""

import pytest

from watchbell.alerting.decide.acknowledgement import Refusal, refusal


@pytest.mark.parametrize(
    ("state", "is_scheduled", "expected"),
    [
        ("critical", False, None),
        ("warning", False, None),
        ("unknown", False, None),
        ("critical", True, Refusal.SCHEDULED),
        ("ok", False, Refusal.NOT_FAILING),
        ("ok", True, Refusal.NOT_FAILING),
        (None, False, Refusal.NOT_FAILING),
    ],
)
def test_only_failures_outside_scheduled_maintenance_can_be_acknowledged(
    state: str | None, is_scheduled: bool, expected: Refusal | None
) -> None:
    assert refusal(state, is_scheduled=is_scheduled) is expected
