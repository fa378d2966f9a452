"""Failed runs that are tried again: when, how often, by which instance, and what is reported."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cron.crew import READING, definition, ended, omitted, put, running, serving, until
from tests.cron.fleet import Fleet, check_invariants
from tests.faults.invariants import check, run_once
from tests.waiting import eventually
from watchbell import ids
from watchbell.alerting.keys import Alerting
from watchbell.cron import jobs, pending_fires
from watchbell.cron.claims import Claims
from watchbell.cron.fire_scripts import Caller
from watchbell.cron.fires import following
from watchbell.cron.keys import CronOwn
from watchbell.cron.model import Begun, Fire, Job
from watchbell.cron.retries import LONGEST_DELAY, Policy, Verdict, verdict
from watchbell.cron.validation import from_fields
from watchbell.store.client import Store

THREE = Policy(retries=3, delay=10, factor=3)


async def events(store: Store) -> list[dict[str, Any]]:
    """What was reported to alerting, the oldest first."""
    found = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    return [json.loads(one) for one in found[::-1]]


async def waiting(store: Store) -> int:
    count: int = await store.call("ZCARD", CronOwn(store.prefix).retries_due())
    return count


async def hurry(store: Store) -> None:
    """Makes the retry that waits due at once."""
    due = CronOwn(store.prefix).retries_due()
    await eventually(lambda: waiting(store), why="a retry that waits")
    for key in await store.call("ZRANGE", due, 0, -1):
        await store.call("ZADD", due, "XX", 0, key)


@pytest.mark.parametrize(
    ("policy", "attempt", "more", "expected"),
    [
        (THREE, 1, {}, Verdict.RETRY),
        (THREE, 3, {}, Verdict.RETRY),
        (THREE, 4, {}, Verdict.EXHAUSTED),
        (Policy(), 1, {}, Verdict.EXHAUSTED),
        (None, 1, {}, Verdict.NOT_RUNNABLE),
        (THREE, 1, {"succeeded": True}, Verdict.SUCCEEDED),
        (THREE, 1, {"cancelled": True}, Verdict.CANCELLED),
    ],
)
def test_a_failure_is_tried_again_while_attempts_are_left(
    policy: Policy | None, attempt: int, more: dict[str, bool], expected: Verdict
) -> None:
    assert verdict(policy, attempt, **{"succeeded": False, **more}) is expected


def test_each_pause_is_longer_than_the_one_before_up_to_a_day() -> None:
    assert [THREE.pause(attempt) for attempt in (1, 2, 3)] == [10, 30, 90]
    assert Policy(retries=9, delay=5, factor=1).pause(9) == 5
    assert Policy(retries=100, delay=60, factor=100).pause(100) == LONGEST_DELAY


def job(**options: Any) -> Job:
    made = from_fields("backup", definition("false", **options))
    assert isinstance(made, Job)
    return made


def test_the_next_attempt_is_of_the_same_fire_and_waits_for_its_lock() -> None:
    found = following(job(retries=2, retry_delay=5), Fire(fire=90, job="backup"), "i", 100.0)
    assert found is not None
    made = json.loads(found.fire)
    assert found.at == 105
    assert (made["fire"], made["why"], made["attempt"], made["attempts"]) == (90, "retry", 2, 3)
    assert made["overlap"] == "each"
    assert "only_on" not in made


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"retries": -1}, "watchbell.retries"),
        ({"retries": 101}, "watchbell.retries"),
        ({"retry_delay": 0}, "watchbell.retry_delay"),
        ({"retry_factor": 0.5}, "watchbell.retry_factor"),
        ({"hosts": "web-1"}, "watchbell.hosts"),
        ({"tags": ["a b"]}, "watchbell.tags"),
        ({"output_limit": 0}, "watchbell.output_limit"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(options: dict[str, Any], field: str) -> None:
    made = from_fields("backup", definition("false", **options))
    assert not isinstance(made, Job)
    assert made.text.startswith(field)


async def test_a_failed_run_is_tried_again_until_it_succeeds(store: Store, folder: Path) -> None:
    cmd = (
        f"echo $WB_ATTEMPT $WB_FIRE; test -e {folder}/there || {{ touch {folder}/there; exit 3; }}"
    )
    await put(store, "flaky", definition(cmd, retries=2, retry_delay=3600))
    async with serving(store, folder):
        await jobs.trigger(store, "flaky")
        [first] = await ended(store, "flaky")
        assert await events(store) == []
        await hurry(store)
        first, second = await ended(store, "flaky", 2)
    assert [first.record.status, second.record.status] == ["fail", "success"]
    fire = first.detail.fire
    assert first.record.output == f"1 {fire}\n"
    assert second.record.output == f"2 {fire}\n"
    assert (second.detail.attempt, second.detail.attempts, second.detail.why) == (2, 3, "retry")
    assert first.detail.retry_at > first.record.start_time + 3599
    assert second.detail.retry_at == 0
    [event] = await events(store)
    assert event["state"] == "ok"
    assert "attempt 2 of 3" in event["summary"]
    assert await store.call("EXISTS", CronOwn().retries(), CronOwn().retries_due()) == 0


async def test_only_the_last_failure_is_reported(store: Store, folder: Path) -> None:
    await put(store, "broken", definition("exit 4", retries=1, retry_delay=3600))
    async with serving(store, folder):
        await jobs.trigger(store, "broken")
        await hurry(store)
        await ended(store, "broken", 2)
        found = await eventually(lambda: events(store))
    assert [event["state"] for event in found] == ["critical"]
    assert found[0]["summary"].startswith("exit code 4")
    assert found[0]["summary"].endswith("attempt 2 of 2")


async def test_a_run_that_a_person_ended_is_not_tried_again(store: Store, folder: Path) -> None:
    await put(store, "long", definition("sleep 600", retries=5))
    async with serving(store, folder):
        await jobs.trigger(store, "long")
        [run] = await running(store, "long")
        await jobs.kill(store, run.id[:12])
        [seen] = await ended(store, "long")
    assert seen.record.retcode == -9
    assert await waiting(store) == 0
    assert len(await events(store)) == 1


async def test_a_later_run_takes_the_place_of_the_retry_and_the_failure_is_reported(
    store: Store, folder: Path
) -> None:
    cmd = f"test -e {folder}/there"
    await put(store, "flaky", definition(cmd, retries=3, retry_delay=3600))
    async with serving(store, folder):
        await jobs.trigger(store, "flaky")
        [failed] = await ended(store, "flaky")
        (folder / "there").touch()
        await jobs.trigger(store, "flaky")
        await ended(store, "flaky", 2)
        states = [event["state"] for event in await events(store)]
    assert states == ["critical", "ok"]
    assert await waiting(store) == 0
    assert await omitted(store, "flaky") == [failed.detail.fire]


async def test_a_paused_job_is_not_tried_again_and_the_failure_is_reported(
    store: Store, folder: Path
) -> None:
    await put(store, "broken", definition("false", retries=3, retry_delay=3600))
    async with serving(store, folder):
        await jobs.trigger(store, "broken")
        await eventually(lambda: waiting(store))
        await jobs.pause(store, "broken", READING)
        await hurry(store)
        [event] = await eventually(lambda: events(store))
    assert event["state"] == "critical"
    assert len(await omitted(store, "broken")) == 1


async def test_a_job_that_every_instance_runs_is_tried_again_where_it_failed(
    store: Store, folder: Path
) -> None:
    cmd = f"test -e {folder}/$PPID && exit 0; touch {folder}/$PPID; exit 1"
    await put(store, "each", definition(cmd, lock=False, retries=1, retry_delay=3600))
    async with serving(store, folder / "one"), serving(store, folder / "two"):
        await jobs.trigger(store, "each")
        await eventually(lambda: _two_wait(store))
        await hurry(store)
        runs = await ended(store, "each", 4)
    first, second = runs[:2], runs[2:]
    assert {run.record.status for run in second} == {"success"}
    assert {run.detail.instance for run in first} == {run.detail.instance for run in second}
    assert {event["state"] for event in await events(store)} == {"ok"}


async def _two_wait(store: Store) -> bool:
    return await waiting(store) == 2


async def test_a_run_whose_instance_is_killed_is_tried_again_once_by_another(
    store: Store, folder: Path
) -> None:
    fleet = Fleet(store.url.redacted(), folder)
    try:
        one = fleet.start()
        await fleet.ready(store, one)
        said = fleet.job(0, {"cronstring": "@never"}, ttl=6, retries=2, retry_delay=1)
        said["job_args"]["cmd"] += f"; {until(folder / 'gate')}"  # type: ignore[index]
        await put(store, "long", said)
        await jobs.reload(store)
        await jobs.trigger(store, "long")
        await eventually(lambda: fleet.rows("long"))
        two = fleet.start()
        await fleet.ready(store, two)
        one.kill()
        (folder / "gate").touch()
        frozen, again = await ended(store, "long", 2)
        assert frozen.record.status == "frozen"
        assert (again.record.status, again.detail.attempt) == ("success", 2)
        rows = fleet.rows("long")
        check(run_once([frozen.id, again.id], [row.run for row in rows]))
        assert [row.overlaps for row in rows] == [False, False]
        assert [event["state"] for event in await events(store)] == ["ok"]
        await check_invariants(store)
    finally:
        fleet.end()


async def test_a_retry_that_is_due_is_handed_out_once_whoever_looks(anywhere: Store) -> None:
    own = CronOwn(anywhere.prefix)
    fleet = [
        Claims(Caller(anywhere, f"i{n}", "web-1", upstream=False, most_events=9)) for n in range(8)
    ]
    retry = following(job(retries=1), Fire(fire=90, job="backup", is_kept=False), "i0", 0.0)
    assert retry is not None
    kept = json.dumps({"fire": retry.fire.decode(), "event": ""})
    await anywhere.call("HSET", own.retries(), "backup", kept)
    await anywhere.call("ZADD", own.retries_due(), 0, "backup")

    async def tried(fires: Claims) -> list[Begun]:
        await pending_fires.look(fires.call)
        return (await fires.take([ids.token(), ids.token()]))[0]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(tried(fires)) for fires in fleet]
    begun = [one for task in tasks for one in task.result()]
    assert [(one.fire.why, one.fire.attempt) for one in begun] == [("retry", 2)]
    assert await anywhere.call("EXISTS", own.retries(), own.retries_due()) == 0


async def test_a_retry_outlives_every_instance(store: Store, folder: Path) -> None:
    await put(store, "flaky", definition(f"test -e {folder}/there", retries=1, retry_delay=3600))
    async with serving(store, folder / "one"):
        await jobs.trigger(store, "flaky")
        await eventually(lambda: waiting(store), why="a retry that waits")
    (folder / "there").touch()
    await hurry(store)
    async with serving(store, folder / "two"):
        first, second = await ended(store, "flaky", 2)
    assert (first.record.status, second.record.status) == ("fail", "success")
    assert first.detail.instance != second.detail.instance
    assert [event["state"] for event in await events(store)] == ["ok"]
