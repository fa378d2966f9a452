"""The query language of searches."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from watchbell.errors import Refused
from watchbell.web.app_api.query import Fields, Term, matches, parse
from watchbell.web.app_api.search import indexed

ROME = ZoneInfo("Europe/Rome")
FIELDS = Fields(words=("event", "tags", "code"), numbers=("elapsed",), times=("date",))
RECORD: dict[str, Any] = {
    "": "Nightly backup of the shop",
    "event": "e1",
    "tags": ["red", "_success"],
    "code": 0,
    "elapsed": 12.5,
    "date": datetime(2026, 11, 16, 12, tzinfo=ROME).timestamp(),
}


def found(text: str) -> bool:
    return all(matches(term, RECORD) for term in parse(text, FIELDS, ROME))


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "*", "* event:e1", "event:e1", "event:E1", "+event:e1", "event:e0|e1"),
        *("tags:red tags:_success", "-tags:blue", "code:0", "event:e1 -tags:blue|green"),
        *("elapsed:12.5", "elapsed:>12", "elapsed:>=12.5", "elapsed:<13", "elapsed:1..12.5"),
        *("-elapsed:>100", "date:2026-11-16", "date:2026/11/16", "date:11-16-2026"),
        *("date:11/16/2026", "date:>=2026-11-16", "date:<=2026-11-16", "date:>2026-11-15"),
        *("date:<2026-11-17", "date:2026-11-01..2026-11-16", "date:2026-11-16..2026-11-16"),
        *("date:>=1763000000", "-date:<2026-11-16", "backup", "BACKUP nightly", '"of the shop"'),
        *("-mail", '-"of the house"', "mail|shop", 'event:"e1"'),
    ],
)
def test_a_query_finds_the_record(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        *("event:e2", "-event:e1", "-tags:red", "tags:red tags:blue", "tags:re", "code:1|2"),
        *("elapsed:12", "elapsed:>12.5", "elapsed:<12.5", "elapsed:13..20"),
        *("date:2026-11-15", "date:>2026-11-16", "date:<2026-11-16", "date:>=2026-11-17"),
        *("-date:2026-11-16", "mail", "-shop", '"the backup"'),
    ],
)
def test_a_query_does_not_find_the_record(text: str) -> None:
    assert not found(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nosuch:1", "there is no field 'nosuch'; expected one of code, date, elapsed"),
        ('(event = "e1")', "queries in parentheses are not supported"),
        ("elapsed:soon", "expected a number, got 'soon'"),
        ("date:yesterday", "expected a date such as"),
        ("date:2026-02-30", "'2026-02-30' is no date"),
        ("date:9999-12-31", "is no date"),
        ("date:2026-11-01..", "expected a date such as"),
        ("event:|", "a value is missing"),
        ('event:"e1', "can't be read"),
        ("event:", "a value is missing after 'event:'"),
        ("x" * 2_001, "longer than 2,000 characters"),
        ("a " * 101, "more than 100 terms"),
    ],
)
def test_a_wrong_query_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(Refused) as error:
        parse(text, FIELDS, ROME)
    assert error.value.field == "query"
    assert reason in error.value.reason


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-16", 24)]
)
def test_a_day_is_as_long_as_it_is_in_its_time_zone(day: str, hours: int) -> None:
    (term,) = parse(f"date:{day}", FIELDS, ROME)
    assert term.low is not None
    assert term.high is not None
    assert (term.high - term.low) / 3600 == hours


_WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
_PIECES = st.one_of(
    st.sampled_from(["event:", "-", "+", "|", "..", ">=", "<", '"', " ", "date:", "elapsed:", "*"]),
    _WORDS,
    st.dates().map(str),
    st.floats().map(str),
)


@given(st.lists(_PIECES, max_size=12).map("".join))
@example("date:0001-01-01")
@example("elapsed:-1..1")
@example('"\\')
def test_any_text_is_a_query_or_is_refused(text: str) -> None:
    try:
        terms = parse(text, FIELDS, ROME)
    except Refused:
        return
    for term in terms:
        assert isinstance(matches(term, RECORD), bool)
        assert isinstance(matches(term, {}), bool)


@given(
    field=st.sampled_from(["event", "tags", "code"]),
    values=st.lists(st.from_regex(r"[A-Za-z0-9_]{1,8}", fullmatch=True), min_size=1, max_size=4),
    is_negated=st.booleans(),
)
def test_what_is_written_is_read(field: str, values: list[str], is_negated: bool) -> None:
    text = f"{'-' if is_negated else ''}{field}:{'|'.join(values)}"
    (term,) = parse(text, FIELDS, ROME)
    assert term == Term(field=field, values=tuple(values), is_negated=is_negated)
    assert matches(term, {field: values[0]}) is not is_negated


def test_indexes_answer_what_they_can() -> None:
    fields = Fields(words=("event", "tags", "code", "groups"), times=("date",))
    text = "event:e1|e2 event:e3 tags:red tags:a|b -code:1 code:error groups:db date:>=10 date:<20"
    asked, rest = indexed(parse(text, fields, ROME))
    assert asked.events == ("e1", "e2")
    assert asked.tags == ("red",)
    assert asked.codes == ("error",)
    assert (asked.since, asked.until) == (10, None)
    assert [(one.field, one.values, one.is_negated) for one in rest] == [
        ("event", ("e3",), False),
        ("tags", ("a", "b"), False),
        ("code", ("1",), True),
        ("groups", ("db",), False),
        ("date", (), False),
    ]
