"""Jobs that are removed, by us or by another program: nobody runs them, and their checks settle."""

import json
from pathlib import Path
from typing import Any

from tests.cron.crew import EVERY_SECOND, definition, ended, now, put, running, serving, until
from tests.waiting import eventually
from watchbell.alerting.keys import Alerting
from watchbell.cron import history, jobs
from watchbell.cron.keys import Cron, CronOwn
from watchbell.store.client import Store

KEYS, OWN = Cron(), CronOwn()


async def events(store: Store, job: str) -> list[dict[str, Any]]:
    """The oldest first."""
    found = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    return [one for raw in found[::-1] if (one := json.loads(raw))["check"] == job]


async def test_a_job_that_another_program_deleted_stops_firing(store: Store, folder: Path) -> None:
    await put(store, "tick", definition("false", EVERY_SECOND))
    await put(store, "free", definition("true", EVERY_SECOND, lock=False))
    await put(store, "other", definition("true", EVERY_SECOND))
    async with serving(store, folder):
        await ended(store, "tick")
        await ended(store, "free")
        await store.call("HDEL", KEYS.jobs(), "tick", "free")
        settled = await now(store)

        async def is_settled() -> bool:
            said = await events(store, "tick")
            return said[-1]["state"] == "ok" and not await store.call(
                "HEXISTS", OWN.fired(), "tick"
            )

        await eventually(is_settled, why="the check's recovery")
        known = {seen.detail.fire for seen in await ended(store, "other")}
        await ended(store, "other", len(known) + 3)
        for name in ("tick", "free"):
            fires = [seen.detail.fire for seen in await history.ended(store, name, most=1_000)]
            assert max(fires) <= settled + 1
    assert (await events(store, "tick"))[-1]["summary"] == "the job was removed"


async def test_removing_a_failing_job_settles_its_check(store: Store, folder: Path) -> None:
    await put(store, "bad", definition("false"))
    await put(store, "new", definition("false"))
    async with serving(store, folder):
        await jobs.trigger(store, "bad")
        await ended(store, "bad")
        for name in ("bad", "new"):
            await jobs.remove(store, name)
    assert [one["state"] for one in await events(store, "bad")] == ["critical", "ok"]
    assert await events(store, "new") == []  # it never reported anything


async def test_a_run_that_ends_after_its_job_was_removed_reports_nothing(
    store: Store, folder: Path
) -> None:
    gate = folder / "gate"
    await put(store, "slow", definition(f"{until(gate)}; false"))
    async with serving(store, folder):
        await jobs.trigger(store, "slow")
        [run] = await running(store, "slow")
        await jobs.remove(store, "slow")
        gate.touch()

        async def is_over() -> bool:
            return (await history.run(store, run.id)).record.status == "fail"

        await eventually(is_over)
    assert await events(store, "slow") == []
