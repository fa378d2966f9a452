"""When a message is tried again, when a server is left alone, how fast messages may go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.gateways.retries import LONGEST, Bucket, Circuit, backoff


@pytest.mark.parametrize(
    ("tries", "chance", "asked", "seconds"),
    [
        (1, 0, 0, 0.5),
        (1, 0.99999, 0, 1),
        (2, 0, 0, 1),
        (3, 0.5, 0, 3),
        (9, 0, 0, 128),
        (10, 0, 0, 150),
        (1_000, 0, 0, 150),
        (1_000, 0.99999, 0, LONGEST),
        (1, 0, 60, 60),
        (1_000, 0, 60, 150),
        (1_000, 0, 3_600, 3_600),
    ],
)
def test_pauses_double_are_spread_and_heed_the_server(
    tries: int, chance: float, asked: float, seconds: float
) -> None:
    assert backoff(tries, chance, asked) == pytest.approx(seconds, rel=1e-4)


def test_a_circuit_opens_at_the_fifth_failure_in_a_row_and_rests_longer_each_time() -> None:
    circuit = Circuit()
    assert [circuit.failed(now=0) for _ in range(4)] == [False] * 4
    assert circuit.allows(now=0) is None
    assert circuit.failed(now=0)
    assert circuit.allows(now=1.9) == 0
    assert circuit.allows(now=2) == 1
    for begins, ends in [(2, 6), (6, 14), (14, 30), (30, 62), (62, 122), (122, 182)]:
        assert not circuit.failed(now=begins)
        assert circuit.allows(now=ends - 0.1) == 0
        assert circuit.allows(now=ends) == 1


def test_failures_of_what_was_under_way_do_not_lengthen_the_rest() -> None:
    circuit = Circuit()
    for _ in range(20):
        circuit.failed(now=1)
    assert circuit.until == 3


def test_a_success_closes_the_circuit_and_forgets_its_failures() -> None:
    circuit = Circuit()
    assert not circuit.succeeded()
    for _ in range(5):
        circuit.failed(now=0)
    assert circuit.succeeded()
    assert circuit.allows(now=0) is None
    assert not circuit.failed(now=0)


def test_without_a_rate_nothing_waits() -> None:
    bucket = Bucket(0)
    assert [bucket.wait(0) for _ in range(1_000)] == [0] * 1_000


@given(st.floats(0.1, 100), st.lists(st.floats(0, 5), min_size=1, max_size=100))
def test_a_rate_is_kept_whatever_the_gaps(rate: float, gaps: list[float]) -> None:
    bucket, now, used = Bucket(rate), 1_000.0, []
    for gap in gaps:
        now += gap
        used.append(now + bucket.wait(now))
    for first in range(len(used)):
        within = [one for one in used[first:] if one <= used[first] + 10]
        assert len(within) <= max(rate, 1) + 10 * rate + 1.001


def test_a_pause_takes_nothing_until_there_is_one_to_take() -> None:
    bucket = Bucket(rate=0.5)  # one in two seconds
    assert bucket.pause(now=10) == 0
    assert bucket.pause(now=10) == 2
    assert bucket.pause(now=11) == 1
    assert bucket.pause(now=12) == 0
