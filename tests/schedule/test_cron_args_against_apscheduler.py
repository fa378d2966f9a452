"""Times by keyword against APScheduler's own trigger.

Compared is a question and its answer if no clock of the zone is set between them. Where one is,
ours differ by rule: what was skipped fires at the end of the gap and not an hour late, what
comes twice fires once, and no month is passed over because of a lost hour.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.cron import CronTrigger  # type: ignore[import-untyped]
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.schedule.clocks import ROME, at
from watchbell.errors import Refused
from watchbell.schedule import names
from watchbell.schedule.cron_args import from_cron_args

ZONES = ["UTC", "Europe/Rome", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]
MONTHS = [name[:3].lower() for name in names.MONTHS]
WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
YEARS_AHEAD = timedelta(days=12 * 365)


def part(low: int, high: int, spelled: list[str]) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    ends = st.tuples(number, number).map(sorted)
    step = st.integers(1, high - low)
    parts = [
        number.map(str),
        st.just("*"),
        step.map("*/{}".format),
        ends.map(lambda both: f"{both[0]}-{both[1]}"),
        # It takes a step in `0-0/5`, and in no other range of one number.
        st.tuples(ends.filter(lambda both: both[0] < both[1]), st.integers(1, 5)).map(
            lambda of: f"{of[0][0]}-{of[0][1]}/{of[1]}"
        ),
        st.tuples(number, st.integers(1, 5)).map(lambda of: f"{of[0]}/{of[1]}"),
    ]
    if spelled:
        indexes = st.tuples(*[st.integers(0, len(spelled) - 1)] * 2).map(sorted)
        parts += [
            st.sampled_from(spelled),
            indexes.map(lambda both: f"{spelled[both[0]]}-{spelled[both[1]].upper()}"),
        ]
    return st.one_of(parts)


def field(low: int, high: int, spelled: list[str] | None = None) -> st.SearchStrategy[int | str]:
    listed = st.lists(part(low, high, spelled or []), min_size=1, max_size=3).map(",".join)
    return st.integers(low, high) | listed


nth = st.tuples(
    st.sampled_from(["1st", "2nd", "3rd", "4th", "5th", "last"]), st.sampled_from(WEEKDAYS)
).map(" ".join)
days = st.lists(st.just("last") | nth | part(1, 31, []), min_size=1, max_size=3).map(", ".join)
arguments = st.fixed_dictionaries(
    {},
    optional={
        "year": field(2020, 2040),
        "month": field(1, 12, MONTHS),
        "day": field(1, 31) | days,
        "week": field(1, 53),
        "day_of_week": field(0, 6, WEEKDAYS),
        "hour": field(0, 23),
        "minute": field(0, 59),
        "second": field(0, 59),
    },
)


def clock_is_set(zone: ZoneInfo, since: int, until: int) -> bool:
    moments = range(since - 86_400, until + 2 * 86_400, 86_400)
    return len({datetime.fromtimestamp(each, zone).utcoffset() for each in moments}) > 1


@settings(deadline=None, max_examples=600)
@given(
    arguments.filter(bool),
    st.integers(at("2019-12-01T00:00Z"), at("2041-01-01T00:00Z")),
    st.sampled_from(ZONES),
    st.none() | st.integers(-100, 1000),
)
@example({"day": "last"}, at("2024-02-29T00:00Z"), "UTC", None)
@example({"week": 53, "day_of_week": 6}, at("2021-01-02T00:00Z"), "UTC", 5)
@example({"month": 2, "day": 29}, at("2024-03-01T00:00Z"), "Asia/Kolkata", None)
def test_the_next_fire_is_that_of_apscheduler(
    args: dict[str, int | str], since: int, name: str, start: int | None
) -> None:
    zone = ZoneInfo(name)
    limits: dict[str, str] = {}
    asked = datetime.fromtimestamp(since, zone)
    if start is not None:
        limits["start_date"] = f"{asked + timedelta(hours=start):%Y-%m-%d %H:%M:%S}"
    # Without an end, it looks for what never comes until the year 9999.
    limits["end_date"] = f"{asked + YEARS_AHEAD:%Y-%m-%d %H:%M:%S}"
    try:
        trigger = CronTrigger(**args, **limits, timezone=zone)
    except ValueError:
        with pytest.raises(Refused):
            from_cron_args({**args, **limits}, zone)
        return
    expected = trigger.get_next_fire_time(None, asked)
    found = from_cron_args({**args, **limits}, zone).next_after(since - 1)
    until = max(
        (int(each) for each in (found, expected and expected.timestamp()) if each), default=0
    )
    assume(name in {"UTC", "Asia/Kolkata"} or not clock_is_set(zone, since, until))
    assert found == (expected and expected.timestamp())


@pytest.mark.parametrize(
    ("args", "asked", "theirs", "ours"),
    [
        # Skipped: an hour late, or at the end of the gap.
        ({"hour": 2, "minute": 30}, "2026-03-28T12:00Z", "2026-03-29T01:30Z", "2026-03-29T01:00Z"),
        # Skipped times of an interval do not come.
        (
            {"hour": 2, "minute": "*/10"},
            "2026-03-28T12:00Z",
            "2026-03-29T01:00Z",
            "2026-03-30T00:00Z",
        ),
        # Shown a second time.
        ({"hour": 2, "minute": 30}, "2026-10-25T00:31Z", "2026-10-25T01:30Z", "2026-10-26T01:30Z"),
        # The first of April, asked for before an hour was lost.
        ({"day": 1}, "2026-03-10T12:00Z", "2026-04-30T22:00Z", "2026-03-31T22:00Z"),
    ],
)
def test_where_clocks_are_set_ours_differ_by_rule(
    args: dict[str, int | str], asked: str, theirs: str, ours: str
) -> None:
    trigger = CronTrigger(**args, timezone=ROME)
    fire = trigger.get_next_fire_time(None, datetime.fromtimestamp(at(asked), UTC))
    assert fire.timestamp() == at(theirs)
    assert from_cron_args(args, ROME).next_after(at(asked)) == at(ours)
