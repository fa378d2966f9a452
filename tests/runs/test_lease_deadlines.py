"""How long a run may go on under its lock, case by case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.runs import lease_deadlines
from watchbell.runs.lease_deadlines import UNKNOWN, Lease

OF_100 = lease_deadlines.renewed(100, 10, 1)
SECONDS = st.floats(0, 10_000)


def test_a_lease_ends_before_its_lock_and_leaves_time_to_end_in() -> None:
    assert Lease(gives_up=107, ends=108) == OF_100


@pytest.mark.parametrize(
    ("why", "lease", "asked", "left", "then"),
    [
        ("nothing is promised", OF_100, 105, 0, OF_100),
        ("less is promised than before", OF_100, 101, 3, OF_100),
        ("the lock has not lapsed, and no notice is given", OF_100, 105, 10, Lease(112, 113)),
        ("the lock has lapsed, and notice was given", OF_100, 107, 5, Lease(110, 111)),
        ("the notice is nearly over", OF_100, 107, 0.2, OF_100),
        ("a lock of a second", lease_deadlines.renewed(100, 1, 1), 100.5, 1, Lease(101, 101.25)),
        ("an adopted run, no promise", UNKNOWN, 105, 0, UNKNOWN),
        ("an adopted run", UNKNOWN, 105, 5, Lease(108, 109)),
    ],
)
def test_a_refusal_extends_a_lease_as_far_as_no_other_run_begins(
    why: str, lease: Lease, asked: float, left: float, then: Lease
) -> None:
    assert lease_deadlines.refused(lease, asked, left, 1) == then, why


@given(asked=SECONDS, seconds=SECONDS, later=SECONDS, left=SECONDS, grace=SECONDS)
def test_a_lease_never_outlasts_what_the_store_promised(
    asked: float, seconds: float, later: float, left: float, grace: float
) -> None:
    before = lease_deadlines.renewed(asked, seconds, grace)
    after = lease_deadlines.refused(before, asked + later, left, grace)
    assert before.ends <= after.ends
    assert after.gives_up <= after.ends
    rounding = 1e-6
    assert after.ends + 0.25 <= max(asked + seconds, asked + later + left) + rounding


@pytest.mark.parametrize("seconds", [1, 2, 3, 10])
def test_renewals_that_are_refused_are_repeated_before_the_run_is_given_up(seconds: float) -> None:
    lease = lease_deadlines.renewed(100, seconds, 60)
    assert (
        lease_deadlines.pause(seconds) + lease_deadlines.retry_pause(seconds) < lease.gives_up - 100
    )
