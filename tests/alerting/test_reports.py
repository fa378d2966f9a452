"""Reports: outages from changes, downtime without planned work, to the second."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.alerting.reports import (
    Change,
    Outage,
    downtime,
    freshness,
    in_range,
    outages,
)
from watchbell.alerting.windows import Window

Short = tuple[str, int, int | None]


def changes(*given: tuple[int, str] | tuple[int, str, str]) -> list[Change]:
    return [Change(*one) for one in given]


def short(found: list[Outage]) -> list[Short]:
    return [(one.state, one.start, one.end) for one in found]


FLAPPING = changes((10, "ok"), (20, "critical"), (30, "warning"), (40, "ok"), (50, "unknown"))


@pytest.mark.parametrize(
    ("history", "start", "end", "expected"),
    [
        ([], 0, 100, []),
        (changes((10, "ok")), 0, 100, []),
        (FLAPPING, 0, 100, [("critical", 20, 30), ("warning", 30, 40), ("unknown", 50, 100)]),
        (FLAPPING, None, None, [("critical", 20, 30), ("warning", 30, 40), ("unknown", 50, None)]),
        (FLAPPING, 25, 35, [("critical", 25, 30), ("warning", 30, 35)]),
        (FLAPPING, 30, 35, [("warning", 30, 35)]),
        (FLAPPING, 40, 45, []),
        (FLAPPING, 60, 70, [("unknown", 60, 70)]),
        (FLAPPING, 60, None, [("unknown", 60, None)]),
        (FLAPPING, None, 50, [("critical", 20, 30), ("warning", 30, 40), ("unknown", 50, 50)]),
        (FLAPPING, 0, 9, []),
        (FLAPPING, 70, 60, []),
    ],
)
def test_outages_are_runs_of_one_state_within_the_range(
    history: list[Change], start: int | None, end: int | None, expected: list[Short]
) -> None:
    assert short(outages(history, start, end)) == expected


def test_changes_into_the_same_state_are_one_outage_with_all_that_was_said() -> None:
    history = [
        Change(5, "critical", "disk full", "98 %"),
        Change(10, "critical", "disk very full"),
        Change(15, "critical", None, "99 %"),
        Change(20, "ok", "fine"),
    ]
    assert outages(history, 8, 30) == [
        Outage("critical", 8, 20, 12, "disk full / disk very full", "98 % / 99 %")
    ]


def outage(start: int, end: int | None, summary: str | None = "down") -> Outage:
    duration = None if end is None else end - start
    return Outage("critical", start, end, duration, summary)


@pytest.mark.parametrize(
    ("start", "end", "left"),
    [
        (0, 10, [(20, 40)]),
        (0, 20, [(20, 40)]),
        (40, 50, [(20, 40)]),
        (20, 40, []),
        (10, 50, []),
        (20, 50, []),
        (10, 40, []),
        (10, 30, [(30, 40)]),
        (20, 30, [(30, 40)]),
        (30, 50, [(20, 30)]),
        (30, 40, [(20, 30)]),
        (25, 30, [(20, 25), (30, 40)]),
        (30, 30, [(20, 40)]),
    ],
)
def test_planned_work_is_taken_out_of_an_outage(
    start: int, end: int, left: list[tuple[int, int]]
) -> None:
    found = downtime([outage(20, 40)], [Window(start, end - start)], 0, 100)
    assert [(piece.start, piece.end) for piece in found.pieces] == left
    assert found.seconds == {
        "critical": sum(b - a for a, b in left),
        "ok": 100 - sum(b - a for a, b in left),
    }


def test_an_outage_around_planned_work_becomes_two_that_say_so() -> None:
    found = downtime([outage(0, 100)], [Window(20, 10), Window(50, 10)], 0, 100)
    assert found.pieces == [
        Outage("critical", 0, 20, 20, "down [split start]"),
        Outage("critical", 30, 50, 20, "down [split finish] [split start]"),
        Outage("critical", 60, 100, 40, "down [split finish] [split finish]"),
    ]
    assert found.percentages == {"critical": 80.0, "ok": 20.0}


def test_a_split_outage_without_words_still_says_so() -> None:
    pieces = downtime([outage(0, 30, None)], [Window(10, 10)], 0, 30).pieces
    assert [piece.summary for piece in pieces] == ["[split start]", "[split finish]"]


def test_an_open_outage_is_neither_cut_nor_counted() -> None:
    found = downtime([outage(20, None)], [Window(30, 10)], 0, 100)
    assert found.pieces == [outage(20, None)]
    assert found.seconds == {"critical": 0, "ok": 100}


@pytest.mark.parametrize(("start", "end"), [(None, 100), (0, None), (None, None), (100, 100)])
def test_without_a_range_there_are_no_percentages(start: int | None, end: int | None) -> None:
    found = downtime([outage(20, 40)], [], start, end)
    assert found.seconds == {"critical": 20}
    assert found.percentages == {"critical": None, "ok": None}


def test_seconds_and_percentages_are_by_state() -> None:
    found = downtime(outages(FLAPPING, 0, 80), [Window(0, 25)], 0, 80)
    assert found.seconds == {"critical": 5, "warning": 10, "unknown": 30, "ok": 35}
    assert found.percentages == {"critical": 6.25, "warning": 12.5, "unknown": 37.5, "ok": 43.75}


def test_all_well_is_a_hundred_percent() -> None:
    assert downtime([], [], 0, 10).percentages == {"ok": 100.0}


def test_windows_of_a_range_begin_in_it_or_reach_into_it() -> None:
    windows = [Window(0, 5), Window(0, 10), Window(10, 5), Window(20, 5), Window(21, 5)]
    assert in_range(windows, 10, 20) == windows[1:4]
    assert in_range(windows, None, None) == windows


def test_checks_are_sorted_by_how_long_ago_they_were_heard_of() -> None:
    now = 10_000
    ages = [-5, 0, 59, 60, 299, 300, 899, 900, 3599, 3600, 9000]
    counts = freshness([now - age for age in ages], now)
    assert counts == {0: 3, 60: 2, 300: 2, 900: 2, 3600: 2}


TIMES = st.integers(0, 60)
HISTORY = st.lists(
    st.tuples(TIMES, st.sampled_from(["ok", "warning", "critical", "unknown"])),
    unique_by=lambda one: one[0],
).map(lambda found: changes(*sorted(found)))
WINDOWS = st.lists(st.tuples(TIMES, st.integers(0, 30))).map(
    lambda found: [Window(*one) for one in found]
)
RANGE = st.tuples(TIMES, TIMES).map(sorted).filter(lambda found: found[0] < found[1])


def state_at(history: list[Change], second: int) -> str:
    before = [change.state for change in history if change.timestamp <= second]
    return before[-1] if before else "ok"


@given(HISTORY, RANGE)
def test_every_second_of_the_range_is_in_the_outage_of_its_state_or_in_none(
    history: list[Change], given_range: list[int]
) -> None:
    start, end = given_range
    found = outages(history, start, end)
    for second in range(start, end):
        covering = [o.state for o in found if o.end and o.start <= second < o.end]
        state = state_at(history, second)
        assert covering == ([] if state == "ok" else [state])


@given(HISTORY, WINDOWS, RANGE)
def test_downtime_is_each_second_of_an_outage_outside_planned_work(
    history: list[Change], windows: list[Window], given_range: list[int]
) -> None:
    start, end = given_range
    found = downtime(outages(history, start, end), windows, start, end)
    counted: dict[str, int] = {}
    for second in range(start, end):
        state = state_at(history, second)
        if not any(window.is_open(second) for window in windows):
            counted[state] = counted.get(state, 0) + 1
    for state in found.seconds.keys() - {"ok"}:
        assert found.seconds[state] == counted.get(state, 0)
    assert sum(found.seconds.values()) == end - start
    assert all(seconds >= 0 for seconds in found.seconds.values())
    assert all(piece.duration is not None and piece.duration >= 0 for piece in found.pieces)
    assert sum(p or 0 for p in found.percentages.values()) == pytest.approx(100)


@given(HISTORY, WINDOWS)
def test_splitting_keeps_totals_and_never_adds_any(
    history: list[Change], windows: list[Window]
) -> None:
    whole = outages(history, None, 100)
    left = downtime(whole, windows, 0, 100)
    for state, seconds in left.seconds.items():
        if state != "ok":
            assert seconds == sum(p.duration or 0 for p in left.pieces if p.state == state)
            assert seconds <= sum(o.duration or 0 for o in whole if o.state == state)
