"""Marks that lie beyond the present: moved to it once, and reported, and no job stands still."""

import json
from pathlib import Path
from typing import Any

from tests.cron.crew import EVERY_SECOND, definition, ended, now, put, serving
from tests.cron.test_fire_claims import claim, fires, job
from watchbell.alerting.keys import Alerting
from watchbell.cron import last_handled
from watchbell.cron.claims import BEGUN
from watchbell.cron.keys import CronOwn
from watchbell.cron.last_handled import MOST_AHEAD, marked
from watchbell.store.client import Store

OWN = CronOwn()
HOUR = 3_600


async def mark_ahead(store: Store, name: str, seconds: int, fingerprint: str = "") -> int:
    last = await now(store) + seconds
    text = f"{last}:{fingerprint or job(name).fingerprint}"
    await store.call("HSET", CronOwn(store.prefix).fired(), name, text)
    return last


async def reports(store: Store) -> list[dict[str, Any]]:
    found = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    events = [json.loads(one) for one in found[::-1]]
    return [one for one in events if one["check"] == "cron marks"]


async def test_a_fire_is_claimed_once_although_its_mark_lay_ahead(anywhere: Store) -> None:
    backup = job()
    last = await mark_ahead(anywhere, "backup", HOUR)
    fire = await now(anywhere)
    assert (await fires(anywhere, "one").claim([claim(backup, fire)], 5))[0] == [BEGUN]
    assert (await fires(anywhere, "two").claim([claim(backup, fire)], 5))[0] == [fire]
    [report] = await reports(anywhere)
    assert (report["entity"], report["state"]) == ("watchbell", "warning")
    assert (
        "1 job was marked as handled up to 60 min ahead of the store's clock" in report["summary"]
    )
    assert "(backup)" in report["summary"]
    [moved] = await anywhere.call("HVALS", CronOwn(anywhere.prefix).ahead())
    assert moved.startswith(b"%d:" % last)


async def test_a_mark_that_the_present_soon_overtakes_is_left_alone(store: Store) -> None:
    last = await mark_ahead(store, "backup", MOST_AHEAD - 2)
    assert (await fires(store).claim([claim(job(), await now(store))], 5))[0] == [last]
    assert await last_handled.sweep(store, 1_000) == 0
    assert await reports(store) == []


async def test_all_marks_ahead_are_found_and_reported_together(store: Store) -> None:
    for name in ("a", "b", "c", "d"):
        await mark_ahead(store, name, 40 * 86_400)
    await mark_ahead(store, "huge", 10**18)
    await mark_ahead(store, "fine", -5)
    await store.call("HSET", OWN.fired(), "odd", "no mark at all")
    before = await now(store)
    assert await last_handled.sweep(store, 1_000) == 5
    assert await last_handled.sweep(store, 1_000) == 0
    [report] = await reports(store)
    assert "5 jobs were marked" in report["summary"]
    found = await marked(store, [job("a"), job("huge")], paused=set())
    assert all(before <= last <= before + MOST_AHEAD for last in found.values())


async def test_a_job_whose_mark_was_edited_runs_on(store: Store, folder: Path) -> None:
    await put(store, "tick", definition("true", EVERY_SECOND))
    async with serving(store, folder):
        first = (await ended(store, "tick"))[0].detail.fire
        raw = await store.call("HGET", OWN.fired(), "tick")
        await mark_ahead(store, "tick", HOUR, raw.decode().partition(":")[2])
        runs = await ended(store, "tick", 3)
    assert len(await reports(store)) == 1
    fires_run = [seen.detail.fire for seen in runs]
    assert fires_run[0] == first
    assert len(set(fires_run)) == len(fires_run)
