"""Minute samples become series and alerts, each once, whatever else is in the store."""

import asyncio
from collections import defaultdict
from random import Random

import pytest

from tests.fleet.monitoring.scenes import HIGH, LOAD, READS, START, Scene, sample
from watchbell.errors import NotFound, Refused
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import AlertRule, Monitor
from watchbell.fleet.monitoring import alerts, latest, series, snoozes
from watchbell.fleet.monitoring.alerts import Query
from watchbell.fleet.monitoring.buckets import RINGS, SIZE, Resolution
from watchbell.fleet.monitoring.state import Turn
from watchbell.store.client import Store

ACTIVE, OVER = ("host-s1:high", "critical"), ("host-s1:high", "ok")


async def values(
    scene: Scene, monitor: str, minutes: int, resolution: Resolution = "hour"
) -> list[float | None]:
    """From the start on."""
    (points,) = await series.read(
        scene.store,
        [("s1", monitor)],
        resolution,
        since=START,
        until=START + (minutes - 1) * 60,
    )
    return points.values


async def test_an_alert_becomes_active_once_and_is_cleared_at_zero(store: Store) -> None:
    scene = Scene(store)
    await scene.put("s1", "main")
    for minute, load in enumerate([1, 9, 9, 9, 1, 9, 1, 1, 1]):
        await scene.see(minute, sample(load))
    assert await scene.reported() == [ACTIVE, OVER]
    assert await scene.queued() == ["alert_new", "alert_cleared"]
    assert await scene.active() == []
    (found,) = (await alerts.search(store, Query(groups=("main",)))).alerts
    assert (found.alert, found.server, found.active) == ("high", "s1", False)
    assert (found.date, found.cleared) == (START + 120, START + 7 * 60)
    assert found.message == "load 9"
    assert found.reason == "2 samples made `monitors.load > 4` true: load 9"
    assert "after 5 minutes" in found.clear_reason


async def test_an_alert_that_ends_before_it_began_has_lasted_no_time(store: Store) -> None:
    scene = Scene(store)
    await scene.put()
    for minute, load in [(0, 9), (1, 9), (-40, 1), (-39, 1)]:  # the clock is set back
        await scene.see(minute, sample(load))
    (found,) = (await alerts.search(store, Query())).alerts
    assert found.clear_reason.endswith("after 0 seconds")


async def test_a_repetition_changes_nothing(store: Store) -> None:
    scene = Scene(store)
    await scene.put()
    for _ in range(2):
        assert await scene.see(0, sample(9)) in ([Turn.NEXT], [Turn.DUPLICATE])
    assert await scene.active() == []
    same = await asyncio.gather(*(scene.see(1, sample(9)) for _ in range(5)))
    assert sorted(turn.name for turns in same for turn in turns) == ["DUPLICATE"] * 4 + ["NEXT"]
    assert await scene.reported() == [ACTIVE]
    assert await values(scene, "load", 2) == [9, 9]
    assert await values(scene, "load", 2, "year") == [9]


async def test_late_samples_and_stepped_clocks_make_no_wrong_sums(store: Store) -> None:
    scene = Scene(store)
    await scene.put()
    for minute in (0, 1, 3):
        await scene.see(minute, sample(minute, minute * 600, 1_000 + minute * 60))
    assert await scene.see(2, sample(100)) == [Turn.LATE]
    # The clock is set back by half an hour, and catches up: minutes that are counted stay.
    assert await scene.see(-30, sample(50, 2_400, 1_240)) == [Turn.SET_BACK]
    for minute in range(-29, 5):
        await scene.see(minute, sample(7, 3_000, 1_300 + 60 * (minute + 29)))
    assert await values(scene, "load", 5) == [0, 1, 7, 3, 7]


async def test_what_counts_makes_no_spike_after_a_gap_or_a_restart(store: Store) -> None:
    scene = Scene(store)
    await scene.put()
    day = 24 * 60
    for minute, reads, uptime in (
        (0, 6_000, 600),
        (1, 12_000, 660),
        (2, 0, 30),  # started anew
        (3, 600, 90),
    ):
        await scene.see(minute, sample(1, reads, uptime))
    assert await values(scene, "reads", 4) == [None, 100, None, 10]
    for minute, reads, uptime in (
        (day, 9_000_000, 90 + 60 * (day - 3)),  # away for a day
        (day + 1, 9_000_600, 150 + 60 * (day - 3)),
    ):
        await scene.see(minute, sample(1, reads, uptime))
    (points,) = await series.read(
        store, [("s1", "reads")], "day", since=START, until=START + (day + 1) * 60
    )
    assert [one for one in points.values if one is not None] == [100, 10, 10]
    assert points.values.count(None) == len(points.values) - 3  # gaps stay gaps


async def test_snoozed_alerts_are_reported_when_the_snooze_ends(store: Store) -> None:
    scene = Scene(store)
    await scene.put()
    await snoozes.begin(store, "high", 300, "alice", START)
    for minute in range(5):
        await scene.see(minute, sample(9))
    (known,) = await scene.active()
    assert not known.notified
    assert (await scene.reported(), await scene.queued()) == ([], ["alert_snoozed"])
    await scene.see(5, sample(9))
    assert (await scene.reported(), await scene.queued()) == ([ACTIVE], ["alert_new"])
    await snoozes.begin(store, snoozes.ALL, 3_600, "alice", START)
    for minute in (6, 7):
        await scene.see(minute, sample(1))
    assert (await scene.reported(), await scene.queued()) == ([OVER], [])


async def test_a_definition_that_fails_stops_no_other(store: Store) -> None:
    broken = Monitor(id="broken", title="Broken", source="load[")
    textual = Monitor(id="textual", title="Textual", source="name")
    bad = AlertRule(id="bad", title="Bad", expression="1 +")
    scene = Scene(store, [broken, textual, LOAD], [bad, HIGH])
    await scene.put()
    for minute in range(2):
        await scene.see(minute, {**sample(9), "name": "web-1"})
    assert await scene.reported() == [ACTIVE]
    assert await values(scene, "load", 2) == [9, 9]
    found = await latest.failures(store, START + 100)
    assert set(found.monitors) == {"broken", "textual"}
    assert "expected a number, got 'web-1'" in found.monitors["textual"].reason
    assert set(found.alerts) == {"bad"}
    assert (await latest.failures(store, START + 1_000)).monitors == {}


@pytest.mark.parametrize("poison", ["nan", "inf", 10**400, [], {"a": 1}, True, None, "x" * 10_000])
async def test_a_poisoned_sample_stops_nothing_else(store: Store, poison: object) -> None:
    scene = Scene(store)
    for server in ("s1", "s2"):
        await scene.put(server)
    await scene.see(0, sample(poison))
    await scene.see(0, {"load": poison, "stats": poison, "uptime_sec": poison}, "s2")
    assert await scene.see(1, sample(3), "s2") == [Turn.NEXT]
    assert await scene.see(1, sample(3)) == [Turn.NEXT]
    assert (await values(scene, "load", 2))[1] == 3


@pytest.mark.parametrize(
    "family",
    ["monitoring", "alerts", "active_alerts", "monitor_errors", "alert_snoozes", "series"],
)
async def test_a_key_of_a_wrong_type_stops_nothing_else(store: Store, family: str) -> None:
    scene = Scene(store)
    await scene.put()
    key = scene.keys.series("s1", "reads") if family == "series" else getattr(scene.keys, family)()
    await store.call("LPUSH" if family != "series" else "SADD", key, "garbage")
    for minute in range(4):
        await scene.see(minute, sample(9, minute * 60, 100 + minute * 60))
    assert await values(scene, "load", 4) == [9] * 4
    expected = [] if family in ("monitoring", "active_alerts") else [ACTIVE]
    assert await scene.reported() == expected
    await latest.states(store, ["s1"])
    await latest.failures(store, START)
    await snoozes.read(store)
    await scene.active()
    await store.call("DEL", key)
    for minute in range(4, 7):
        await scene.see(minute, sample(9, minute * 60, 100 + minute * 60))
    assert len(await scene.active()) == 1


async def test_an_active_alert_is_not_deleted(store: Store) -> None:
    scene = Scene(store)
    await scene.put()
    for minute in range(2):
        await scene.see(minute, sample(9))
    (known,) = await scene.active()
    with pytest.raises(Refused, match="is active"):
        await alerts.delete(store, known.id)
    assert await alerts.limit(store, START + 500 * 86_400) == 0
    for minute in (2, 3):
        await scene.see(minute, sample(1))
    assert await alerts.limit(store, START + 500 * 86_400) == 1
    assert (await alerts.search(store, Query())).alerts == []


async def test_the_oldest_being_active_keeps_no_others_from_being_deleted(store: Store) -> None:
    scene = Scene(store)
    busy = [f"s{number}" for number in range(250)]
    for name in (*busy, "flaps"):
        await scene.put(name)
    for minute in range(2):
        for name in busy:
            await scene.see(minute, sample(9), name)
    for minute, load in enumerate([9, 9, 1, 1] * 2, start=2):
        await scene.see(minute, sample(load), "flaps")
    assert await alerts.limit(store, START, most=251) == 1
    assert await alerts.limit(store, START + 500 * 86_400) == 1
    assert await alerts.limit(store, START + 500 * 86_400, most=1) == 0
    assert {one.server for one in await scene.active()} == set(busy)


async def test_a_record_of_a_wrong_type_counts_as_none_and_is_deleted_in_time(
    store: Store,
) -> None:
    scene = Scene(store)
    await scene.put()
    for minute in range(4):
        await scene.see(minute, sample(9 if minute < 2 else 1))
    (found,) = (await alerts.search(store, Query())).alerts
    key = Fleet("").alert(found.id)
    await store.call("DEL", key)
    await store.call("SET", key, "spoiled")
    with pytest.raises(NotFound):
        await alerts.get(store, found.id)
    assert await alerts.limit(store, START + 500 * 86_400) == 1
    assert await store.call("EXISTS", key) == 0


async def test_a_stale_alert_continues_with_the_next_sample(store: Store) -> None:
    scene = Scene(store, [LOAD, READS])
    await scene.put()
    for minute in range(2):
        await scene.see(minute, sample(9))
    (known,) = await scene.active()
    later = START + 86_400
    assert alerts.state_of(await alerts.get(store, known.id), later) == "stale"
    await scene.see(1_440, sample(9))
    assert alerts.state_of(await alerts.get(store, known.id), later) == "active"
    assert await scene.reported() == [ACTIVE]


async def test_all_resolutions_have_the_averages_of_what_was_seen(store: Store, seed: int) -> None:
    scene, chance = Scene(store, [LOAD], []), Random(seed)
    await scene.put()
    minutes = sorted(chance.sample(range(40_000), 150))
    seen = {START + minute * 60: chance.random() * 100 for minute in minutes}
    for minute, value in zip(minutes, seen.values(), strict=True):
        await scene.see(minute, sample(value))
    end = max(seen)
    for resolution, ring in RINGS.items():
        buckets = defaultdict[int, list[float]](list)
        for at, value in seen.items():
            if end // ring.step - at // ring.step < ring.slots:
                buckets[int(at // ring.step)].append(value)
        (points,) = await series.read(store, [("s1", "load")], resolution, since=0, until=end)
        found = {
            points.start // ring.step + place: value
            for place, value in enumerate(points.values)
            if value is not None
        }
        assert found == {
            bucket: pytest.approx(sum(known) / len(known), abs=1e-3)
            for bucket, known in buckets.items()
        }
    assert await store.call("STRLEN", scene.keys.series("s1", "load")) == SIZE
