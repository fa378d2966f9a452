"""A fleet that is gone can't tell what it misses: somebody else does."""

import json
from typing import Any

from tests.cron.crew import READING, definition, put
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM, SetClock
from watchbell.cron import jobs
from watchbell.cron.instances import InstancePresence, first_beat
from watchbell.cron.keys import CronOwn, CronUpstream
from watchbell.cron.unattended_jobs import UnattendedJobs
from watchbell.settings import Cron as CronSettings
from watchbell.store.client import Store

SETTINGS = CronSettings(heartbeat=10)


def hourly() -> dict[str, str]:
    """Half an hour from now, so that no fire comes while a test runs."""
    second = (int(SYSTEM.now()) + 1800) % 3600
    return {"hour": "*", "minute": str(second // 60), "second": str(second % 60)}


async def overdue(store: Store, name: str, hours: int = 3, **options: Any) -> None:
    """A job whose last fire that was handled is so long ago."""
    job = await jobs.save(store, name, definition("true", hourly(), **options), READING)
    fires = CronOwn(store.prefix).fired()
    last = int(SYSTEM.now()) - hours * 3600
    await store.call("HSET", fires, name, f"{last}:{job.fingerprint}")


async def told(store: Store) -> list[tuple[str, str, str]]:
    events = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    await store.call("DEL", Alerting(store.prefix).events())
    found = [json.loads(event) for event in events]
    return sorted((one["check"], one["state"], one["summary"]) for one in found)


async def test_a_job_that_nobody_is_there_to_run_is_told_once_per_fire(store: Store) -> None:
    clock = SetClock(1000)
    absence = UnattendedJobs(store, SETTINGS, READING, clock)
    await overdue(store, "backup")
    assert await absence.report() == 0
    clock.advance(14)
    assert await absence.report() == 0
    clock.advance(2)
    assert await absence.report() == 1
    ((check, state, summary),) = await told(store)
    assert (check, state) == ("backup", "critical")
    assert summary.startswith("not run: no instance of cron is running (due 2 hours")
    assert await absence.report() == 0
    await overdue(store, "backup", hours=5)
    assert await absence.report() == 1


async def test_one_instance_is_enough_and_time_begins_anew_when_it_goes(store: Store) -> None:
    clock = SetClock(1000)
    absence = UnattendedJobs(store, SETTINGS, READING, clock)
    await overdue(store, "backup")
    await absence.report()
    clock.advance(60)
    beat = first_beat("one", store.url, 1)
    await InstancePresence(store, lambda: beat, 10).report()
    assert await absence.report() == 0
    await store.call("DEL", CronUpstream(store.prefix).instances())
    assert await absence.report() == 0
    clock.advance(16)
    assert await absence.report() == 1


async def test_nobody_is_told_of_jobs_that_missed_nothing(store: Store) -> None:
    clock = SetClock(1000)
    absence = UnattendedJobs(store, SETTINGS, READING, clock)
    await overdue(store, "quiet", alert=False)
    await overdue(store, "patient", grace=86_400)
    await overdue(store, "asleep")
    await jobs.pause(store, "asleep", READING)
    await jobs.save(store, "new", definition("true", hourly()), READING)
    await put(store, "everywhere", definition("true", hourly(), lock=False))
    await put(store, "broken", {"cron_args": 5})
    job = await jobs.save(store, "spoilt", definition("true", hourly()), READING)
    spoilt = "x" * 30 + f":{job.fingerprint}"
    await store.call("HSET", CronOwn(store.prefix).fired(), "spoilt", spoilt)
    await put(store, "unseen", definition("true", hourly()))
    await absence.report()
    clock.advance(60)
    assert await absence.report() == 0
    assert await told(store) == []
