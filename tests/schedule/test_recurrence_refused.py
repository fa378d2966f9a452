"""Restrictions that make no sense are refused by the name of their field."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schedule.restrictions import changed
from watchbell.errors import Refused
from watchbell.schedule import recurrence

ROME = ZoneInfo("Europe/Rome")

REFUSED = [
    ({}, "start_time"),
    (changed(start_time=None), "start_time"),
    (changed(start_time="soon"), "start_time"),
    (changed(start_time="2013-02-30 08:00:00"), "start_time"),
    (changed(start_time=5), "start_time"),
    (changed(start_time={"zone": "UTC"}), "start_time"),
    (changed(end_time="absent"), "end_time"),
    (changed(end_time="2013-01-28 08:00:00"), "end_time: expected a time after the start"),
    (changed(end_time="absent", duration=0), "duration"),
    (changed(end_time="absent", duration=10**15), "duration"),
    (changed(rrules={}), "rrules: expected an array"),
    (changed(rrules=["BYDAY=MO"]), r"rrules\[0\] FREQ"),
    (changed(rrules=[5]), r"rrules\[0\]: expected an object"),
    (changed(rrules=[{}]), r"rrules\[0\].rule_type: expected one of Secondly"),
    (changed(rrules=[{"rule_type": "Fortnightly"}]), "rule_type"),
    (changed(rrules=[{"rule_type": "Weekly", "intervall": 2}]), "intervall"),
    (changed(rrules=[{"rule_type": "Weekly", "interval": 0}]), "interval"),
    (changed(rrules=[{"rule_type": "Weekly", "interval": True}]), "interval"),
    (changed(rrules=[{"rule_type": "Weekly", "week_start": 7}]), "week_start"),
    (changed(rrules=[{"rule_type": "Weekly", "validations": [1]}]), "validations"),
    (changed(rrules=[{"rule_type": "Weekly", "validations": {"day": [7]}}]), "validations.day"),
    (changed(rrules=[{"rule_type": "Weekly", "validations": {"days": [1]}}]), "days"),
    (changed(rrules=[{"rule_type": "Daily", "validations": {"hour_of_day": [24]}}]), "hour_of_day"),
    (changed(rrules=[{"rule_type": "Daily", "validations": {"day_of_week": {"1": [9]}}}]), "week"),
    (changed(rrules=[{"rule_type": "Daily", "count": 0}]), "count"),
    (changed(rrules=[{"rule_type": "Daily", "until": "x" * 500}]), "until.*…$"),
    (changed(exrules=[{"rule_type": "Never"}]), r"exrules\[0\]"),
    (changed(rtimes=["2013-01-28 08:00:00", "?"]), r"rtimes\[1\]"),
    (changed(extimes="2013-01-28 08:00:00"), "extimes: expected an array"),
    (changed(extimes={"a": b"bytes"}), "plain JSON"),
    ("", "start_time"),
    ("null", "RRULE text"),
    ("{", "not JSON"),
    ('{"a":' * 100_000, "not JSON"),
    ("RRULE:FREQ=DAILY", "start_time"),
    ("DTSTART:20130128T080000\nRRULE:FREQ=DAILY", "end_time"),
    ("DTSTART:20130128T080000\nDURATION:8 hours", "DURATION"),
]


@pytest.mark.parametrize(("said", "named"), REFUSED)
def test_what_makes_no_sense_is_refused_by_the_name_of_its_field(
    said: dict[str, object] | str, named: str
) -> None:
    with pytest.raises(Refused, match=named) as refused:
        recurrence.parse(said)
    assert "\n" not in str(refused.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
STAMPS = st.sampled_from(["0001-01-01", "9999-12-31 23:59:59", "2026-10-25 02:30", "20261025T02Z"])
LIKELY = st.one_of(
    VALUES,
    STAMPS,
    st.datetimes().map(str),
    st.text(max_size=30),
    st.integers(-400, 400),
    st.lists(st.integers(-400, 400), max_size=3),
)
RULES = st.fixed_dictionaries(
    {"rule_type": st.sampled_from(["Secondly", "Hourly", "Weekly", "Monthly", "Yearly"]) | LIKELY},
    optional={
        "interval": st.integers(1, 10**20) | LIKELY,
        "validations": st.dictionaries(
            st.sampled_from(["day", "day_of_month", "hour_of_day", "day_of_week"]) | st.text(),
            st.integers(0, 31) | st.dictionaries(st.integers(0, 6), LIKELY, max_size=2) | LIKELY,
            max_size=3,
        ),
        "count": st.integers(1, 10**20),
        "until": STAMPS | LIKELY,
    },
)
ANYTHING = st.fixed_dictionaries(
    {},
    optional={
        "start_time": STAMPS | st.datetimes().map(str) | LIKELY,
        "end_time": STAMPS | st.datetimes().map(str) | LIKELY,
        "duration": st.integers(1, 10**13) | LIKELY,
        "rrules": st.lists(RULES | LIKELY, max_size=2),
        "exrules": st.lists(RULES, max_size=1) | LIKELY,
        "rtimes": st.lists(STAMPS, max_size=2) | LIKELY,
    },
)


@settings(deadline=None)
@given(ANYTHING | VALUES.filter(lambda value: isinstance(value, dict | str)) | st.text())
def test_whatever_is_stored_is_understood_or_refused(said: Any) -> None:
    try:
        restriction = recurrence.parse(said)
    except Refused:
        return
    assert restriction.covers(1_792_886_400, ROME) in (True, False)
    assert restriction.describe()
