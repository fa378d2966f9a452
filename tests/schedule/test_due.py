"""Which fires are run, which are left out and why, whatever time has passed."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.schedule.cron_args import from_cron_args
from watchbell.schedule.due import (
    COUNTED,
    MOST_CAUGHT_UP,
    PROMPT,
    Due,
    Fate,
    Missed,
    Stretch,
    delay,
    due,
    latest,
)
from watchbell.schedule.firing import Every, Limited, Schedule

MINUTE = Every(60)
SECOND = Every(1)
NOON = 1_763_208_000
"""Of 15 November 2025, UTC."""


def fates(found: Due) -> list[tuple[int, Fate]]:
    return list(found.fires)


def test_a_fire_is_due_at_its_instant_and_not_before() -> None:
    assert due(MINUTE, NOON, NOON + 59.999, missed="skip", grace=60) == Due((), ())
    found = due(MINUTE, NOON, NOON + 60, missed="skip", grace=60)
    assert found == Due((), [(NOON + 60, Fate.ON_TIME)])


def test_what_never_fires_is_never_due() -> None:
    over = Limited(SECOND, start=None, end=NOON)
    assert due(over, NOON, NOON + 9e6, missed="all", grace=60) == Due((), ())


def test_each_fire_of_a_short_delay_is_run() -> None:
    found = due(SECOND, NOON, NOON + 2.5, missed="skip", grace=60)
    assert found == Due((), [(NOON + 1, Fate.ON_TIME), (NOON + 2, Fate.ON_TIME)])


def test_one_late_fire_within_the_grace_is_run_in_place_of_all() -> None:
    found = due(MINUTE, NOON, NOON + 60 * 3 + 30, missed="skip", grace=200)
    assert fates(found) == [(NOON + 180, Fate.LATE)]
    assert found.omitted == [Stretch(NOON + 60, NOON + 120, 2, Fate.REPLACED)]


def test_what_is_later_than_the_grace_is_missed() -> None:
    found = due(MINUTE, NOON, NOON + 60 * 5 + 30, missed="skip", grace=100)
    assert fates(found) == [(NOON + 300, Fate.LATE)]
    assert found.omitted == [
        Stretch(NOON + 60, NOON + 180, 3, Fate.TOO_LATE),
        Stretch(NOON + 240, NOON + 240, 1, Fate.REPLACED),
    ]


def test_with_nothing_in_the_grace_nothing_is_run() -> None:
    hourly = Every(3600)
    found = due(hourly, NOON, NOON + 3600 * 3 + 61, missed="skip", grace=60)
    assert found == Due([Stretch(NOON + 3600, NOON + 3 * 3600, 3, Fate.TOO_LATE)], [])


def test_once_runs_the_newest_however_late() -> None:
    found = due(Every(3600), NOON, NOON + 3600 * 3 + 1800, missed="once", grace=60)
    assert fates(found) == [(NOON + 3 * 3600, Fate.LATE)]
    assert found.omitted == [Stretch(NOON + 3600, NOON + 2 * 3600, 2, Fate.REPLACED)]


def test_all_runs_each_up_to_a_bound() -> None:
    number = MOST_CAUGHT_UP + COUNTED + 5
    found = due(MINUTE, NOON, NOON + 60 * number + 30, missed="all", grace=0)
    assert len(found.fires) == MOST_CAUGHT_UP
    assert found.fires[-1] == (NOON + 60 * number, Fate.LATE)
    last = NOON + 60 * (number - MOST_CAUGHT_UP)
    assert found.omitted == [Stretch(NOON + 60, last, None, Fate.TOO_LATE)]


def test_a_year_of_seconds_is_not_gone_through() -> None:
    found = due(SECOND, NOON, NOON + 365 * 86_400, missed="skip", grace=60)
    [too_late] = found.omitted[:1]
    assert too_late.first == NOON + 1
    assert too_late.number is None
    assert too_late.fate is Fate.TOO_LATE


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        # Clocks go forward at 02:00: the night has no 02:30, and the job runs once all the same.
        ("2026-03-29", ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]),
        # Clocks go back at 03:00: 02:30 comes twice, and the job runs at the first.
        ("2026-10-25", ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"]),
    ],
)
def test_a_nightly_job_runs_once_when_clocks_are_set(date: str, expected: list[str]) -> None:
    schedule = from_cron_args({"cronstring": "30 2 * * *", "timezone": "Europe/Rome"})
    noon = datetime.fromisoformat(f"{date}T12:00:00+00:00").timestamp()
    mark = int(noon) - 2 * 86_400
    found: list[str] = []
    while len(found) < 3:
        mark = latest(schedule, mark, mark + 86_400 * 2, 2)[0]
        found.append(f"{datetime.fromtimestamp(mark, UTC):%Y-%m-%dT%H:%M}")
    assert found == expected


@given(
    st.integers(1, 400),
    st.integers(0, 5_000),
    st.floats(0, 5_000),
    st.sampled_from(["skip", "once", "all"]),
    st.integers(0, 3_000),
)
def test_every_fire_has_one_fate_by_the_rules(
    period: int, since: int, passed: float, missed: Missed, grace: int
) -> None:
    schedule: Schedule = Every(period)
    mark, now = NOON + since, NOON + since + passed
    found = due(schedule, mark, now, missed=missed, grace=grace)
    every = list(schedule.fires_between(mark, now))
    run = [fire for fire, _ in found.fires]
    left = [fire for one in found.omitted for fire in every if one.first <= fire <= one.last]
    assert left + run == every  # none is forgotten, none has two fates, and all are in order
    for one in found.omitted:
        among = [fire for fire in every if one.first <= fire <= one.last]
        assert (one.first, one.last) == (among[0], among[-1])
        assert one.number in (len(among), None)
        assert one.number is not None or len(among) >= COUNTED
    late = [fire for fire in every if fire <= now - PROMPT]
    prompt = every[len(late) :]
    assert run[len(run) - len(prompt) :] == prompt
    made_up_for = run[: len(run) - len(prompt)]
    if missed == "all":
        assert made_up_for == late[-MOST_CAUGHT_UP:]
    elif prompt or not late:
        assert made_up_for == []
    else:
        is_run = missed == "once" or late[-1] >= now - grace
        assert made_up_for == ([late[-1]] if is_run else [])


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=60), st.integers(1, 25))
def test_the_latest_fires_are_found_however_they_lie(gaps: list[int], most: int) -> None:
    fires = [NOON + sum(gaps[: n + 1]) for n in range(len(gaps))]

    class Listed(Schedule):
        def next_after(self, instant: float) -> int | None:
            return next((fire for fire in fires if fire > instant), None)

        def describes(self) -> str:
            return "as listed"

    assert latest(Listed(), NOON, fires[-1], most) == fires[-most:]
    assert latest(Listed(), fires[-1], fires[-1] + 100, most) == []


def test_jitter_is_the_same_lot_for_everybody_and_spread() -> None:
    assert delay("backup", NOON, 0) == 0
    lots = [delay("backup", NOON + n, 60) for n in range(500)]
    assert lots == [delay("backup", NOON + n, 60) for n in range(500)]
    assert all(0 <= lot < 60 for lot in lots)
    tenths = {int(lot // 6) for lot in lots}
    assert len(tenths) == 10
    assert all(a != b for a, b in pairwise(lots))
