"""Windows as people say them cover what the words say."""

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbell.errors import Refused
from watchbell.schedule import recurrence, spoken

UTC = ZoneInfo("UTC")
SHORT = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


def rule_of(text: str) -> Any:
    return spoken.window(text)["rrules"]


def test_office_hours_are_stored_as_the_hash_of_a_restriction() -> None:
    assert spoken.window("mon-fri 08:00-18:00") == {
        "start_time": "2000-01-03 08:00:00",
        "end_time": "2000-01-03 18:00:00",
        "rrules": [
            {
                "validations": {"day": [1, 2, 3, 4, 5]},
                "rule_type": "Weekly",
                "interval": 1,
                "week_start": 0,
            }
        ],
        "exrules": [],
        "rtimes": [],
        "extimes": [],
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mon-fri 08:00-18:00", "Monday to Friday, 08:00 to 18:00"),
        ("Monday to Friday, 8am to 6pm", "Monday to Friday, 08:00 to 18:00"),
        ("weekdays from 8 until 18", "Monday to Friday, 08:00 to 18:00"),
        ("mon \N{EN DASH} fri 08:00 \N{EN DASH} 18:00", "Monday to Friday, 08:00 to 18:00"),
        ("sat,sun", "Saturday and Sunday, all day"),
        ("sat and sun all day", "Saturday and Sunday, all day"),
        ("weekends noon-midnight", "Saturday and Sunday, 12:00 to 24:00"),
        ("fri-mon", "Monday and Friday to Sunday, all day"),
        ("daily 22:00-06:00", "every day, 22:00 to 06:00"),
        ("every day 8-18", "every day, 08:00 to 18:00"),
        ("always", "every day, all day"),
        ("08:00-08:00", "every day, from 08:00 for 1 day"),
        ("00:00-24:00", "every day, all day"),
        ("mon-fri", "Monday to Friday, all day"),
        ("1st mon 09:00-10:00", "every month on the first Monday, 09:00 to 10:00"),
        ("on the first Monday of every month", "every month on the first Monday, all day"),
        ("last fri", "every month on the last Friday, all day"),
        ("1st,last fri", "every month on the first Friday and the last Friday, all day"),
        ("day 1,15", "every month on day 1 and 15, all day"),
        ("day 1-3 06:00-07:30", "every month on day 1, 2 and 3, 06:00 to 07:30"),
        ("1st and 15th", "every month on day 1 and 15, all day"),
        ("last day", "every month on the last day, all day"),
        ("daily in jun-aug", "every day in June to August, all day"),
        ("mon in nov-jan", "Monday in January, November and December, all day"),
        ("2026-11-20 08:00-18:00", "once, 2026-11-20 08:00 to 2026-11-20 18:00"),
    ],
)
def test_windows_are_understood(text: str, words: str) -> None:
    assert recurrence.parse(spoken.window(text)).describe() == words


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "a window is missing"),
        (" ; ", "a window is missing"),
        ("mon-fry 08:00-18:00", "'mon-fry'"),
        ("mon-fri 25:00-26:00", "'25:00-26:00'"),
        ("mon-fri 08:00", "'08:00'"),
        ("mon-fri 9-5", "morning or evening"),
        ("mon tue", "'tue' names days a second time.*';'"),
        ("6th mon", "'6th'"),
        ("day 32", "'day'"),
        ("32nd", "'32nd'"),
        ("day 31 in feb", "never occurs"),
        ("2026-02-30", "'2026-02-30'"),
        ("2026-11-20 in nov", "a date and months"),
        ("08:00-10:00, 12:00-14:00", "'12:00-14:00' names hours a second time.*';'"),
        ("24:00-25:00", "'24:00-25:00'"),
        ("whenever", "'whenever'"),
    ],
)
def test_the_word_that_was_not_understood_is_named(text: str, named: str) -> None:
    with pytest.raises(Refused, match=named):
        spoken.windows(text)


def test_several_windows_are_separated_by_semicolons() -> None:
    found = spoken.windows("mon-fri 08:00-12:00; mon-fri 13:00-17:00;")
    assert found == [spoken.window("mon-fri 08:00-12:00"), spoken.window("mon-fri 13:00-17:00")]


def test_a_first_window_is_an_occurrence_of_its_rule() -> None:
    for text in ("last fri 22:00-02:00", "day 31 in mar", "sat", "day 29 in feb"):
        found = spoken.window(text)
        start = datetime.fromisoformat(f"{found['start_time']}+00:00").timestamp()
        restriction = recurrence.parse(found)
        assert restriction.covers(start, UTC)
        assert not restriction.covers(start - 1, UTC)


def clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


@settings(deadline=None)
@given(
    st.sets(st.integers(0, 6), min_size=1),
    st.integers(0, 24 * 60 - 1),
    st.integers(0, 24 * 60),
    st.integers(0, 366 * 20),
)
def test_said_weekdays_and_hours_are_the_hours_of_those_days(
    days: set[int], opens: int, closes: int, later: int
) -> None:
    text = f"{','.join(SHORT[day] for day in days)} {clock(opens)}-{clock(closes)}"
    restriction = recurrence.parse(spoken.window(text))
    length = closes - opens if closes > opens else closes - opens + 24 * 60
    day = date(2001, 1, 1) + timedelta(days=later)
    midnight = (day - date(1970, 1, 1)).days * 86_400
    for minute in range(0, 24 * 60, 7):
        today = day.isoweekday() % 7 in days and opens <= minute < opens + length
        yesterday = (day.isoweekday() - 1) % 7 in days and minute + 24 * 60 < opens + length
        assert restriction.covers(midnight + minute * 60, UTC) is (today or yesterday)


@settings(deadline=None)
@given(st.sampled_from(["1st", "2nd", "3rd", "4th", "5th", "last"]), st.integers(0, 6))
def test_said_places_of_weekdays_are_those_of_every_month(place: str, weekday: int) -> None:
    restriction = recurrence.parse(spoken.window(f"{place} {SHORT[weekday]}"))
    for offset in range(366):
        day = date(2026, 1, 1) + timedelta(days=offset)
        number = (day.day - 1) // 7 + 1
        is_last = (day + timedelta(days=7)).month != day.month
        wanted = is_last if place == "last" else number == int(place[0])
        noon = (day - date(1970, 1, 1)).days * 86_400 + 43_200
        assert restriction.covers(noon, UTC) is (wanted and day.isoweekday() % 7 == weekday)


@settings(deadline=None)
@given(
    st.text() | st.lists(st.sampled_from(["mon", "1st", "-", ",", "day", "8", "in"])).map(" ".join)
)
def test_any_text_is_understood_or_refused_in_one_line(text: str) -> None:
    try:
        found = spoken.windows(text)
    except Refused as refused:
        said = str(refused)
    else:
        said = " ".join(recurrence.parse(window).describe() for window in found)
    assert len(said.splitlines()) == 1
