"""Files of other schedulers: what they become, and what is reported as left out."""

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.errors import Refused
from watchbell.jobs import validation
from watchbell.jobs.imports import cronicle, crontab, portable
from watchbell.jobs.imports.found import Found
from watchbell.jobs.model import KINDS, Category, Event, Plugin

CRONTAB = r"""
# nightly things
SHELL=/bin/bash
PATH=/usr/local/bin:/usr/bin
MAILTO=alice@example.com
30 2 * * *   /usr/local/bin/backup.sh --all
CRON_TZ=Europe/Rome
0 9 1,15 * mon-fri  mail -s "100\%" bob@example.com%Hello Bob,%all is well.
@hourly      backup.sh
@reboot      start-me
0 0 * * mon#2  second-monday
61 * * * *   never
"""


def events(found: Found) -> list[Event]:
    read = [validation.read(one.kind, one.values) for one in found.items if one.kind == "event"]
    return [one for one in read if isinstance(one, Event)]


def reasons(found: Found) -> list[tuple[str, str]]:
    return [(one.subject, one.reason) for one in found.omissions]


def test_lines_of_a_crontab_become_events_with_scripts() -> None:
    backup, mail, hourly = events(crontab.read(CRONTAB, targets=["web1"]))
    assert (backup.id, backup.title, backup.targets) == ("backup_sh", "backup.sh", ("web1",))
    assert backup.params["script"] == (
        "#!/bin/bash\n\nexport PATH=/usr/local/bin:/usr/bin\n/usr/local/bin/backup.sh --all\n"
    )
    schedule, manual = backup.timings
    assert (schedule.hours, schedule.minutes, schedule.timezone) == ((2,), (30,), "")
    assert manual.type == "manual"
    assert backup.actions[0].email == "alice@example.com"
    by_date, by_weekday, _ = mail.timings
    assert (by_date.days, by_date.weekdays) == ((1, 15), ())
    assert (by_weekday.days, by_weekday.weekdays) == ((), (1, 2, 3, 4, 5))
    assert by_date.timezone == "Europe/Rome"
    assert "printf '%s\\n' 'Hello Bob,' 'all is well.' |" in mail.params["script"]
    assert (hourly.id, hourly.timings[0].minutes) == ("backup_sh_2", (0,))


def test_what_a_crontab_has_and_events_have_not_is_reported_by_line() -> None:
    found = crontab.read(CRONTAB)
    left_out = [subject for subject, _ in reasons(found)]
    assert left_out == ["line 6", "line 8", "line 9", "line 10", "line 11", "line 12"]


@pytest.mark.parametrize(
    ("when", "timings"),
    [
        ("* * * * *", [{"type": "schedule"}]),
        ("*/30 * * * *", [{"type": "schedule", "minutes": [0, 30]}]),
        ("0 0 l * *", [{"type": "schedule", "minutes": [0], "hours": [0], "days": [-1]}]),
        (
            "0 0 * jan 0,7",
            [{"type": "schedule", "minutes": [0], "hours": [0], "months": [1], "weekdays": [0]}],
        ),
        (
            "0 0 */10 * 1",
            [
                {
                    "type": "schedule",
                    "minutes": [0],
                    "hours": [0],
                    "days": [1, 11, 21, 31],
                    "weekdays": [1],
                }
            ],
        ),
        ("@every 90s", [{"type": "interval", "duration": 90}]),
    ],
)
def test_times_of_a_crontab_become_timings(when: str, timings: Any) -> None:
    assert crontab.timings_of(when) == timings


def test_a_line_of_another_user_becomes_a_disabled_event() -> None:
    found = crontab.read("5 4 * * * root /sbin/reindex", has_users=True)
    [event] = events(found)
    assert (event.enabled, event.title) == (False, "reindex")
    assert "it ran as root" in reasons(found)[0][1]


def cronicle_line(key: str, value: Any) -> str:
    return f"{key} - {msgspec.json.encode(value).decode()}"


REBUILD = {
    "enabled": 1,
    "params": {"script": "#!/bin/sh\n\n/usr/local/bin/db-reindex.pl\n"},
    "timing": {"minutes": [10], "days": [1], "weekdays": [1]},
    "max_children": 1,
    "timeout": 3600,
    "catch_up": 1,
    "queue": 1,
    "queue_max": 50,
    "plugin": "shellplug",
    "title": "Rebuild Indexes",
    "category": "c33",
    "target": "allgrp",
    "algo": "round_robin",
    "multiplex": 0,
    "retries": 2,
    "retry_delay": 30,
    "memory_limit": 1073741824,
    "memory_sustain": 5,
    "cpu_limit": 100,
    "log_max_size": 1024,
    "detached": 0,
    "notify_success": "",
    "notify_fail": "alice@example.com, bob@example.com",
    "web_hook": "http://example.com/hook",
    "chain": "e2",
    "chain_error": "",
    "notes": "Weekly",
    "id": "e1",
    "modified": 1445233242,
    "created": 1445233022,
    "username": "admin",
    "timezone": "America/Los_Angeles",
}
SPREAD = {
    "id": "e2",
    "title": "Everywhere",
    "enabled": 1,
    "timing": False,
    "target": "web1.example.com",
    "multiplex": 1,
    "category": "general",
    "plugin": "urlplug",
    "params": {"url": "http://example.com", "method": "GET"},
}
CRONICLE = "\n".join(
    [
        "# Cronicle Data Export v1.0",
        "# Format: KEY - JSON",
        "",
        cronicle_line("users/admin", {"username": "admin"}),
        cronicle_line("global/users", {"type": "list", "length": 1}),
        cronicle_line("global/users/0", {"items": [{"username": "admin"}]}),
        cronicle_line(
            "global/plugins/0",
            {
                "items": [
                    {"id": "shellplug", "title": "Shell", "command": "bin/shell-plugin.js"},
                    {
                        "id": "p1",
                        "title": "Copy",
                        "enabled": 1,
                        "command": "/usr/bin/copy.py",
                        "uid": 501,
                        "params": [
                            {"type": "text", "id": "host", "title": "Host", "value": "db1"},
                            {"type": "checkbox", "id": "all", "title": "All", "value": 1},
                            {
                                "type": "select",
                                "id": "mode",
                                "items": ["slow", "fast"],
                                "value": "fast",
                            },
                        ],
                    },
                ]
            },
        ),
        cronicle_line(
            "global/categories/0",
            {
                "items": [
                    {"id": "general", "title": "General"},
                    {"id": "c33", "title": "Data", "enabled": 1, "max_children": 5, "color": "red"},
                ]
            },
        ),
        cronicle_line(
            "global/server_groups/0",
            {
                "items": [
                    {"id": "maingrp", "title": "Primary", "regexp": "x"},
                    {"id": "g1", "title": "Web", "regexp": "^web"},
                ]
            },
        ),
        cronicle_line("global/schedule/0", {"items": [REBUILD]}),
        cronicle_line("global/schedule/-1", {"items": [SPREAD]}),
        "global/schedule/1 - {broken}",
    ]
)


def test_an_export_of_cronicle_becomes_definitions() -> None:
    found = cronicle.read(CRONICLE)
    assert [one.kind for one in found.items] == ["plugin", "category", "group", "event", "event"]
    rebuild, spread = events(found)
    schedule, catchup, manual = rebuild.timings
    assert (schedule.minutes, schedule.days, schedule.weekdays) == ((10,), (1,), (1,))
    assert (schedule.timezone, catchup.type, manual.type) == (
        "America/Los_Angeles",
        "catchup",
        "manual",
    )
    assert (rebuild.targets, rebuild.algo, rebuild.category) == (("main",), "round_robin", "c33")
    assert [(one.type, one.amount, one.duration) for one in rebuild.limits] == [
        ("time", None, 3600),
        ("log", 1024, None),
        ("mem", 1073741824, 5),
        ("cpu", 100, 0),
        ("retry", 2, 30),
        ("job", 1, None),
        ("queue", 50, None),
    ]
    assert [(one.trigger, one.type) for one in rebuild.actions] == [
        ("error", "email"),
        ("start", "web_hook"),
        ("complete", "web_hook"),
        ("success", "run_event"),
    ]
    assert (spread.enabled, spread.plugin, spread.targets) == (
        False,
        "httpplug",
        ("web1.example.com",),
    )
    assert [one.type for one in spread.timings] == ["manual"]


def test_plugins_and_categories_of_cronicle_are_carried_over() -> None:
    found = cronicle.read(CRONICLE)
    plugin = validation.read("plugin", found.items[0].values)
    assert isinstance(plugin, Plugin)
    assert (plugin.command, plugin.uid) == ("/usr/bin/copy.py", "501")
    assert [(one.id, one.type, one.value) for one in plugin.params] == [
        ("host", "text", "db1"),
        ("all", "checkbox", True),
        ("mode", "select", "fast, slow"),
    ]
    category = validation.read("category", found.items[1].values)
    assert isinstance(category, Category)
    assert (category.title, category.color) == ("Data", "red")
    assert found.items[2].values["hostname_match"] == "^web"


def test_what_cronicle_has_and_we_have_not_is_reported() -> None:
    assert [subject for subject, _ in reasons(cronicle.read(CRONICLE))] == [
        "line 12",
        "category 'Data'",
        "event 'Everywhere'",
        "event 'Everywhere'",
        "the file",
    ]


def test_another_text_is_no_export_of_cronicle() -> None:
    with pytest.raises(Refused):
        cronicle.read("30 2 * * * backup\n")


XYOPS_EVENT = {
    "id": "emabc",
    "title": "Nightly",
    "enabled": True,
    "category": "general",
    "targets": ["main"],
    "algo": "monitor:load_avg",
    "plugin": "shellplug",
    "params": {"script": "true"},
    "fields": [{"id": "x", "type": "text"}],
    "expression": "",
    "limits": [
        {"type": "time", "enabled": True, "duration": 60, "tags": ["slow"], "web_hook": "w1"},
        {"type": "mem", "enabled": True, "amount": 5, "duration": 1, "abort": True},
    ],
    "actions": [
        {"condition": "error", "type": "web_hook", "web_hook": "w1", "enabled": True, "id": "a1"},
        {"condition": "success", "type": "ticket", "enabled": True},
    ],
    "triggers": [
        {"id": "t1", "type": "schedule", "enabled": True, "minutes": [5], "data": {"a": 1}},
        {"type": "magic", "enabled": True, "token": "x"},
        {"type": "manual", "enabled": True},
    ],
    "created": 5,
    "modified": 6,
    "revision": 12,
}
HOOK = {"id": "w1", "title": "Hook", "url": "https://example.com/hook"}
ITEMS = [
    {"type": "event", "data": XYOPS_EVENT},
    {"type": "web_hook", "data": HOOK},
    {"type": "bucket", "data": {"id": "b1", "title": "B"}},
]
PORTABLE = {"type": "xypdf", "version": "1.0", "items": ITEMS}


def portable_read(value: Any) -> Found:
    return portable.read(msgspec.json.encode(value))


def test_events_of_xyops_are_carried_over() -> None:
    [event] = events(portable_read(PORTABLE))
    assert [one.type for one in event.timings] == ["schedule", "manual"]
    assert [(one.trigger, one.url) for one in event.actions] == [("error", HOOK["url"])]
    notifying, aborting = event.limits
    assert (notifying.abort, notifying.url, aborting.abort) == (False, HOOK["url"], True)
    assert (event.algo, event.revision) == ("random", 1)


def test_what_xyops_has_and_we_have_not_is_reported() -> None:
    found = [reason for _, reason in reasons(portable_read(PORTABLE))]
    assert [reason.split(":")[0] for reason in found] == [
        "the algorithm 'monitor",
        "its property timing.data is not supported",
        "one of its timings is left out",
        "one of its actions is left out",
        "its property fields is not supported",
        "1 of the kind bucket not imported",
    ]


@pytest.mark.parametrize(
    "value",
    [
        [XYOPS_EVENT],
        XYOPS_EVENT,
        {"code": 0, "rows": [XYOPS_EVENT], "list": {}},
        {"code": 0, "event": XYOPS_EVENT},
        {"type": "event", "version": "1.0", "data": XYOPS_EVENT},
        PORTABLE,
    ],
)
def test_all_forms_of_json_are_read(value: Any) -> None:
    assert [one.title for one in events(portable_read(value))] == ["Nightly"]


def test_a_backup_of_xyops_is_read() -> None:
    lines = [
        "# xyOps Data Export v1.0",
        '{"cmd":"listDelete","args":["global/events",false]}',
        msgspec.json.encode({"key": "global/events/0", "value": {"items": [XYOPS_EVENT]}}).decode(),
        msgspec.json.encode({"key": "global/web_hooks/0", "value": {"items": [HOOK]}}).decode(),
        '{"key":"users/admin","value":{"username":"admin"}}',
        "{broken",
    ]
    found = portable.read("\n".join(lines))
    [event] = events(found)
    assert event.actions[0].url == HOOK["url"]


def test_limits_of_the_documents_era_abort() -> None:
    event = {"id": "e", "title": "E", "timings": [], "limits": [{"type": "time", "duration": 5}]}
    [read] = events(portable_read([event]))
    assert read.limits[0].abort


@pytest.mark.parametrize("text", ["", "{}", "[]", "5", "hello\nworld", '{"items":[]}', "\x00"])
def test_a_file_without_definitions_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        portable.read(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 100) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = sorted({*REBUILD, *XYOPS_EVENT, "params", "items", "regexp", "timings", "web_hook"})
RECORD = st.dictionaries(
    st.sampled_from(NAMES),
    JSON
    | st.lists(
        st.dictionaries(st.sampled_from(["id", "type", "items", "value", "web_hook"]), JSON),
        max_size=2,
    ),
)


@given(
    name=st.sampled_from(["schedule", "plugins", "categories", "server_groups", "users"]),
    record=RECORD | JSON,
)
def test_no_record_of_cronicle_stops_the_reader(name: str, record: Any) -> None:
    with suppress(Refused):
        cronicle.read(cronicle_line(f"global/{name}/0", {"items": [record]}))


@given(kind=st.sampled_from([*sorted(KINDS), "group", "web_hook"]), record=RECORD | JSON)
def test_no_record_of_xyops_stops_the_reader(kind: str, record: Any) -> None:
    with suppress(Refused):
        portable_read({"items": [{"type": kind, "data": record}]})


@given(text=st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_no_text_stops_a_reader(text: str) -> None:
    crontab.read(text)
    crontab.read(text, has_users=True)
    for read in (cronicle.read, portable.read):
        with suppress(Refused):
            read(text)
