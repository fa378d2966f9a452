"""What is and was, read back: checks by pattern, their states, changes, notifications, alerts."""

import pytest

from tests.alerting import recorded
from watchbell.alerting import history, maintenance, patterns
from watchbell.alerting.history import Notified, Status
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import split_id
from watchbell.alerting.reports import Change
from watchbell.alerting.windows import Window
from watchbell.errors import Refused
from watchbell.store.client import Argument, Store

NOW = 1_700_000_000
HTTP, DISK = "web-1:HTTP:80", "web-1:Disk /var"
KEYS = Alerting()

NAMES = ["web-1:HTTP", "web-1:HTTP:80", "web-2:Disk /var", "db:[x]", "db:y", "db:ü\nz", "web:/"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", NAMES),
        ("web-1", ["web-1:HTTP", "web-1:HTTP:80"]),
        ("WEB-1:HTTP*", ["web-1:HTTP", "web-1:HTTP:80"]),
        ("web-1:http", []),
        ("web-?:HTTP", ["web-1:HTTP"]),
        ("web-[13]", ["web-1:HTTP", "web-1:HTTP:80"]),
        ("*:HTTP:80", ["web-1:HTTP:80"]),
        ("*:/", ["web:/"]),
        ("db:*\n*", ["db:ü\nz"]),
        ("/^web/", ["web-1:HTTP", "web-1:HTTP:80", "web-2:Disk /var", "web:/"]),
        (r"/\d:HTTP$/", ["web-1:HTTP"]),
        (r"/^web-\d$/:/HTTP|Disk/", ["web-1:HTTP", "web-1:HTTP:80", "web-2:Disk /var"]),
        (r"/web|db/:y", ["db:y"]),
        ("db:/^[xy]$/", ["db:y"]),
        ("web", ["web:/"]),
        ("web:", []),
        ("//", []),
        ("", []),
    ],
)
def test_a_pattern_means_these_checks(pattern: str, expected: list[str]) -> None:
    matches = patterns.compiled(pattern).matches
    assert [name for name in NAMES if matches(*split_id(name))] == expected


@pytest.mark.parametrize("pattern", ["/(/", "/[/:x", "web:/*/"])
def test_an_expression_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(Refused, match="is no regular expression"):
        patterns.compiled(pattern)


async def test_checks_are_found_by_pattern_and_disabled_ones_only_when_asked_for(
    store: Store,
) -> None:
    for name in NAMES:
        await recorded.check(store, name, [(NOW, "ok")])
    await recorded.disabled(store, "db:y")
    assert await history.find(store, "web-1") == ["web-1:HTTP", "web-1:HTTP:80"]
    assert await history.find(store, "*") == sorted(set(NAMES) - {"db:y"})
    assert await history.find(store, "db:/y/") == []
    assert await history.find(store, "db:?", disabled=True) == ["db:y"]
    assert await history.find(store, "nothing:here") == []


async def test_a_check_of_exactly_this_name_is_meant_alone(store: Store) -> None:
    for name in ["db:[x]", "db:x", "web:/var/", "web:/var/log"]:
        await recorded.check(store, name, [(NOW, "ok")])
    assert await history.find(store, "db:[x]") == ["db:[x]"]
    assert await history.find(store, "web:/var/") == ["web:/var/"]
    assert await history.find(store, "db:[xy]") == ["db:x"]


async def test_more_checks_than_a_page_are_found(store: Store) -> None:
    names = [part for i in range(2500) for part in (NOW, f"e:{i}")]
    await store.call("ZADD", KEYS.all_checks(), *names)
    assert len(await history.find(store, "*", disabled=True)) == 2500
    assert len(await history.find(store, "/5$/", disabled=True)) == 250


async def test_a_check_is_read_with_all_there_is_to_it(store: Store) -> None:
    await recorded.check(
        store,
        HTTP,
        [(NOW - 100, "ok"), (NOW - 50, "critical", "no answer")],
        last_update=NOW,
        summary="still none",
        details="long\ntext",
        perfdata='[{"key":"time","value":"3s"}]',
        initial_failure_delay=10,
    )
    await maintenance.create_scheduled(store, HTTP, NOW - 10, 100, "move", NOW)
    await maintenance.create_unscheduled(store, HTTP, NOW - 5, 60, "seen", NOW)
    await store.call("SET", KEYS.last_problem(*split_id(HTTP)), NOW - 20)
    await store.call("SET", KEYS.last_critical(*split_id(HTTP)), NOW - 20)
    assert await history.check_states(store, [HTTP, "no:check"], NOW) == [
        Status(
            id=HTTP,
            state="critical",
            enabled=True,
            summary="still none",
            details="long\ntext",
            perfdata=[{"key": "time", "value": "3s"}],
            last_update=NOW,
            last_change=NOW - 50,
            scheduled=Window(NOW - 10, 100, "move"),
            unscheduled=Window(NOW - 5, 60, "seen"),
            initial_failure_delay=10,
            last_notifications={"problem": NOW - 20, "critical": NOW - 20},
        ),
        Status(id="no:check"),
    ]


async def test_an_acknowledgement_ends_with_its_key_whatever_was_recorded(store: Store) -> None:
    await maintenance.create_unscheduled(store, HTTP, NOW - 5, 60, "seen", NOW)
    await store.call("DEL", KEYS.unscheduled(*split_id(HTTP)))
    (status,) = await history.check_states(store, [HTTP], NOW)
    assert status.unscheduled is None


async def test_a_plan_counts_from_its_beginning_to_its_end(store: Store) -> None:
    await maintenance.create_scheduled(store, HTTP, NOW + 10, 100, "", NOW)
    for moment, is_in in [
        (NOW + 9, False),
        (NOW + 10, True),
        (NOW + 109, True),
        (NOW + 110, False),
    ]:
        [status] = await history.check_states(store, [HTTP], moment)
        assert (status.scheduled is not None) is is_in


async def test_a_window_that_only_its_key_knows_counts(store: Store) -> None:
    await store.call("SET", KEYS.scheduled(*split_id(HTTP)), NOW - 40, "EX", 60)
    [status] = await history.check_states(store, [HTTP], NOW)
    assert status.scheduled == Window(NOW - 40, 100)


async def test_many_checks_are_read_in_their_order(store: Store) -> None:
    names = [f"web-{i}:HTTP" for i in range(450)]
    for i, name in enumerate(names):
        await store.call("HSET", KEYS.current(*split_id(name)), "state", "ok", "last_change", i)
    found = await history.check_states(store, names, NOW)
    assert [(status.id, status.last_change) for status in found] == [
        (name, i) for i, name in enumerate(names)
    ]


async def test_changes_are_read_by_range_and_by_number(store: Store) -> None:
    await recorded.check(store, HTTP, [(10, "ok"), (20, "critical", "down"), (30, "ok", "up")])
    await store.call("SET", KEYS.details(*split_id(HTTP), 20), "why")
    await store.call("SET", KEYS.latency(*split_id(HTTP), 20), "0.25")
    first, second, third = (
        Change(10, "ok", None, None, 7),
        Change(20, "critical", "down", "why", 7, 0.25),
        Change(30, "ok", "up", None, 7),
    )
    assert await history.state_changes(store, HTTP, None, None) == [first, second, third]
    assert await history.state_changes(store, HTTP, 20, 30) == [second, third]
    assert await history.state_changes(store, HTTP, None, 29, 1) == [second]
    assert await history.one_before(store, HTTP, 20) == first
    assert await history.one_before(store, HTTP, 10) is None
    found = [one async for one in history.histories(store, [HTTP, DISK], 30, 40)]
    assert found == [(HTTP, [second, third]), (DISK, [])]


async def test_notifications_come_with_the_state_that_they_told_of(store: Store) -> None:
    await recorded.notified(store, HTTP, "problems", 10, 20, 30)
    await recorded.notified(store, HTTP, "warnings", 10)
    await recorded.notified(store, HTTP, "criticals", 20)
    await recorded.notified(store, HTTP, "recoveries", 40)
    await recorded.notified(store, HTTP, "tests", 50)
    assert await history.notifications(store, HTTP, 11, 40) == [
        Notified(20, "problem", "critical"),
        Notified(30, "problem"),
        Notified(40, "recovery"),
    ]
    assert len(await history.notifications(store, HTTP, None, None)) == 5


async def test_actions_are_read_in_their_order(store: Store) -> None:
    fields: list[Argument] = [
        30,
        "acknowledgement",
        4,
        "test_notifications",
        200,
        "acknowledgement",
    ]
    await store.call("HSET", KEYS.actions(*split_id(HTTP)), *fields)
    assert await history.actions(store, HTTP, None, 100) == [
        (4, "test_notifications"),
        (30, "acknowledgement"),
    ]


async def test_failing_checks_are_listed_the_latest_first(store: Store) -> None:
    for name, time, state in [("a:x", 10, "critical"), ("b:x", 30, "unknown"), ("c:x", 40, "ok")]:
        await recorded.check(store, name, [(time, state)])
    assert await history.failing(store) == [("b:x", 30), ("a:x", 10)]


async def test_alerts_are_found_by_check_and_by_contact(store: Store) -> None:
    await recorded.alert(store, "1", 10, "alice", HTTP)
    await recorded.alert(store, "2", 20, "bob", HTTP)
    await recorded.alert(store, "3", 30, "alice", DISK)
    await store.call("DEL", KEYS.alert("3"))
    assert [one.id for one in await history.alerts(store)] == ["2", "1"]
    assert [one.id for one in await history.alerts(store, event_id=HTTP, limit=1)] == ["2"]
    assert [one.id for one in await history.alerts(store, contact="alice")] == ["1"]
    assert [one.id for one in await history.alerts(store, event_id=HTTP, contact="bob")] == ["2"]
    [one] = await history.alerts(store, event_id=HTTP, end=15)
    assert (one.timestamp, one.contact, one.media, one.check) == (10, "alice", "email", HTTP)


async def test_bytes_that_are_no_text_or_no_number_stop_nothing(store: Store) -> None:
    entity, check = split_id(HTTP)
    await recorded.check(store, HTTP, [(10, "ok")])
    current = KEYS.current(entity, check)
    await store.call("HSET", current, "summary", b"\xff\x00", "last_update", "x", "perfdata", "[")
    await store.call("ZADD", KEYS.state_times(entity, check), 20, b"\xff", "inf", "nan")
    await store.call("ZADD", KEYS.scheduled_windows(entity, check), "inf", 5, 7, b"\xfe")
    await store.call("ZADD", KEYS.all_checks(), 1, b"\xff\xfe")
    await store.call("RPUSH", KEYS.problems(entity, check), "x", 5)
    assert [c.timestamp for c in await history.state_changes(store, HTTP, None, None)] == [10]
    assert await history.notifications(store, HTTP, None, None) == [Notified(5, "problem")]
    [status] = await history.check_states(store, [HTTP], NOW)
    assert (status.last_update, status.perfdata, status.summary) == (None, [], "\ufffd\x00")
    assert await maintenance.windows(store, HTTP, "scheduled") == []
    assert HTTP in await history.find(store, "*")


async def test_a_check_with_a_key_of_a_wrong_type_hides_no_other(store: Store) -> None:
    await recorded.check(store, "a:x", [(10, "ok")])
    await store.call("RPUSH", KEYS.current("b", "x"), "what?")
    found = await history.check_states(store, ["b:x", "a:x"], NOW)
    assert [status.id for status in found] == ["a:x"]
    await store.call("DEL", KEYS.current("b", "x"))
