"""A run under way: how long it may continue under its lock, and when it may start."""

import asyncio
from math import inf

import pytest

from watchbell.runs.leases import LOCK_LOST
from watchbell.runs.running import Running


@pytest.mark.parametrize("heartbeat", [0.5, 1, 10])
@pytest.mark.parametrize("ttl", [1, 2, 3, 10, 60, 3600])
@pytest.mark.parametrize("kill_after", [0, 1, 60])
def test_a_run_is_killed_before_its_lock_can_lapse(
    heartbeat: float, ttl: int, kill_after: float
) -> None:
    """Counted from when the store was asked to extend the lock, which it did later, or never."""
    run = Running("r", "long", lock="long", ttl=ttl * 1000, grace=kill_after)
    run.renewed(100, heartbeat)
    assert run.lease_until is not None
    assert run.lease_until <= 100 + ttl - 0.25
    assert run.keep_until <= run.lease_until
    assert 100 < run.next_renewal < run.gives_up <= run.lease_until


@pytest.mark.parametrize(
    ("answer", "is_started"), [("kept", True), ("promised", True), ("lost", False)]
)
async def test_a_run_that_was_begun_long_ago_is_started_once_its_lock_is_renewed(
    answer: str, *, is_started: bool
) -> None:
    run = Running("r", "long", lock="long", ttl=10_000, grace=1)
    run.renewed(100, 10)
    run.renew_at(200)
    waiting = asyncio.create_task(run.secured())
    await asyncio.sleep(0)
    run.not_renewed(200)
    await asyncio.sleep(0)
    assert not waiting.done()
    if answer == "kept":
        run.renewed(201, 10)
    elif answer == "promised":
        run.not_renewed(201, 10)
    else:
        run.lose(LOCK_LOST)
    await waiting
    assert (not run.reason) is is_started
    assert run.lease_until == (209 if is_started else inf)
