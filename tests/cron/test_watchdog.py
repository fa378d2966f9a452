"""Jobs that hang or starve, and events that nobody takes: one of the fleet reports them, once."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cron.crew import (
    EVERY_SECOND,
    READING,
    definition,
    ended,
    now,
    put,
    running,
    say,
    serving,
    until,
)
from tests.cron.test_fire_claims import claim, fires, job
from tests.cron.test_marks_ahead import mark_ahead, reports
from tests.waiting import eventually
from watchbell.alerting.keys import Alerting
from watchbell.cron import jobs, last_handled, watchdog
from watchbell.cron.fires import JobEntry
from watchbell.cron.instances import instances
from watchbell.cron.keys import CronOwn
from watchbell.cron.watchdog import Watchdog
from watchbell.schedule.agenda import Agenda
from watchbell.settings import Cron as CronSettings
from watchbell.store.client import Store

OWN = CronOwn()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "_EVERY", 0.2)
    monkeypatch.setattr(watchdog, "_LEASE", 100)


async def events(store: Store, check: str) -> list[dict[str, Any]]:
    """The oldest first."""
    found = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    return [one for raw in found[::-1] if (one := json.loads(raw))["check"] == check]


async def states(store: Store, check: str) -> list[str]:
    return [one["state"] for one in await events(store, check)]


async def test_a_job_that_hangs_is_reported_once_and_recovers(store: Store, folder: Path) -> None:
    gate = folder / "gate"
    await put(store, "slow", definition(until(gate), EVERY_SECOND))
    async with serving(store, folder):
        [run] = await running(store, "slow")
        await eventually(lambda: events(store, "slow"), why="a warning")
        [event] = await events(store, "slow")
        assert event["state"] == "warning"
        assert event["summary"].startswith("skipped ")
        assert f" times in a row: its run {run.id[:8]} on " in event["summary"]
        skipped = int((await store.call("HGET", OWN.skipped(), "slow")).partition(b":")[0])

        async def more() -> bool:
            raw = await store.call("HGET", OWN.skipped(), "slow")
            return int(raw.partition(b":")[0]) >= skipped + 3

        await eventually(more)
        assert await states(store, "slow") == ["warning"]
        gate.touch()

        async def is_well() -> bool:
            return (await states(store, "slow"))[-1] == "ok"

        await eventually(is_well)
        await eventually(lambda: _is_empty(store, OWN.overdue()))
    assert (await states(store, "slow"))[:2] == ["warning", "ok"]


async def _is_empty(store: Store, key: str) -> bool:
    return not await store.call("EXISTS", key)


async def test_a_job_that_starves_behind_another_is_reported(store: Store, folder: Path) -> None:
    await put(store, "hog", definition("sleep 600", lock="shared"))
    await put(store, "poor", definition("true", EVERY_SECOND, lock="shared"))
    async with serving(store, folder):
        await jobs.pause(store, "poor", READING)
        await jobs.trigger(store, "hog")
        await running(store, "hog")
        await jobs.resume(store, "poor", READING)
        await eventually(lambda: events(store, "poor"), why="a warning")
    [event] = await events(store, "poor")
    assert event["state"] == "warning"
    assert "of hog on " in event["summary"]


async def test_a_job_whose_last_run_failed_stays_critical(store: Store, folder: Path) -> None:
    gate = folder / "gate"
    command = f"test -e {gate}.1 || {{ touch {gate}.1; exit 3; }}; {until(gate)}"
    await put(store, "bad", definition(command, EVERY_SECOND))
    async with serving(store, folder):

        async def reported() -> bool:
            return "in a row" in ((await events(store, "bad")) or [{"summary": ""}])[-1]["summary"]

        await eventually(reported)
    assert (await states(store, "bad"))[:2] == ["critical", "critical"]


async def test_fires_that_no_instance_begins_are_overdue(store: Store, folder: Path) -> None:
    await put(store, "tick", definition("true", EVERY_SECOND, grace=1))
    async with serving(store, folder, overdue_after=1, missed_grace=1):
        await ended(store, "tick")
        [one] = await _hosts(store)
        await say(store, "drain_nodes", [one])

        async def reported() -> bool:
            return (await states(store, "tick"))[-1] == "warning"

        await eventually(reported)
    assert (await events(store, "tick"))[-1]["summary"].endswith("every instance is drained")


async def _hosts(store: Store) -> list[str]:
    return [beat.host for beat in await instances(store)]


def guard(store: Store, **settings: Any) -> Watchdog:
    agenda = Agenda[JobEntry]()
    agenda.add(JobEntry(job(), mark=0))
    return Watchdog(store, "one", agenda, CronSettings(**settings), lambda: False)


async def test_a_fire_without_a_free_place_is_overdue_and_reported_once(store: Store) -> None:
    fire = await now(store) - 700
    await fires(store).claim([claim(job(), fire)], 0)
    for _ in range(2):
        await guard(store).report_late()
    [event] = await events(store, "backup")
    assert "waits for a free place for 11 minutes" in event["summary"]
    await fires(store).take(["c0ffee"])
    await guard(store).report_late()
    assert await store.call("EXISTS", OWN.overdue()) == 0


async def test_cron_keeps_back_its_events_while_too_many_wait(store: Store, folder: Path) -> None:
    theirs = [json.dumps({"n": n}) for n in range(5)]
    await store.call("LPUSH", Alerting().events(), *theirs)
    await put(store, "tick", definition("exit 3", EVERY_SECOND))
    async with serving(store, folder, most_events=5):
        runs = await ended(store, "tick", 2)
        assert await store.call("LRANGE", Alerting().events(), 0, -1) == [
            one.encode() for one in theirs[::-1]
        ]
        assert await store.call("HKEYS", OWN.unreported()) == [b"cron:tick"]
        await store.call("RPOP", Alerting().events())  # as a processor does
        [event, *_] = await eventually(lambda: events_of_cron(store), why="the latest event")
    assert event["summary"].startswith("exit code 3")
    assert event["time"] >= runs[0].detail.fire
    length = await store.call("LLEN", Alerting().events())
    assert length == 5


async def events_of_cron(store: Store) -> list[dict[str, Any]]:
    found = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    return [one for raw in found if (one := json.loads(raw)).get("entity") == "cron"]


async def test_a_report_of_marks_ends_after_an_hour(store: Store) -> None:
    await mark_ahead(store, "backup", 3_600)
    await guard(store).look()
    await store.call("DEL", OWN.watchdog("marks"))
    await guard(store).look()
    assert [one["state"] for one in await reports(store)] == ["warning"]
    await store.call("HSET", OWN.ahead(), "backup", f"9:{await now(store) - 3_601}")
    assert await last_handled.settle(store, 1_000)
    assert not await last_handled.settle(store, 1_000)
    assert [one["state"] for one in await reports(store)] == ["warning", "ok"]


async def test_a_key_of_a_wrong_type_stops_neither_the_watchdog_nor_the_instance(
    store: Store, folder: Path
) -> None:
    await store.call("SET", OWN.overdue(), "no hash")
    await put(store, "slow", definition("sleep 600", EVERY_SECOND))
    async with serving(store, folder):
        await running(store, "slow")
        await eventually(lambda: store.call("HGET", OWN.skipped(), "slow"))
        await store.call("DEL", OWN.overdue())
        await eventually(lambda: events(store, "slow"), why="a warning")
