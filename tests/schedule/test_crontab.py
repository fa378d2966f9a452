"""Crontab expressions: the language, and the words that stand for some of them."""

from datetime import datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schedule.clocks import ROME, UTC, at, shown
from watchbell.errors import Refused
from watchbell.schedule.cron_args import parse

FRIDAY = "2026-11-20T14:03:00Z"


def next_of(text: str, *, since: str = FRIDAY, upstream_weekdays: bool = False) -> str | None:
    fire = parse(text, UTC, upstream_weekdays=upstream_weekdays).next_after(at(since))
    return None if fire is None else f"{shown(fire, UTC):%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("text", "fire"),
    [
        ("* * * * *", "2026-11-20 14:04"),
        ("*/5 * * * *", "2026-11-20 14:05"),
        ("30 2 * * *", "2026-11-21 02:30"),
        ("0 9-17/4 * * *", "2026-11-20 17:00"),
        ("0,30 8-18 * * *", "2026-11-20 14:30"),
        ("0 0 1 1 *", "2027-01-01 00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        ("0 0 1 JAN-MAR,jul *", "2027-01-01 00:00"),
        # 0 and 7 are Sunday, and so are names in any case.
        ("0 0 * * 0", "2026-11-22 00:00"),
        ("0 0 * * 7", "2026-11-22 00:00"),
        ("0 0 * * sun", "2026-11-22 00:00"),
        ("0 0 * * 1-5", "2026-11-23 00:00"),
        ("0 0 * * 6-7", "2026-11-21 00:00"),
        # Either of both days, unless one begins with a star.
        ("0 0 13 * 5", "2026-11-27 00:00"),
        ("0 0 13 * *", "2026-12-13 00:00"),
        ("0 0 */2 * 1", "2026-11-23 00:00"),
        ("0 0 1 * */6", "2027-05-01 00:00"),
        # Ends of months, and weekdays by number.
        ("0 0 L * *", "2026-11-30 00:00"),
        ("0 0 L 2 *", "2027-02-28 00:00"),
        ("0 0 LW 1 *", "2027-01-29 00:00"),
        ("0 0 * * MON#1", "2026-12-07 00:00"),
        ("0 0 * * 5L", "2026-11-27 00:00"),
        ("0 0 * 2 MON#5", "2044-02-29 00:00"),
    ],
)
def test_fields_are_read_as_cron_does(text: str, fire: str) -> None:
    assert next_of(text) == fire


@pytest.mark.parametrize(
    ("word", "fire"),
    [
        ("@yearly", "2027-01-01 00:00"),
        ("@annually", "2027-01-01 00:00"),
        ("@monthly", "2026-12-01 00:00"),
        ("@weekly", "2026-11-22 00:00"),
        ("@daily", "2026-11-21 00:00"),
        ("@midnight", "2026-11-21 00:00"),
        ("@hourly", "2026-11-20 15:00"),
        ("@minutely", "2026-11-20 14:04"),
        ("\t@Daily ", "2026-11-21 00:00"),
        ("@never", None),
    ],
)
def test_words_stand_for_expressions(word: str, fire: str | None) -> None:
    assert next_of(word) == fire


@pytest.mark.parametrize(
    ("text", "fire"),
    [
        ("0 0 * * 0", "2026-11-23 00:00"),
        ("0 0 * * 6", "2026-11-22 00:00"),
        ("0 0 * * sun", "2026-11-22 00:00"),
        ("0 0 13 * 5", "2027-02-13 00:00"),
        ("@weekly", "2026-11-23 00:00"),
    ],
)
def test_upstream_counts_from_monday_and_wants_both_days(text: str, fire: str) -> None:
    assert next_of(text, upstream_weekdays=True) == fire


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("61 * * * *", "schedule: expected a minute from 0 to 59.*not '61'"),
        ("* 24 * * *", "schedule: expected an hour from 0 to 23"),
        ("* * 0 * *", "schedule: expected a day of the month from 1 to 31"),
        ("* * * 13 *", "schedule: expected a month from 1 to 12"),
        ("* * * * 8", "schedule: expected a weekday from 0 to 7"),
        ("* * * * MON#6", "schedule: expected a weekday"),
        ("* 22-2 * * *", "schedule: expected an hour"),
        ("*/0 * * * *", "schedule: expected a minute"),
        ("? * * * *", "schedule: expected a minute"),
        ("* * * *", "schedule: expected five fields"),
        ("* * * * * *", "schedule: expected five fields.*'@every 10s'"),
        ("30 2 * * * root", "schedule: expected five fields"),
        ("", "schedule: expected five fields"),
        ("@reboot", "schedule: '@reboot' is not supported"),
        ("@fortnightly", "schedule: expected one of @yearly, .*not '@fortnightly'"),
        ("@daily 5", "schedule: expected one of"),
        ("@never ever", "schedule: expected one of"),
        ("@every", "schedule: expected '@every' and"),
        ("@every now and then", "schedule: expected '@every' and"),
        ("@every 0s", "schedule: expected '@every' and"),
        ("@every 2 years", "schedule: expected '@every' and"),
        ("0," * 1000 + "0 * * * *", "schedule: expected at most 1000 characters"),
    ],
)
def test_a_refusal_names_the_field_and_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        parse(text, UTC)
    assert len(str(refused.value)) < 400


@settings(deadline=None, max_examples=500)
@given(st.text(max_size=40) | st.text("0123456789*/,-#LW @SUNmonJAN\t", max_size=40))
def test_any_text_is_a_schedule_or_refused(text: str) -> None:
    for upstream_weekdays in (False, True):
        try:
            schedule = parse(text, ROME, upstream_weekdays=upstream_weekdays)
        except Refused:
            continue
        fire = schedule.next_after(at(FRIDAY))
        assert fire is None or fire > at(FRIDAY)
        assert schedule.describes()


def listed(low: int, high: int, *names: str) -> st.SearchStrategy[str]:
    number = st.integers(low, high).map(str)
    if names:
        number |= st.sampled_from(names)
    step = st.integers(1, high + 5)
    plain = (
        number
        | st.tuples(st.integers(low, high), st.integers(low, high)).map(
            lambda ends: f"{min(ends)}-{max(ends)}"
        )
        | step.map(lambda each: f"*/{each}")
        | st.tuples(st.integers(low, high), step).map(lambda pair: f"{pair[0]}/{pair[1]}")
    )
    return st.just("*") | st.lists(plain, min_size=1, max_size=3).map(",".join)


days = listed(1, 31, "L", "LW")
weekdays = listed(0, 7, "MON", "fri", "TUE#2", "6#5", "5L", "0L")
expressions = st.tuples(
    listed(0, 59), listed(0, 23), days, listed(1, 12, "JAN", "dec"), weekdays
).map(" ".join)


@settings(deadline=None, max_examples=500)
@given(
    expressions,
    st.integers(0, 5_000_000_000),
    st.sampled_from([ROME, UTC, ZoneInfo("America/New_York"), ZoneInfo("Asia/Kolkata")]),
)
def test_fires_are_those_of_cronsim(text: str, since: int, zone: ZoneInfo) -> None:
    start = datetime.fromtimestamp(since, zone)
    # Asked while the clock shows an hour again, cronsim answers with a time that is over.
    if start.fold:
        start -= timedelta(hours=1, days=1)
    try:
        expected = [int(fire.timestamp()) for fire in islice(CronSim(text, start), 4)]
    except CronSimError:
        expected = []
    found = list(islice(parse(text, zone).fires_between(start.timestamp(), 1e12), len(expected)))
    assert found == expected
    if not expected:
        # It gives up after 50 years.
        beyond = parse(text, zone).next_after(start.timestamp())
        assert beyond is None or beyond > since + 49 * 365 * 86_400
