"""Check events: what is one, in which form, and in which words all else is rejected."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from watchbell.alerting import event as events
from watchbell.alerting.event import (
    MOST_BYTES,
    NOOP,
    acknowledge,
    encode,
    ephemeral_tags,
    from_fields,
    parse,
    perfdata_items,
    try_notifications,
)
from watchbell.alerting.keys import RESERVED_ENTITIES
from watchbell.alerting.model import LARGEST, CheckEvent, Rejection

NOW = 1_700_000_000
LEAST: dict[str, Any] = {"type": "service", "state": "ok", "entity": "web-1", "check": "HTTP"}


def raw(**more: Any) -> bytes:
    return json.dumps({**LEAST, **more}).encode()


def accepted(data: bytes) -> CheckEvent:
    event = parse(data, NOW)
    assert isinstance(event, CheckEvent), event
    return event


def reason(data: bytes) -> str:
    rejection = parse(data, NOW)
    assert isinstance(rejection, Rejection), rejection
    assert "\n" not in rejection.reason
    assert len(rejection.reason) < 2_000
    rejection.reason.encode()
    return rejection.reason


def test_the_least_event_happens_now() -> None:
    assert accepted(raw()) == CheckEvent(**LEAST, time=NOW)


def test_every_field_is_carried() -> None:
    fields: dict[str, Any] = {
        "type": "action",
        "state": "acknowledgement",
        "entity": "web-1.example.com",
        "check": "Disk: /var",
        "time": 1,
        "summary": "one",
        "details": "two\nlines",
        "perfdata": "a=1;2",
        "tags": ["x", "y"],
        "acknowledgement_id": "0badcafe",
        "duration": 2,
        "initial_failure_delay": 3,
        "repeat_failure_delay": 4,
        "initial_recovery_delay": 5,
        "ttl": 6,
        "check_latency": 0.25,
    }
    assert set(fields) == set(CheckEvent.__struct_fields__)
    event = accepted(json.dumps(fields).encode())
    assert event == CheckEvent(**{**fields, "tags": ("x", "y")})
    assert json.loads(encode(event)) == fields


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"type": "SERVICE"}, {"type": "service"}),
        ({"state": "Critical"}, {"state": "critical"}),
        ({"type": "action", "state": "TEST_notifications"}, {"state": "test_notifications"}),
        ({"type": "action", "state": "critical"}, {"type": "action", "state": "critical"}),
        ({"state": "acknowledgement"}, {"type": "action", "state": "acknowledgement"}),
        ({"state": "Test_Notifications"}, {"type": "action", "state": "test_notifications"}),
        ({"entity": "Web-1.Example.COM"}, {"entity": "web-1.example.com"}),
        ({"entity": "ÄPFEL"}, {"entity": "äpfel"}),
        ({"entity": "a/b c"}, {"entity": "a/b c"}),
        ({"entity": " web"}, {"entity": " web"}),
        ({"check": "HTTP:80"}, {"check": "HTTP:80"}),
        ({"check": "Disk / Util "}, {"check": "Disk / Util "}),
        ({"check": "日本 🔔"}, {"check": "日本 🔔"}),
        ({"check": "a\u200bb"}, {"check": "a\u200bb"}),
        ({"check": "x" * 1_000}, {"check": "x" * 1_000}),
        ({"entity": "X" * 1_000}, {"entity": "x" * 1_000}),
        ({"time": 0}, {"time": 0}),
        ({"time": "0017"}, {"time": 17}),
        ({"time": None}, {"time": NOW}),
        ({"time": LARGEST}, {"time": LARGEST}),
        ({"duration": "60", "ttl": "5"}, {"duration": 60, "ttl": 5}),
        ({"summary": " \n a b\t"}, {"summary": "a b"}),
        ({"summary": "", "details": " ", "perfdata": None}, {"summary": None, "details": None}),
        ({"summary": "x" * 1_000_000}, {"summary": "x" * 1_000_000}),
        ({"summary": "a\0b\x1b[0m"}, {"summary": "a\0b\x1b[0m"}),
        ({"tags": None}, {"tags": ()}),
        ({"tags": []}, {"tags": ()}),
        ({"tags": [" a ", "b", "", " ", "a"]}, {"tags": ("a", "b")}),
        ({"acknowledgement_id": 55}, {"acknowledgement_id": "55"}),
        ({"acknowledgement_id": " 0b "}, {"acknowledgement_id": "0b"}),
        ({"acknowledgement_id": ""}, {"acknowledgement_id": None}),
        ({"check_latency": 3}, {"check_latency": 3.0}),
        ({"check_latency": "-0.5e1"}, {"check_latency": -5.0}),
    ],
)
def test_values_take_their_normal_form(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    event = accepted(raw(**fields))
    assert {name: getattr(event, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON: "),
        (b"\xff\xfe", "not JSON: "),
        (b"{", "not JSON: "),
        (raw()[:-1], "not JSON: "),
        (raw() + b"x", "not JSON: "),
        (raw() + raw(), "not JSON: Extra data"),
        (b"\xef\xbb\xbf" + raw(), "not JSON: "),
        (raw()[:-1] + b', "check_latency": NaN}', "not JSON: NaN is no number"),
        (raw()[:-1] + b', "time": -Infinity}', "not JSON: -Infinity is no number"),
        (b'{"time": ' + b"1" * 5_000 + b"}", "not JSON: a number has too many digits"),
        (b'"' + b"x" * MOST_BYTES + b'"', "too long: 8,388,610 bytes, expected at most 8,388,608"),
        (b"[" * 1_000_000, "nested more than 64 deep"),
        (b'{"a":' * 100_000, "nested more than 64 deep"),
        (b'{"tags":' + b"[" * 70 + b"]" * 70 + b"}", "nested more than 64 deep"),
        (b"null", "not a JSON object but None"),
        (b"5", "not a JSON object but 5"),
        (b"[" + raw() + b"]", "not a JSON object but [{"),
        (b"{}", "missing or empty: type, state, entity, check"),
        (b'{"type":"noop"}', "a noop"),
        (raw(state=None, check=""), "missing or empty: state, check"),
        (raw(entity=" \t"), "missing or empty: entity"),
        (raw(entity=[], check={}), "missing or empty: entity, check"),
        (b'{"more":1,"type":"service"}', "missing or empty: state, entity, check"),
        (raw(more=1, other=None), "unknown fields: 'more', 'other'"),
        (raw(Type="service"), "unknown fields: 'Type'"),
        (raw(**{"a\n\ud800": 1}), r"unknown fields: 'a\n\ud800'"),
        (raw(**{f"x{n}": 1 for n in range(15)}), "and 5 more"),
        (raw(more=1, state=5), "unknown fields: 'more'"),
        (raw(more=[[[{}]]]), "unknown fields: 'more'"),
        (raw(type="job"), "type is 'job'; expected one of service, action"),
        (raw(type="noop"), "type is 'noop'; expected one of service, action"),
        (raw(type=5), "type is 5; expected one of service, action"),
        (raw(state="up"), "state is 'up'; expected one of ok, warning, critical, unknown, ackn"),
        (raw(state=" ok"), "state is ' ok'; expected one of"),
        (raw(state=True), "state is True; expected one of"),
        (raw(state=["ok"]), "state is ['ok']; expected one of"),
        (raw(entity=5), "entity is 5; expected text"),
        (raw(entity={"a": 1}), "entity is {'a': 1}; expected text"),
        (raw(check=0), "check is 0; expected text"),
        (raw(entity="web:1"), "entity is 'web:1'; expected a name without a colon"),
        (raw(entity="check"), "entity is 'check'; expected a name that no other keys begin with"),
        (raw(entity="Contact"), "entity is 'Contact'; expected a name that no other keys begin"),
        (raw(entity="CHEC\u212a"), "expected a name that no other keys begin with"),
        (raw(entity="all_checks", time="5"), "expected a name that no other keys begin with"),
        (raw(entity="web\0"), r"entity is 'web\x00'; expected a name without control characters"),
        (raw(check="a\nb"), r"check is 'a\nb'; expected a name without control characters"),
        (raw(check="a\x7f"), "expected a name without control characters"),
        (raw(check="a\x85"), "expected a name without control characters"),
        (raw(check="x" * 1_001), "expected a name of at most 1,000 characters"),
        (raw(entity="x" * 1_001), "expected a name of at most 1,000 characters"),
        (raw(entity="İ" * 1_000), "expected a name of at most 1,000 characters"),
        (raw(time=-1), "time is -1; expected a whole number of seconds from 0 to 8589934591"),
        (raw(time=1.0), "time is 1.0; expected a whole number"),
        (raw(time="1.5"), "time is '1.5'; expected a whole number"),
        (raw(time=""), "time is ''; expected a whole number"),
        (raw(time="5\n"), "expected a whole number"),
        (raw(time="٣"), "expected a whole number"),
        (raw(time=True), "time is True; expected a whole number"),
        (raw(time=NOW * 1_000), "time is 1700000000000; expected a whole number"),
        (raw(time=253_402_300_799), "expected a whole number of seconds from 0 to 8589934591"),
        (raw(time=LARGEST + 1), "expected a whole number"),
        (raw(time="9" * 5_000), "expected a whole number"),
        (raw(time=10**4_000), "expected a whole number"),
        (raw(duration=[]), "duration is []; expected a whole number"),
        (raw(ttl={}), "ttl is {}; expected a whole number"),
        (raw(initial_failure_delay="x"), "initial_failure_delay is 'x'; expected a whole number"),
        (raw(repeat_failure_delay=-5), "repeat_failure_delay is -5; expected a whole number"),
        (raw(initial_recovery_delay=0.5), "initial_recovery_delay is 0.5; expected a whole"),
        (raw(summary=5), "summary is 5; expected text"),
        (raw(details=["x"]), "details is ['x']; expected text"),
        (raw(perfdata=False), "perfdata is False; expected text"),
        (raw(tags="a"), "tags is 'a'; expected a list of texts"),
        (raw(tags=["a", 5]), "tags is ['a', 5]; expected a list of texts"),
        (raw(tags={"a": 1}), "tags is {'a': 1}; expected a list of texts"),
        (raw(acknowledgement_id=1.5), "acknowledgement_id is 1.5; expected text or a whole"),
        (raw(acknowledgement_id=True), "acknowledgement_id is True; expected text or a whole"),
        (raw(acknowledgement_id=10**1_001), "expected at most 1,000 characters"),
        (raw(check_latency="nan"), "check_latency is 'nan'; expected a number"),
        (raw(check_latency=""), "check_latency is ''; expected a number"),
        (raw(check_latency=[1]), "check_latency is [1]; expected a number"),
        (raw(check_latency="1e999"), "expected a number that is not so large"),
        (raw(check_latency=10**400), "expected a number that is not so large"),
        (raw()[:-1] + b', "check_latency": 1e999}', "expected a number that is not so large"),
        (raw(time="x", tags=5), "time is 'x'; expected a whole number of seconds from 0 to 858993"),
        (raw(time="x", tags=5), "tags is 5; expected a list of texts"),
    ],
)
def test_what_is_no_event_is_rejected_with_its_reason(data: bytes, says: str) -> None:
    assert says in reason(data)


def test_a_noop_can_be_told_from_mistakes() -> None:
    assert parse(b'{"type":"noop"}', NOW) is NOOP


def test_brackets_in_texts_are_no_nesting() -> None:
    event = accepted(raw(summary='[{"' * 1_000 + "\\", state="OK"))
    assert event.summary == '[{"' * 1_000 + "\\"


@pytest.mark.parametrize(
    ("data", "summary"),
    [
        (b"a\xffb", "a?b"),
        (b"\xc3", "?"),
        (b"\xed\xa0\x80", "???"),
        (b"\\ud800x", "?x"),
        (b"\\udc00\\ud800", "??"),
        (b"\\ud83d\\udd14", "🔔"),
        (b"\\ud83d\xff", "??"),
    ],
)
def test_what_is_no_unicode_becomes_a_question_mark(data: bytes, summary: str) -> None:
    for field in ("summary", "check"):
        mangled = json.dumps({**LEAST, field: "@"}).encode().replace(b"@", data)
        assert getattr(accepted(mangled), field) == summary
    tagged = raw(tags=["@"]).replace(b"@", data)
    assert accepted(tagged).tags == (summary,)


def test_of_a_field_that_comes_twice_the_last_one_counts() -> None:
    twice = b'{"state":5,"entity":"a",' + raw()[1:]
    assert accepted(twice) == CheckEvent(**LEAST, time=NOW)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
ANYTHING = st.recursive(
    SCALARS, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=5), one)
)
NAMES = st.sampled_from([*CheckEvent.__struct_fields__, "other"])
# Values that fit their field more often than not.
LIKELY = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["service", "action", "Service", "noop"]),
        "state": st.sampled_from(["ok", "CRITICAL", "warning", "acknowledgement", "up"]),
        "entity": st.text(min_size=1, max_size=20) | st.sampled_from(sorted(RESERVED_ENTITIES)),
        "check": st.text(min_size=1, max_size=20),
    },
    optional={
        "time": st.integers(-1, LARGEST + 1) | st.from_regex(r"\A[0-9]{1,11}\Z"),
        "summary": st.none() | st.text(),
        "details": st.none() | st.text(),
        "perfdata": st.none() | st.text(),
        "tags": st.none() | st.lists(st.text(max_size=5)),
        "acknowledgement_id": st.none() | st.text() | st.integers(),
        "duration": st.none() | st.integers(0, 1 << 40),
        "ttl": st.none() | st.integers(0, 100),
        "check_latency": st.none() | st.floats() | st.integers() | st.from_regex(r"\A[0-9.]+\Z"),
    },
)
MUTATED = st.tuples(LIKELY, st.dictionaries(NAMES, ANYTHING, max_size=2)).map(
    lambda pair: json.dumps(pair[0] | pair[1]).encode()
)
BROKEN = st.tuples(
    LIKELY.map(lambda fields: json.dumps(fields, ensure_ascii=False).encode(errors="replace")),
    st.integers(0, 200),
    st.integers(0, 3),
    st.binary(max_size=4),
).map(lambda parts: parts[0][: parts[1]] + parts[3] + parts[0][parts[1] + parts[2] :])


@given(st.binary() | LIKELY.map(lambda fields: json.dumps(fields).encode()) | MUTATED | BROKEN)
@example(raw(entity="İ"))
@example(raw(entity="ΑΣ"))
@example(raw(summary="\x1f \u2028x"))
@example(raw()[:-1] + b', "check_latency": -0.0}')
def test_any_bytes_are_an_event_or_rejected_and_an_event_stays_what_it_is(data: bytes) -> None:
    first = parse(data, NOW)
    assert first == parse(data, NOW)
    # The quick way and the way with reasons agree.
    assert first == events._judged(data, NOW)
    if isinstance(first, CheckEvent):
        assert parse(encode(first), NOW + 1) == first
        assert ":" not in first.entity
        first.id.encode()


@given(LIKELY)
def test_fields_are_judged_as_their_json_is(fields: dict[str, Any]) -> None:
    data = json.dumps(fields)
    if "NaN" not in data and "Infinity" not in data:
        assert from_fields(fields, NOW) == parse(data.encode(), NOW)


def test_an_event_of_any_text_can_be_encoded() -> None:
    event = CheckEvent(
        type="service", state="ok", entity="a\ud800", check="\udcff", tags=("\udcff",), time=1
    )
    read = accepted(encode(event))
    assert (read.entity, read.check, read.tags, read.time) == ("a?", "?", ("?",), 1)


def test_actions_are_events_as_gateways_send_them() -> None:
    ack = acknowledge(
        "web-1", "HTTP", summary="I look", duration=3600, acknowledgement_id="0badcafe", time=5
    )
    assert json.loads(encode(ack)) == {
        "type": "action",
        "state": "acknowledgement",
        "entity": "web-1",
        "check": "HTTP",
        "summary": "I look",
        "duration": 3600,
        "acknowledgement_id": "0badcafe",
        "time": 5,
    }
    assert json.loads(encode(try_notifications("web-1", "HTTP", summary="Hear me?"))) == {
        "type": "action",
        "state": "test_notifications",
        "entity": "web-1",
        "check": "HTTP",
        "summary": "Hear me?",
    }
    for event in (ack, try_notifications("web-1", "HTTP", details="d", time=6)):
        assert parse(encode(event), NOW) == event


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (None, []),
        ("", []),
        (" \n", []),
        ("time=0.02s;1;2;0;10", [("time", "0.02s")]),
        ("a=1 b=2;3", [("a", "1"), ("b", "2")]),
        ("  a=1\t\nb=2 ", [("a", "1"), ("b", "2")]),
        ("up", [("up", "")]),
        ("a= b=;5", [("a", ""), ("b", "")]),
        ("a=b=c;d", [("a", "b=c")]),
        ("=5", [("", "5")]),
        ("'C: used'=5GB;6 'it''s'=1", [("C: used", "5GB"), ("it's", "1")]),
        ("it's a=1", [("it's", ""), ("a", "1")]),
    ],
)
def test_perfdata_is_a_list_of_keys_and_values(
    text: str | None, items: list[tuple[str, str]]
) -> None:
    assert perfdata_items(text) == [{"key": key, "value": value} for key, value in items]


@given(st.text())
def test_any_perfdata_is_a_list_of_keys_and_values(text: str) -> None:
    for item in perfdata_items(text):
        assert list(item) == ["key", "value"]


@pytest.mark.parametrize(
    ("entity", "check", "tags"),
    [
        (
            "foo-app-01.example.com",
            "Disk / Util",
            {"foo-app-01", "example.com", "disk", "/", "util"},
        ),
        ("web", "HTTP", {"web", "http"}),
        ("Web.", "  a  A ", {"web", "a"}),
        (".b.c", "HTTP:80", {"b.c", "http:80"}),
    ],
)
def test_names_give_tags(entity: str, check: str, tags: set[str]) -> None:
    assert ephemeral_tags(entity, check) == tags
