"""A week of half hours: what restrictions mean is painted, and what is painted is meant."""

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbell.errors import Refused
from watchbell.schedule import recurrence, spoken
from watchbell.schedule.recurrence import Restriction
from watchbell.schedule.week import ALWAYS, SLOTS, Grid, NotWeekly, grid_of, restrictions_of

TODAY = date(2026, 11, 18)
SUNDAY = int(datetime(2026, 11, 15, tzinfo=UTC).timestamp())
OFFICE = "0" * 16 + "1" * 20 + "0" * 12
OFF = "0" * SLOTS
ON = "1" * SLOTS

WORK: dict[str, object] = {
    "start_time": "2026-01-05 08:00:00",
    "end_time": "2026-01-05 18:00:00",
    "rrules": [{"rule_type": "Weekly", "validations": {"day": [1]}}],
}

# Long runs, as people paint them, and single half hours.
rows = st.one_of(
    st.sampled_from([OFF, ON, OFFICE]),
    st.lists(st.sampled_from("01"), min_size=SLOTS, max_size=SLOTS).map("".join),
    st.tuples(st.integers(0, SLOTS), st.integers(0, SLOTS)).map(
        lambda ends: "".join("01"[min(ends) <= slot < max(ends)] for slot in range(SLOTS))
    ),
)
grids = st.lists(rows, min_size=7, max_size=7).map(tuple)


@st.composite
def weekly(draw: st.DrawFn) -> dict[str, object]:
    """Restrictions of others' making that come every week, on half hours."""
    start = datetime(2026, 1, 1) + timedelta(minutes=30 * draw(st.integers(0, 2_000)))  # noqa: DTZ001
    end = start + timedelta(minutes=30 * draw(st.integers(1, 400)))
    days = draw(st.lists(st.integers(0, 6), max_size=3))
    hours = draw(st.lists(st.integers(0, 23), max_size=2))
    kept = {"day": days, "hour_of_day": hours}
    rule = {
        "rule_type": draw(st.sampled_from(["Weekly", "Daily"])),
        "validations": {name: values for name, values in kept.items() if values},
    }
    return {"start_time": str(start), "end_time": str(end), "rrules": [rule]}


def is_covered(restrictions: list[Restriction], now: float) -> bool:
    zone = ZoneInfo("UTC")
    return not restrictions or any(one.covers(now, zone) for one in restrictions)


def covered(restrictions: list[dict[str, object]]) -> Grid:
    """The week as the deciding code sees it, half hour by half hour, and its last second."""
    marks = ""
    known = [recurrence.parse(one) for one in restrictions]
    for slot in range(7 * SLOTS):
        begin = SUNDAY + slot * 1_800
        seen = {is_covered(known, at) for at in (begin, begin + 1_799)}
        assert len(seen) == 1
        marks += "1" if seen.pop() else "0"
    return tuple(marks[at : at + SLOTS] for at in range(0, 7 * SLOTS, SLOTS))


@settings(deadline=None, max_examples=50)
@given(grids)
def test_what_is_painted_is_stored_and_shown_again(grid: Grid) -> None:
    if not any("1" in row for row in grid):
        with pytest.raises(Refused, match="time_restrictions: no time is selected"):
            restrictions_of(grid)
        return
    stored = restrictions_of(grid)
    assert grid_of(stored, TODAY) == grid
    assert covered(stored) == grid


@settings(deadline=None, max_examples=50)
@given(st.lists(weekly(), min_size=1, max_size=3))
def test_what_others_stored_is_shown_as_it_is_meant(stored: list[dict[str, object]]) -> None:
    assert grid_of(stored, TODAY) == covered(stored)


@pytest.mark.parametrize(
    ("said", "rows"),
    [
        ("mon-fri 08:00-18:00", (OFF, *[OFFICE] * 5, OFF)),
        ("sat,sun", (ON, *[OFF] * 5, ON)),
        ("daily 08:00-18:00", (OFFICE,) * 7),
        ("sun 22:00-06:00", ("0" * 44 + "1" * 4, "1" * 12 + "0" * 36, *[OFF] * 5)),
        ("sat 22:00-06:00", ("1" * 12 + "0" * 36, *[OFF] * 5, "0" * 44 + "1" * 4)),
    ],
)
def test_it_is_stored_as_the_command_line_stores_it(said: str, rows: Grid) -> None:
    assert restrictions_of(rows) == spoken.windows(said)
    assert grid_of(spoken.windows(said), TODAY) == rows


def test_a_week_is_several_windows_of_the_documents_form() -> None:
    night = "1" * 16 + "0" * 20 + "1" * 12
    stored = restrictions_of((ON, *[night] * 5, ON))
    assert [recurrence.parse(one).describe() for one in stored] == [
        "Monday, 00:00 to 08:00",
        "Monday to Thursday, 18:00 to 08:00",
        "Friday, 18:00 to 24:00",
        "Saturday and Sunday, all day",
    ]
    assert stored[0] == {
        "start_time": "2000-01-03 00:00:00",
        "end_time": "2000-01-03 08:00:00",
        "rrules": [
            {
                "validations": {"day": [1]},
                "rule_type": "Weekly",
                "interval": 1,
                "week_start": 0,
            }
        ],
        "exrules": [],
        "rtimes": [],
        "extimes": [],
    }


def test_no_restriction_and_all_of_the_week_are_the_same() -> None:
    assert grid_of([], TODAY) == ALWAYS
    assert restrictions_of(ALWAYS) == []
    assert grid_of([{**WORK, "rrules": [{"rule_type": "Hourly"}]}], TODAY) != ALWAYS


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"start_time": "2026-01-05 08:15:00"}, "Monday, 08:15 to 18:00: .* on half hours"),
        ({"end_time": "2026-01-05 18:00:01"}, "on half hours"),
        ({"start_time": "2026-01-05 08:00:00Z"}, "it is in UTC"),
        ({"rrules": []}, "once, 2026-01-05 08:00 .*: it does not repeat"),
        ({"rrules": [{"rule_type": "Monthly"}]}, "not the same every week"),
        ({"rrules": [{"rule_type": "Weekly", "interval": 2}]}, "not the same every week"),
        ({"rrules": [{"rule_type": "Weekly", "until": "2027-01-01"}]}, "not the same every week"),
        ({"rrules": [{"rule_type": "Daily", "count": 3}]}, "not the same every week"),
        (
            {"rrules": [{"rule_type": "Daily", "validations": {"month_of_year": [6]}}]},
            "every day in June, 08:00 to 18:00: it is not the same every week",
        ),
        ({"rrules": [{"rule_type": "Daily", "validations": {"minute_of_hour": [5]}}]}, "on half"),
        ({"rrules": [{"rule_type": "Daily"}] * 101}, "too many rules"),
        ({"rrules": [{"rule_type": "Daily", "validations": {"second_of_minute": [0, 1]}}]}, "half"),
        ({"extimes": ["2026-12-25 08:00:00"]}, "except .*: single times are added or left out"),
        ({"rtimes": ["2026-12-25 08:00:00"]}, "single times"),
        (
            {"start_time": "2026-11-23 08:00:00", "end_time": "2026-11-23 09:00:00"},
            "begins on 2026",
        ),
        ({"start_time": "soon"}, "a time that can't be read: start_time: expected"),
    ],
)
def test_what_is_no_week_is_told_in_words(change: dict[str, object], why: str) -> None:
    found = grid_of([WORK, {**WORK, **change}], TODAY)
    assert isinstance(found, NotWeekly)
    assert re.search(why, str(found))
    assert len(found.reasons) == 1
