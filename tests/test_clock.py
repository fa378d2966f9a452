"""The clocks."""

import time

from watchbell.clock import SYSTEM, SetClock


def test_the_system_clock_is_the_machines() -> None:
    before = time.time(), time.monotonic()
    read = SYSTEM.now(), SYSTEM.monotonic()
    after = time.time(), time.monotonic()
    assert before[0] <= read[0] <= after[0]
    assert before[1] <= read[1] <= after[1]


def test_a_set_clock_stands_where_it_was_set() -> None:
    clock = SetClock(1_700_000_000)
    assert [clock.now(), clock.now(), clock.monotonic()] == [1_700_000_000] * 3


def test_a_set_clock_moves_only_by_hand() -> None:
    clock = SetClock(100)
    clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (102.5, 102.5)
    clock.set(7)
    assert (clock.now(), clock.monotonic()) == (7, 7)


def test_two_set_clocks_know_nothing_of_each_other() -> None:
    one, other = SetClock(1), SetClock(1)
    one.advance(5)
    assert other.now() == 1
