"""Lengths, moments and spans of time as people say them."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbell.errors import Refused
from watchbell.schedule import spoken

ROME = ZoneInfo("Europe/Rome")


def at(text: str, zone: ZoneInfo = ROME) -> int:
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp())


NOW = at("2026-11-18 12:00:00")  # a Wednesday


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("24 nov", "2026-11-24"),
        ("24 Nov 9am", "2026-11-24 09:00"),
        ("nov 24", "2026-11-24"),
        ("November 24, 2026 17:30", "2026-11-24 17:30"),
        ("24th of november", "2026-11-24"),
        ("tue 24 nov", "2026-11-24"),
        ("24/11/2026", "2026-11-24"),
        ("24/11/26 09:00", "2026-11-24 09:00"),
        ("24/11", "2026-11-24"),
        ("11/24/2026 5pm", "2026-11-24 17:00"),
        ("3/4/2027", "2027-04-03"),
        ("24.11.2026 14:00", "2026-11-24 14:00"),
        ("24.11.", "2026-11-24"),
        ("24-11-2026", "2026-11-24"),
        ("2026/11/24", "2026-11-24"),
        ("2026-11-24 9am", "2026-11-24 09:00"),
        ("9am tomorrow", "2026-11-19 09:00"),
        ("5:30 pm on friday", "2026-11-20 17:30"),
        ("14:00 24 nov", "2026-11-24 14:00"),
        ("18 nov", "2026-11-18"),
        ("17 nov", "2027-11-17"),
        ("29 feb", "2028-02-29"),
        ("24 nov 2030", "2030-11-24"),
        # Clocks are set forward at 02:00 on that night, and back at 03:00 on this one.
        ("28 mar 2027 02:30", "2027-03-28 03:00"),
        ("25/10/2026 02:30", "2026-10-25 02:30+02:00"),
    ],
)
def test_dates_are_understood_as_people_write_them(text: str, when: str) -> None:
    assert spoken.moment(text, NOW, ROME) == at(when)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("31/2/2026", "not understood"),
        ("24 nov 25:00", "not understood"),
        ("24.11", "not understood"),
        ("24 11 2026", "not understood"),
        ("mon 24 nov", "24 November 2026 is a Tuesday, not a Monday"),
    ],
)
def test_dates_that_are_none_are_refused(text: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        spoken.moment(text, NOW, ROME)


def test_a_date_without_a_year_in_a_span_is_the_nearest() -> None:
    assert spoken.span("since 1 nov", NOW, ROME) == (at("2026-11-01"), None)
    assert spoken.span("on 24/11", NOW, ROME) == (at("2026-11-24"), at("2026-11-25"))


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("3/4/2027 9am", "'3/4/2027' was read day first: 3 April"),
        ("3-4-2027", "'3-4-2027' was read day first: 3 April"),
        ("24/11/2026", None),
        ("11/24/2026", None),
        ("4/4/2027", None),
        ("3.4.2027", None),
        ("2027-03-04", None),
        ("tomorrow 9am", None),
    ],
)
def test_a_date_that_could_be_another_is_remarked_upon(text: str, remark: str | None) -> None:
    assert spoken.remark(text) == remark


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("4 hours", 14_400),
        ("90 min", 5400),
        ("1d12h", 129_600),
        ("1D 12H", 129_600),
        ("2 weeks", 1_209_600),
        ("3600", 3600),
        ("0", 0),
        ("1.5h", 5400),
        ("1 hour and 30 minutes", 5400),
        ("an hour and a half", 5400),
        ("half an hour", 1800),
        ("two and a half days", 216_000),
        ("a day", 86_400),
        ("1 day, 2 hours, 3 minutes, 4 seconds", 93_784),
        ("100 years", 3_153_600_000),
        ("a month", 2_592_000),
    ],
)
def test_lengths_are_understood(text: str, seconds: int) -> None:
    assert spoken.duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "missing"),
        ("soon", "'soon'.*a number"),
        ("4 parsecs", "'parsecs'.*a unit"),
        ("4 hours 5", "its end.*a unit"),
        ("hours", "'hours'.*a number"),
        ("-4h", "'-'"),
        ("²", "'²'.*a number"),
        ("1h-2h", "'-'"),
        ("999999999999 years", "longer than"),
    ],
)
def test_the_word_of_a_length_that_was_not_understood_is_named(text: str, named: str) -> None:
    with pytest.raises(Refused, match=named):
        spoken.duration(text)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (60, "1 minute"),
        (3601, "1 hour, 1 second"),
        (93_784, "1 day, 2 hours, 3 minutes, 4 seconds"),
        (172_800, "2 days"),
        (-90, "minus 1 minute, 30 seconds"),
    ],
)
def test_seconds_are_told_without_the_parts_that_are_zero(seconds: int, words: str) -> None:
    assert spoken.in_words(seconds) == words


@settings(deadline=None)
@given(st.integers(0, 10**10))
def test_a_length_in_words_is_understood_again(seconds: int) -> None:
    assert spoken.duration(spoken.in_words(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", "2026-11-18 12:00:00"),
        ("in 2 hours", "2026-11-18 14:00:00"),
        ("2 hours from now", "2026-11-18 14:00:00"),
        ("+90m", "2026-11-18 13:30:00"),
        ("2 hours ago", "2026-11-18 10:00:00"),
        ("an hour and a half ago", "2026-11-18 10:30:00"),
        ("tomorrow 08:00", "2026-11-19 08:00:00"),
        ("Tomorrow at 8 am", "2026-11-19 08:00:00"),
        ("tomorrow 24:00", "2026-11-20 00:00:00"),
        ("today 17:30", "2026-11-18 17:30:00"),
        ("today 08:00", "2026-11-18 08:00:00"),
        ("yesterday", "2026-11-17 00:00:00"),
        ("mon 09:00", "2026-11-23 09:00:00"),
        ("monday", "2026-11-23 00:00:00"),
        ("wed 13:00", "2026-11-18 13:00:00"),
        ("wed 12:00", "2026-11-25 12:00:00"),
        ("wed", "2026-11-25 00:00:00"),
        ("next thu", "2026-11-19 00:00:00"),
        ("last wed 12:00", "2026-11-11 12:00:00"),
        ("last wed 11:00", "2026-11-18 11:00:00"),
        ("17:30", "2026-11-18 17:30:00"),
        ("at 8am", "2026-11-19 08:00:00"),
        ("noon", "2026-11-19 12:00:00"),
        ("2026-11-20", "2026-11-20 00:00:00"),
        ("2026-11-20 14:00", "2026-11-20 14:00:00"),
        ("2026-11-20 at 2pm", "2026-11-20 14:00:00"),
        ("2026-11-20T14:00:05", "2026-11-20 14:00:05"),
        ("2026-11-20T14:00:05Z", "2026-11-20 15:00:05"),
        ("2026-11-20t14:00:05.5+05:30", "2026-11-20 09:30:05"),
        ("@1763200000", "2025-11-15 10:46:40"),
        ("1763200000", "2025-11-15 10:46:40"),
        ("@1763200000.9", "2025-11-15 10:46:40"),
    ],
)
def test_moments_are_understood(text: str, moment: str) -> None:
    assert spoken.moment(text, NOW, ROME) == at(moment)


@pytest.mark.parametrize(
    ("now", "text", "moment"),
    [
        # Clocks are set forward at 02:00 on 29 March.
        ("2026-03-28 12:00:00", "tomorrow 02:30", "2026-03-29T03:00:00+02:00"),
        ("2026-03-28 12:00:00", "in 1 day", "2026-03-29T13:00:00+02:00"),
        ("2026-03-28 12:00:00", "tomorrow 12:00", "2026-03-29T12:00:00+02:00"),
        ("2026-03-28 12:00:00", "sun 02:59", "2026-03-29T03:00:00+02:00"),
        ("2026-03-28 12:00:00", "2026-03-29 02:00", "2026-03-29T03:00:00+02:00"),
        # And back at 03:00 on 25 October.
        ("2026-10-24 12:00:00", "tomorrow 02:30", "2026-10-25T02:30:00+02:00"),
        ("2026-10-24 12:00:00", "in 24 hours", "2026-10-25T11:00:00+01:00"),
        ("2026-10-24 12:00:00", "2026-10-25 02:30+01:00", "2026-10-25T02:30:00+01:00"),
        ("2026-10-25T02:15:00+01:00", "today 02:30", "2026-10-25T02:30:00+02:00"),
        ("2026-10-25T02:15:00+01:00", "02:30", "2026-10-26T02:30:00+01:00"),
    ],
)
def test_moments_around_a_change_of_clocks(now: str, text: str, moment: str) -> None:
    assert spoken.moment(text, at(now), ROME) == at(moment)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "soon", "tomorrow soon", "next year", "last day", "2026-02-30", "25:00"),
        *("in", "ago", "in two parsecs", "mon 25:00", "@", "@x", "9" * 40, "tomorrow mon"),
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        spoken.moment(text, NOW, ROME)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("more than 2 hours ago", None, "2026-11-18 10:00:00"),
        ("less than 2 hours ago", "2026-11-18 10:00:00", "2026-11-18 12:00:00"),
        ("in more than 2 hours", "2026-11-18 14:00:00", None),
        ("more than 2 hours from now", "2026-11-18 14:00:00", None),
        ("in less than 2 hours", "2026-11-18 12:00:00", "2026-11-18 14:00:00"),
        ("last 2 hours", "2026-11-18 10:00:00", "2026-11-18 12:00:00"),
        ("in the next 2 hours", "2026-11-18 12:00:00", "2026-11-18 14:00:00"),
        ("before tomorrow", None, "2026-11-19 00:00:00"),
        ("until mon 09:00", None, "2026-11-23 09:00:00"),
        ("after now", "2026-11-18 12:00:00", None),
        ("since yesterday", "2026-11-17 00:00:00", None),
        ("from an hour and a half ago", "2026-11-18 10:30:00", None),
        ("between now and tomorrow 08:00", "2026-11-18 12:00:00", "2026-11-19 08:00:00"),
        ("between an hour and a half ago and now", "2026-11-18 10:30:00", "2026-11-18 12:00:00"),
        ("from yesterday to today", "2026-11-17 00:00:00", "2026-11-18 00:00:00"),
        ("on 2026-11-20", "2026-11-20 00:00:00", "2026-11-21 00:00:00"),
        ("on mon", "2026-11-23 00:00:00", "2026-11-24 00:00:00"),
        ("today", "2026-11-18 00:00:00", "2026-11-19 00:00:00"),
        ("2026-11-20", "2026-11-20 00:00:00", "2026-11-21 00:00:00"),
        ("on 2026-03-29", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"),
        ("on 2026-10-25", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"),
    ],
)
def test_spans_are_understood(text: str, first: str | None, last: str | None) -> None:
    expected = tuple(None if end is None else at(end) for end in (first, last))
    assert spoken.span(text, NOW, ROME) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "span of time"),
        ("whenever", "span of time"),
        ("before whenever", "'whenever'"),
        ("more than whenever ago", "'whenever'"),
        ("between now", "span of time"),
        ("between now and then", "'then'"),
        ("between tomorrow and now", "ends before it begins"),
        ("on 9999-12-31", "years 1 to 9999"),
    ],
)
def test_what_is_no_span_is_refused(text: str, named: str) -> None:
    with pytest.raises(Refused, match=named):
        spoken.span(text, NOW, ROME)


WORDS = [
    "in",
    "ago",
    "2",
    "hours",
    "mon",
    "08:00",
    "between",
    "and",
    "now",
    "last",
    "@",
    "more than",
]


@settings(deadline=None)
@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_text_is_understood_or_refused_in_one_line(text: str) -> None:
    for read in (
        lambda: spoken.moment(text, NOW, ROME),
        lambda: spoken.span(text, NOW, ROME),
        lambda: spoken.duration(text),
    ):
        try:
            said = str(read())
        except Refused as refused:
            said = str(refused)
        assert len(said.splitlines()) == 1
