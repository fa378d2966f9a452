"""What people define is accepted or refused, with the field that is wrong."""

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.errors import Refused
from watchbell.fleet.model import Monitor
from watchbell.jobs import aliases, validation
from watchbell.jobs.model import (
    KINDS,
    Category,
    Channel,
    Event,
    Limit,
    Parameter,
    Plugin,
    Timing,
)

THE_DOCUMENTS = {
    "id": "event100",
    "title": "Diverse heuristic complexity",
    "enabled": True,
    "username": "admin",
    "modified": 1653843747,
    "created": 1651348186,
    "category": "cat9",
    "targets": ["main"],
    "notes": "This is a test event.",
    "limits": [{"type": "time", "enabled": True, "duration": 3600}],
    "actions": [{"enabled": True, "trigger": "error", "type": "email", "email": "admin@localhost"}],
    "plugin": "shellplug",
    "params": {
        "script": "#!/bin/bash\n\nsleep 30;\necho HELLO;\n",
        "annotate": False,
        "json": False,
    },
    "timings": [{"type": "schedule", "enabled": True, "hours": [19], "minutes": [6]}],
    "icon": "",
    "tags": ["important"],
    "algo": "random",
}


class Definitions(msgspec.Struct):
    events: dict[str, Event] = {}
    categories: dict[str, Category] = {}
    plugins: dict[str, Plugin] = {}
    channels: dict[str, Channel] = {}
    monitors: dict[str, Monitor] = {}


SHELL = Plugin(
    id="shellplug",
    title="Shell",
    command="sh",
    params=(
        Parameter(id="script", type="code", required=True),
        Parameter(id="annotate", type="checkbox"),
    ),
)


def event(**properties: Any) -> Event:
    record = validation.read("event", {"id": "e1", "title": "Backup"} | properties)
    assert isinstance(record, Event)
    return record


def refusal(kind: str, value: Any, known: Any = None, **more: Any) -> tuple[str, str]:
    with pytest.raises(Refused) as refused:
        validation.read(kind, value, known, **more)
    return refused.value.field, refused.value.reason


def refused_event(**properties: Any) -> tuple[str, str]:
    return refusal("event", {"id": "e1", "title": "Backup"} | properties)


def test_the_documents_example_is_accepted_and_comes_back_as_it_is() -> None:
    record = validation.read("event", THE_DOCUMENTS)
    assert isinstance(record, Event)
    assert record.timings == (Timing(type="schedule", hours=(19,), minutes=(6,)),)
    assert record.limits == (Limit(type="time", duration=3600),)
    again = validation.stored("event", msgspec.json.encode(record))
    assert again == record


TRIGGER = {"type": "schedule", "minutes": [5]}


def test_the_spellings_of_xyops_mean_the_same() -> None:
    action = {"condition": "error", "type": "web_hook", "web_hook": "https://example.com/x"}
    record = event(triggers=[TRIGGER], actions=[action])
    assert record.timings == (Timing(type="schedule", minutes=(5,)),)
    assert (record.actions[0].trigger, record.actions[0].url) == ("error", "https://example.com/x")


def test_of_two_spellings_the_one_that_was_changed_counts() -> None:
    current = event(timings=[TRIGGER], actions=[{"trigger": "error", "type": "disable"}])
    sent = aliases.both("event", msgspec.json.decode(msgspec.json.encode(current)))
    sent["timings"][0]["enabled"] = True  # as in an answer that shows defaults
    changed = {"type": "schedule", "minutes": [7]}
    for name in ("timings", "triggers"):
        record = validation.read("event", sent | {name: [changed]}, current=current)
        assert isinstance(record, Event)
        assert record.timings[0].minutes == (7,)
    for name in ("trigger", "condition"):
        actions = [sent["actions"][0] | {name: "success"}]
        record = validation.read("event", sent | {"actions": actions}, current=current)
        assert isinstance(record, Event)
        assert record.actions[0].trigger == "success"


def test_timings_come_back_to_an_event_that_had_none() -> None:
    record = validation.read(
        "event",
        {"id": "e1", "title": "Backup", "timings": [], "triggers": [TRIGGER]},
        current=event(),
    )
    assert isinstance(record, Event)
    assert len(record.timings) == 1


def test_two_spellings_that_contradict_each_other_are_refused() -> None:
    other = {"type": "schedule", "minutes": [6]}
    field, reason = refused_event(timings=[TRIGGER], triggers=[other])
    assert (field, reason) == ("triggers", "differs from timings, which means the same")


def test_numbers_are_accepted_as_programs_for_cronicle_send_them() -> None:
    timing = {"type": "schedule", "enabled": 1, "minutes": ["30", 0.0, 30]}
    record = event(enabled=0, timings=[timing])
    assert (record.enabled, record.timings[0].minutes) == (False, (0, 30))


def test_a_single_run_is_floored_to_its_minute() -> None:
    assert event(timings=[{"type": "single", "epoch": 1_700_000_039.7}]).timings[0].epoch == (
        1_700_000_039 // 60 * 60
    )


@pytest.mark.parametrize(
    ("timing", "field"),
    [
        ({"type": "hourly"}, "type"),
        ({}, "type"),
        ({"type": "magic"}, "type"),
        ({"type": "schedule", "minutes": [60]}, "minutes"),
        ({"type": "schedule", "hours": [-1]}, "hours"),
        ({"type": "schedule", "days": [0]}, "days"),
        ({"type": "schedule", "days": [32]}, "days"),
        ({"type": "schedule", "weekdays": [7]}, "weekdays"),
        ({"type": "schedule", "months": [0]}, "months"),
        ({"type": "schedule", "years": ["soon"]}, "years"),
        ({"type": "schedule", "minutes": [True]}, "minutes"),
        ({"type": "schedule", "timezone": "Mars/Olympus"}, "timezone"),
        ({"type": "schedule", "epoch": 5}, "epoch"),
        ({"type": "schedule", "minuets": [5]}, "minuets"),
        ({"type": "single"}, "epoch"),
        ({"type": "interval"}, "duration"),
        ({"type": "interval", "duration": 0}, "duration"),
        ({"type": "range"}, "start"),
        ({"type": "range", "start": 120, "end": 60}, "end"),
        ({"type": "blackout", "start": 60}, "end"),
        ({"type": "delay", "duration": -1}, "duration"),
        ({"type": "precision", "seconds": []}, "seconds"),
        ({"type": "precision", "seconds": [60]}, "seconds"),
        ({"type": "nth", "every": 1}, "every"),
        ({"type": "catchup", "policy": "some"}, "policy"),
    ],
)
def test_a_wrong_timing_is_refused_with_its_field(timing: Any, field: str) -> None:
    fine = {"type": "manual"}
    assert refused_event(timings=[fine, timing])[0] == f"timings[1].{field}"


def enabled(*types: str) -> list[dict[str, Any]]:
    needed: dict[str, dict[str, Any]] = {
        "interval": {"duration": 60},
        "precision": {"seconds": [1]},
        "delay": {"duration": 5},
        "nth": {"every": 2},
        "single": {"epoch": 60},
        "range": {"start": 60},
    }
    return [{"type": one, **needed.get(one, {})} for one in types]


@pytest.mark.parametrize(
    "types",
    [
        ("continuous", "schedule"),
        ("manual", "continuous"),
        ("continuous", "continuous"),
        ("interval", "precision"),
        ("delay", "interval"),
        ("precision", "delay"),
        *((kind, kind) for kind in ("startup", "catchup", "nth", "manual", "precision")),
        ("destruct", "schedule", "destruct"),
    ],
)
def test_timings_that_contradict_each_other_are_refused(types: tuple[str, ...]) -> None:
    timings = enabled(*types)
    field, reason = refused_event(timings=timings)
    assert field.startswith("timings[")
    assert reason
    for one in timings[1:]:
        one["enabled"] = False
    event(timings=timings)


@pytest.mark.parametrize(
    "types",
    [
        ("schedule", "schedule", "single", "interval", "manual", "startup", "catchup"),
        ("schedule", "range", "range", "delay", "nth", "destruct"),
        ("continuous",),
    ],
)
def test_timings_that_go_together_are_accepted(types: tuple[str, ...]) -> None:
    assert [one.type for one in event(timings=enabled(*types)).timings] == list(types)


@pytest.mark.parametrize(
    ("limit", "field"),
    [
        ({"type": "time"}, "duration"),
        ({"type": "time", "duration": 0}, "duration"),
        ({"type": "time", "amount": 60}, "amount"),
        ({"type": "job", "amount": 0}, "amount"),
        ({"type": "job", "amount": 1.5}, "amount"),
        ({"type": "log"}, "amount"),
        ({"type": "mem", "amount": "much"}, "amount"),
        ({"type": "cpu", "amount": 50, "duration": -1}, "duration"),
        ({"type": "retry", "amount": -1}, "amount"),
        ({"type": "day", "amount": 3, "condition": "sometimes"}, "condition"),
        ({"type": "luck"}, "type"),
    ],
)
def test_a_wrong_limit_is_refused_with_its_field(limit: Any, field: str) -> None:
    assert refused_event(limits=[limit])[0] == f"limits[0].{field}"


def test_a_queue_needs_a_job_limit_of_the_event_or_its_category() -> None:
    queue, one = {"type": "queue", "amount": 5}, {"type": "job", "amount": 1}
    known = Definitions(plugins={"shellplug": SHELL})
    params = {"script": "true"}
    value = {"id": "e1", "title": "Backup", "params": params, "limits": [queue]}
    assert refusal("event", value, known)[0] == "limits[0].type"
    off = one | {"enabled": False}
    assert refusal("event", value | {"limits": [off, queue]}, known)[0] == "limits[1].type"
    validation.read("event", value | {"limits": [queue, one]}, known)
    limits = (Limit(type="job", amount=1),)
    known.categories["general"] = Category(id="general", title="General", limits=limits)
    validation.read("event", value, known)


@pytest.mark.parametrize(
    ("action", "field"),
    [
        ({"type": "disable"}, "trigger"),
        ({"type": "disable", "trigger": "later"}, "trigger"),
        ({"type": "disable", "trigger": "tag:"}, "trigger"),
        ({"trigger": "error"}, "type"),
        ({"trigger": "error", "type": "email"}, "email"),
        ({"trigger": "error", "type": "email", "email": "nobody"}, "email"),
        ({"trigger": "error", "type": "web_hook", "url": "file:///etc/passwd"}, "url"),
        ({"trigger": "error", "type": "web_hook"}, "url"),
        ({"trigger": "error", "type": "run_event"}, "event_id"),
        ({"trigger": "error", "type": "channel", "channel_id": "no id"}, "channel_id"),
        ({"trigger": "error", "type": "tag"}, "tags"),
    ],
)
def test_a_wrong_action_is_refused_with_its_field(action: Any, field: str) -> None:
    assert refused_event(actions=[action])[0] == f"actions[0].{field}"


@pytest.mark.parametrize(
    ("properties", "field"),
    [
        ({"id": "a b"}, "id"),
        ({"id": ""}, "id"),
        ({"title": " "}, "title"),
        ({"title": "two\nlines"}, "title"),
        ({"title": None}, "title"),
        ({"targets": []}, "targets"),
        ({"targets": ["*"]}, "targets"),
        ({"algo": "best"}, "algo"),
        ({"timings": {}}, "timings"),
        ({"timings": [5]}, "timings[0]"),
        ({"params": []}, "params"),
        ({"workflow": {"nodes": []}}, "workflow"),
        ({"notes": "\0"}, "notes"),
        ({"revision": -1}, "revision"),
    ],
)
def test_a_wrong_event_is_refused_with_its_field(properties: Any, field: str) -> None:
    assert refused_event(**properties)[0] == field


def test_a_property_that_nobody_knows_is_ignored_where_it_is_empty() -> None:
    assert event(workflow=None, fields=[], expression="", marketplace={}) == event()


def test_references_must_exist_unless_they_were_there_before() -> None:
    known = Definitions(plugins={"shellplug": SHELL})
    params = {"script": "true"}
    plain = {"id": "e1", "title": "Backup", "params": params}
    assert refusal("event", plain | {"plugin": "gone"}, known)[0] == "plugin"
    gone = [{"trigger": "error", "type": "channel", "channel_id": "gone"}]
    assert refusal("event", plain | {"actions": gone}, known)[0] == "actions[0].channel_id"
    current = validation.read("event", plain | {"actions": gone})
    validation.read("event", plain | {"actions": gone}, known, current=current)
    again = [{"trigger": "error", "type": "run_event", "event_id": "e1"}]
    validation.read("event", plain | {"actions": again}, known)
    assert refusal("channel", {"id": "c", "title": "C", "run_event": "e2"}, known)[0] == "run_event"


def test_parameters_are_checked_by_their_plugin() -> None:
    known = Definitions(plugins={"shellplug": SHELL})
    plain = {"id": "e1", "title": "Backup"}
    assert refusal("event", plain, known)[0] == "params.script"
    params = {"script": "true", "annotate": "maybe"}
    assert refusal("event", plain | {"params": params}, known)[0] == "params.annotate"
    startup = {"type": "startup", "params": {"script": ["no"]}}
    value = plain | {"params": {"script": "true"}, "timings": [startup]}
    assert refusal("event", value, known)[0] == "timings[0].params.script"


@pytest.mark.parametrize(
    ("properties", "field"),
    [
        ({}, "command"),
        ({"command": "sh 'unclosed"}, "command"),
        ({"command": "sh", "kill": "some"}, "kill"),
        ({"command": "sh", "env": {"A=B": "c"}}, "env"),
        ({"command": "sh", "uid": "root; rm"}, "uid"),
        ({"command": "sh", "params": [{"id": "a"}]}, "params[0].type"),
        (
            {"command": "sh", "params": [{"id": "a", "type": "text", "regex": "("}]},
            "params[0].regex",
        ),
        ({"command": "sh", "params": [{"id": "a", "type": "text"}] * 2}, "params[1].id"),
    ],
)
def test_a_wrong_plugin_is_refused_with_its_field(properties: Any, field: str) -> None:
    assert refusal("plugin", {"id": "p1", "title": "Plugin"} | properties)[0] == field


def test_the_tags_of_the_system_can_not_be_defined() -> None:
    assert refusal("tag", {"id": "_success", "title": "Mine"})[0] == "id"


def test_a_stored_record_may_have_properties_of_a_later_version() -> None:
    raw = b'{"id":"e1","title":"Backup","mood":"good","timings":[{"type":"manual","mood":1}]}'
    assert validation.stored("event", raw) == event(timings=[{"type": "manual"}])


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"5", b'{"id":"e1"}', b'"\xff"', b"[" * 5_000])
def test_a_spoiled_record_is_refused(raw: bytes) -> None:
    with pytest.raises(Refused):
        validation.stored("event", raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = sorted({name for cls in KINDS.values() for name in cls.__struct_fields__} | {"triggers"})
PARTS = sorted({*Timing.__struct_fields__, *Limit.__struct_fields__, "condition", "web_hook"})
TYPES = ["schedule", "single", "interval", "range", "nth", "time", "mem", "queue", "email", "tag"]
PART = (
    st.dictionaries(
        st.sampled_from(PARTS), JSON | st.sampled_from(TYPES) | st.lists(st.integers(-40, 3_000))
    )
    | JSON
)
VALUE = st.dictionaries(st.sampled_from(NAMES), JSON | st.lists(PART, max_size=3))


@given(kind=st.sampled_from(sorted(KINDS)), value=VALUE | JSON)
def test_no_value_raises_anything_but_refused(kind: str, value: Any) -> None:
    if isinstance(value, dict):
        value = {"id": "x1", "title": "X", "command": "sh"} | value
    known = Definitions(plugins={"shellplug": SHELL})
    for one in (None, known):
        record = None
        with suppress(Refused):
            record = validation.read(kind, value, one)
        if record is not None:
            assert validation.stored(kind, msgspec.json.encode(record)) == record


@given(value=PART)
def test_no_pushed_action_or_limit_raises_anything_but_refused(value: Any) -> None:
    for read in (validation.action, validation.limit):
        with suppress(Refused):
            read(value)


@pytest.mark.parametrize(
    "value", [object(), {"title": "\ud800"}, {(1, 2): 3}, {"params": 10**400}, b"\xff", {"x": {1}}]
)
def test_what_is_no_json_is_refused(value: Any) -> None:
    assert refusal("event", value)


def test_a_value_that_is_nested_without_end_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert refusal("event", {"id": "e1", "title": "X", "params": {"deep": deep}})
    shallow: Any = 1
    for _ in range(40):
        shallow = [shallow]
    assert "nested" in refusal("event", {"params": {"deep": shallow}})[1]


def test_a_record_that_is_too_large_is_refused() -> None:
    assert "too many" in refusal("event", {"id": "e1", "title": "X", "notes": "x" * 2_000_000})[1]
