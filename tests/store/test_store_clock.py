"""The store's time, by measurements of which some are better than others."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.clock import Clock
from watchbell.store.store_clock import Sample, StoreClock, better


@pytest.mark.parametrize(
    ("new", "wins"),
    [
        (Sample(100.0, 0.001, 11), True),  # as good, and newer
        (Sample(99.98, 0.05, 11), False),  # slower, and it agrees
        (Sample(99.98, 0.05, 2000), True),  # slower, but the kept one is old
        (Sample(3700.0, 0.05, 11), True),  # the store's clock was set
        (Sample(99.9, 0.05, 11), True),  # set back a little, and surely so
    ],
)
def test_the_better_measurement_is_kept(new: Sample, wins: bool) -> None:
    kept = Sample(100.0, 0.001, 10)
    assert better(kept, new) is (new if wins else kept)
    assert better(None, new) is new


class Hand(Clock):
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time = 5.0

    def monotonic(self) -> float:
        return self.time


@given(st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)), min_size=1, max_size=30))
def test_the_time_is_never_ahead_and_behind_by_the_best_way_back_at_most(
    trips: list[tuple[float, float]],
) -> None:
    hand = Hand()
    clock = StoreClock(hand)
    best = 1.0
    for there, back in trips:

        async def ask(there: float = there, back: float = back) -> tuple[float, str]:
            hand.time += there
            told = hand.time + 1_000
            hand.time += back
            return told, "more"

        asyncio.run(clock.measure(ask))
        best = min(best, back)
        hand.time += 1
        behind = hand.time + 1_000 - clock.now()
        assert -1e-9 <= behind <= best + 0.01


async def test_a_step_is_told_and_followed() -> None:
    hand = Hand()
    clock = StoreClock(hand)

    async def at(offset: float) -> tuple[float, int]:
        return hand.time + offset, 7

    assert await clock.measure(lambda: at(100)) == (0.0, 7)
    assert (await clock.measure(lambda: at(3700)))[0] == 3600
    assert clock.now() == hand.time + 3700
    assert (await clock.measure(lambda: at(100)))[0] == -3600
