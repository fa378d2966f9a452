"""Bounded history: what is old or too much goes, everything that is still needed stays."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.alerting import recorded
from tests.waiting import eventually
from watchbell import settings as all_settings
from watchbell.alerting import history, maintenance
from watchbell.alerting.keys import NOTIFICATIONS, Alerting, AlertingOwn
from watchbell.alerting.model import split_id
from watchbell.alerting.purge import (
    DAY,
    Oldest,
    Purged,
    Records,
    Superfluous,
    purge,
    removal,
    superfluous,
)
from watchbell.alerting.windows import Window
from watchbell.clock import SetClock
from watchbell.roles import purger
from watchbell.roles.role import Context
from watchbell.settings import Alerting as Policy
from watchbell.store.client import Store

NOW = 1_700_000_000
CHECK = "web-1:Disk: /var"
KEYS = Alerting()
POLICY = Policy(history_days=10, history_changes=1000, alert_days=5)
CUTOFF = NOW - 10 * DAY


def silent(done: Purged) -> None:
    """Progress that nobody watches."""


def records(
    changes: list[int], windows: list[Window] | None = None, others: list[int] | None = None
) -> Records:
    some = Oldest(len(others or []), others or [])
    return Records(
        changes=Oldest(len(changes), changes),
        notifications={"problems": some},
        windows={"scheduled": (len(windows or []), windows or [])},
        actions=some,
        old_alerts=0,
    )


@pytest.mark.parametrize(
    ("changes", "most", "gone"),
    [
        ([], 10, []),
        ([CUTOFF - 9], 10, []),
        ([CUTOFF - 9, CUTOFF - 8], 10, [CUTOFF - 9]),
        ([CUTOFF - 9, CUTOFF], 10, [CUTOFF - 9]),
        ([CUTOFF - 9, CUTOFF + 1], 10, []),
        ([CUTOFF - 9, CUTOFF - 8, CUTOFF + 1], 10, [CUTOFF - 9]),
        ([NOW - 3, NOW - 2, NOW - 1], 2, [NOW - 3]),
        ([NOW - 3, NOW - 2, NOW - 1], 1, [NOW - 3, NOW - 2]),
        ([NOW - 3, NOW - 2, NOW - 1], 3, []),
    ],
)
def test_a_state_goes_once_its_end_is_too_long_ago_and_the_newest_never(
    changes: list[int], most: int, gone: list[int]
) -> None:
    policy = Policy(history_days=10, history_changes=most)
    assert superfluous(records(changes), policy, NOW).changes == gone


@pytest.mark.parametrize(
    ("times", "most", "gone"),
    [
        ([CUTOFF - 1, CUTOFF, CUTOFF + 1], 10, [CUTOFF - 1]),
        ([NOW - 2, NOW - 1, NOW], 2, [NOW - 2]),
    ],
)
def test_notifications_and_actions_go_by_age_and_by_number(
    times: list[int], most: int, gone: list[int]
) -> None:
    policy = Policy(history_days=10, history_changes=most)
    found = superfluous(records([], others=times), policy, NOW)
    assert (found.notifications, found.actions) == ({"problems": gone}, gone)


@pytest.mark.parametrize(
    ("windows", "most", "gone"),
    [
        ([Window(CUTOFF - 10, 9)], 10, [CUTOFF - 10]),
        ([Window(CUTOFF - 10, 10)], 10, []),
        ([Window(0, NOW + 1)], 10, []),
        ([Window(NOW - 9, 1), Window(NOW - 5, 1)], 1, [NOW - 9]),
        ([Window(NOW - 9, 99), Window(NOW - 5, 1)], 1, []),
        ([Window(NOW + 9, 1), Window(NOW + 19, 1)], 1, []),
    ],
)
def test_windows_go_by_their_end_and_only_when_they_are_over(
    windows: list[Window], most: int, gone: list[int]
) -> None:
    policy = Policy(history_days=10, history_changes=most)
    assert superfluous(records([], windows), policy, NOW).windows == {"scheduled": gone}


@given(st.sets(st.integers(CUTOFF - 50, CUTOFF + 50)), st.integers(1, 60))
def test_what_is_kept_is_the_newest_and_tells_the_state_of_every_kept_moment(
    times: set[int], most: int
) -> None:
    changes = sorted(times)
    policy = Policy(history_days=10, history_changes=most)
    gone = superfluous(records(changes), policy, NOW).changes
    kept = [time for time in changes if time not in gone]
    assert changes[len(gone) :] == kept
    assert len(kept) <= most
    assert bool(kept) == bool(changes)
    if len(kept) < most and gone:
        assert kept[0] <= CUTOFF


def test_nothing_to_remove_is_no_command() -> None:
    nothing = Superfluous(changes=[], notifications={"problems": []}, windows={}, actions=[])
    assert removal(KEYS, CHECK, nothing) == []


async def test_old_records_go_whole_and_the_rest_stays(store: Store) -> None:
    entity_check = split_id(CHECK)
    old, newer = [NOW - 30 * DAY, NOW - 20 * DAY], [NOW - 15 * DAY, NOW - DAY]
    states = [(time, ("ok", "critical")[i % 2], f"{i}") for i, time in enumerate(old + newer)]
    await recorded.check(store, CHECK, states)
    for time in old + newer:
        await store.call("SET", KEYS.details(*entity_check, time), "long")
        await store.call("SET", KEYS.latency(*entity_check, time), "0.1")
        await store.call("HSET", KEYS.actions(*entity_check), time, "acknowledgement")
        await maintenance.create_scheduled(store, CHECK, time, 60, "plan", time)
        await maintenance.create_unscheduled(store, CHECK, time, 60, "ack", time)
        await maintenance.end_unscheduled(store, CHECK, time + 60, time)
        await maintenance.end_scheduled(store, CHECK, time, time + 59)
    await maintenance.create_scheduled(store, CHECK, NOW - 40 * DAY, 100 * DAY, "for ever", NOW)
    for family in NOTIFICATIONS.values():
        await recorded.notified(store, CHECK, family, *old, *newer)
    done = await purge(store, POLICY, NOW, silent)
    assert done == Purged(checks=1, changes=2, notifications=21, windows=6, actions=3)
    kept = await history.state_changes(store, CHECK, None, None)
    assert [change.timestamp for change in kept] == newer
    assert await store.call("LRANGE", KEYS.states(*entity_check), 0, -1) == [
        str(time).encode() for time in newer
    ]
    gone = [
        named(*entity_check, time)
        for time in old
        for named in (KEYS.state, KEYS.summary, KEYS.details, KEYS.count, KEYS.latency)
    ]
    assert await store.call("EXISTS", *gone) == 0
    assert await history.actions(store, CHECK, None, None) == [(newer[1], "acknowledgement")]
    assert {told.timestamp for told in await history.notifications(store, CHECK, None, None)} == {
        newer[1]
    }
    planned = await maintenance.windows(store, CHECK, "scheduled")
    assert [window.start for window in planned] == [NOW - 40 * DAY, newer[1]]
    assert await purge(store, POLICY, NOW, silent) == Purged(checks=1)


async def test_a_history_of_many_steps_is_cut_to_its_number(store: Store) -> None:
    times = list(range(NOW - 1000, NOW))
    await recorded.check(store, CHECK, [(time, "ok") for time in times])
    await recorded.notified(store, CHECK, "problems", *times, *times)
    actions = [part for time in times for part in (time, "acknowledgement")]
    await store.call("HSET", KEYS.actions(*split_id(CHECK)), *actions)
    policy = Policy(history_changes=10)
    would = await purge(store, policy, NOW, silent, dry_run=True)
    assert would == Purged(checks=1, changes=990, notifications=1990, actions=990)
    assert await store.call("LLEN", KEYS.states(*split_id(CHECK))) == 1000
    assert await purge(store, policy, NOW, silent) == would
    kept = await history.state_changes(store, CHECK, None, None)
    assert [change.timestamp for change in kept] == times[-10:]
    assert await store.call("LLEN", KEYS.states(*split_id(CHECK))) == 10
    assert await store.call("LLEN", KEYS.problems(*split_id(CHECK))) == 10


async def test_one_check_can_be_purged_alone(store: Store) -> None:
    for name in ("a:x", "b:x"):
        await recorded.check(store, name, [(1, "ok"), (2, "critical"), (3, "ok")])
    assert await purge(store, POLICY, NOW, silent, ids=["a:x"]) == Purged(checks=1, changes=2)
    assert len(await history.state_changes(store, "b:x", None, None)) == 3


async def test_old_alerts_leave_every_index(store: Store) -> None:
    await recorded.check(store, CHECK, [(1, "critical")])
    for i in range(1200):
        await store.call("ZADD", KEYS.alerts(), NOW - 6 * DAY, f"many-{i}")
        await store.call("ZADD", KEYS.alerts_by_contact("bob"), NOW - 6 * DAY, f"many-{i}")
    await recorded.alert(store, "old", NOW - 5 * DAY - 1, "al*ce", CHECK)
    await recorded.alert(store, "new", NOW - 5 * DAY, "al*ce", CHECK)
    assert (await purge(store, POLICY, NOW, silent, dry_run=True)).alerts == 1201
    assert (await purge(store, POLICY, NOW, silent)).alerts == 1201
    for index in (
        KEYS.alerts(),
        KEYS.alerts_by_contact("al*ce"),
        KEYS.alerts_by_medium("al*ce", "email"),
        KEYS.alerts_by_check(*split_id(CHECK)),
    ):
        assert await store.call("ZRANGE", index, 0, -1) == [b"new"]
    assert await store.call("EXISTS", KEYS.alerts_by_contact("bob"), KEYS.alert("old")) == 0


async def test_hours_whose_archive_is_gone_are_forgotten(store: Store) -> None:
    gone, there = KEYS.archive("2023111400"), KEYS.archive("2023111401")
    await store.call("SADD", KEYS.archives(), gone, there)
    await store.call("LPUSH", there, "{}")
    await store.call("EXPIRE", there, 600)
    assert (await purge(store, POLICY, NOW, silent, dry_run=True)).archives == 1
    assert (await purge(store, POLICY, NOW, silent)).archives == 1
    assert await store.call("SMEMBERS", KEYS.archives()) == {there.encode()}


async def test_a_purge_that_was_stopped_goes_on_where_it_was(store: Store) -> None:
    names = [f"web-{i}:HTTP" for i in range(120)]
    for name in names:
        await recorded.check(store, name, [(1, "ok"), (2, "critical"), (3, "ok")])

    def stop(done: Purged) -> None:
        assert done.checks == 20
        raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        await purge(store, POLICY, NOW, stop)
    left = await purge(store, POLICY, NOW, silent)
    assert left.changes == 200
    for name in names:
        assert len(await history.state_changes(store, name, None, None)) == 1


async def test_a_key_of_a_wrong_type_stops_no_purge(store: Store) -> None:
    for name in ("a:x", "b:x"):
        await recorded.check(store, name, [(1, "ok"), (2, "critical")])
    await store.call("SET", KEYS.problems("a", "x"), "what?")
    assert (await purge(store, POLICY, NOW, silent)).changes == 1
    await store.call("DEL", KEYS.problems("a", "x"))


async def test_of_two_purgers_one_works_and_the_other_takes_over(store: Store) -> None:
    settings = all_settings.load(None, {"HOME": "/nonexistent"}, {}).settings
    said: dict[str, str] = {}

    def context(name: str) -> Context:
        return Context(settings, store, SetClock(NOW), lambda words: said.update({name: words}))

    await recorded.check(store, CHECK, [(1, "ok"), (2, "ok")])
    async with asyncio.TaskGroup() as group:
        first = group.create_task(purger.run(context("first"), 3600, 0.01, 60))
        await eventually(lambda: "within its bounds" in said.get("first", ""))
        second = group.create_task(purger.run(context("second"), 3600, 0.01, 60))
        await eventually(lambda: "another" in said.get("second", ""))
        assert await store.call("EXISTS", AlertingOwn().purging()) == 1
        first.cancel()
        await eventually(lambda: "within its bounds" in said["second"])
        second.cancel()
    assert len(await history.state_changes(store, CHECK, None, None)) == 1
