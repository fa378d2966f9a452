"""A check's states as a picture shows them: without gaps, never too many, no failure lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.alerting.model import SEVERITY
from watchbell.alerting.reports import Change
from watchbell.alerting.timeline import Segment, segments, thinned

STATES = ("ok", "warning", "critical", "unknown")


@pytest.mark.parametrize(
    ("changes", "start", "end", "expected"),
    [
        ([], 0, 10, [(0, 10, None)]),
        ([(5, "ok")], 0, 10, [(0, 5, None), (5, 10, "ok")]),
        ([(-5, "ok")], 0, 10, [(0, 10, "ok")]),
        ([(0, "ok")], 0, 10, [(0, 10, "ok")]),
        ([(-5, "ok"), (4, "critical")], 0, 10, [(0, 4, "ok"), (4, 10, "critical")]),
        ([(-5, "ok"), (0, "critical")], 0, 10, [(0, 10, "critical")]),
        ([(1, "ok"), (4, "ok"), (6, "unknown")], 1, 10, [(1, 6, "ok"), (6, 10, "unknown")]),
        ([(1, "ok"), (10, "critical")], 0, 10, [(0, 1, None), (1, 10, "ok")]),
        ([(1, "ok")], 5, 5, []),
    ],
)
def test_a_range_is_made_of_the_states_in_it(
    changes: list[tuple[int, str]],
    start: int,
    end: int,
    expected: list[tuple[int, int, str | None]],
) -> None:
    found = segments([Change(*one) for one in changes], start, end)
    assert [(one.start, one.end, one.state) for one in found] == expected


def test_a_segment_says_what_was_said_when_it_began() -> None:
    told = [Change(1, "critical", "refused"), Change(3, "critical", "still")]
    assert segments(told, 0, 5)[-1] == Segment(1, 5, "critical", 1, "refused")


def test_few_segments_stay_as_they_are() -> None:
    few = [Segment(0, 1, "ok"), Segment(1, 100_000, "critical")]
    assert thinned(few, 2) == few


def test_one_second_of_failure_among_very_many_changes_is_seen() -> None:
    changes = [Change(at, STATES[at % 2]) for at in range(5_000)]
    changes[2_000] = Change(2_000, "critical")
    found = thinned(segments(changes, 0, 5_000), 100)
    assert "critical" in {one.state for one in found}
    assert sum(one.changes for one in found) == 5_000


@st.composite
def courses(draw: st.DrawFn) -> list[Segment]:
    gaps = draw(st.lists(st.integers(1, 5_000), min_size=1, max_size=300))
    times = [sum(gaps[: n + 1]) for n in range(len(gaps))]
    states = [draw(st.sampled_from(STATES)) for _ in times]
    changes = [Change(*pair) for pair in zip(times, states, strict=True)]
    return segments(changes, 0, times[-1] + 1)


@given(courses(), st.integers(4, 50))
def test_whatever_is_thinned_out_has_no_gaps_and_no_more_than_fit(
    found: list[Segment], most: int
) -> None:
    few = thinned(found, most)
    assert len(few) <= max(most + 2, 1)
    assert (few[0].start, few[-1].end) == (found[0].start, found[-1].end)
    assert all(one.end == after.start for one, after in pairwise(few))
    for one in few:
        within = [two for two in found if one.start <= two.start < one.end]
        worst = max(SEVERITY.get(two.state or "", 0) for two in within)
        assert SEVERITY.get(one.state or "", 0) == worst
