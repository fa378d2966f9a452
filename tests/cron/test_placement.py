"""Jobs that may run only on some hosts, or on instances with some tags."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.cron.crew import EVERY_SECOND, definition, ended, now, put, running, serving, until
from tests.waiting import eventually
from watchbell.alerting.keys import Alerting
from watchbell.cron import jobs, pending_fires
from watchbell.cron.claims import Claims
from watchbell.cron.fire_scripts import Caller
from watchbell.cron.fires import Claim
from watchbell.cron.instances import instances, pending
from watchbell.cron.keys import CronOwn
from watchbell.cron.model import lock_of
from watchbell.cron.placement import Placement, Site, obstacle, permits, refusal
from watchbell.errors import Refused
from watchbell.store.client import Store

HERE = socket.gethostname()
WEB = Site("web-1", ("eu", "gpu"))


@pytest.mark.parametrize(
    ("placement", "reason"),
    [
        (Placement(), ""),
        (Placement(hosts=("web-1", "web-2")), ""),
        (Placement(hosts=("WEB-1",)), ""),
        (Placement(tags=("gpu", "eu")), ""),
        (Placement(("web-1",), ("gpu",)), ""),
        (Placement(hosts=("web-2",)), "web-1 is not among its hosts (web-2)"),
        (Placement(tags=("eu", "us")), "web-1 lacks the tag us"),
        (Placement(("web-1",), ("us",)), "web-1 lacks the tag us"),
        (Placement(("web-2",), ("gpu",)), "web-1 is not among its hosts (web-2)"),
    ],
)
def test_an_instance_needs_one_of_the_hosts_and_all_tags(placement: Placement, reason: str) -> None:
    assert refusal(placement, WEB) == reason
    assert permits(placement, WEB) is (reason == "")


def test_a_job_that_no_instance_may_run_has_an_obstacle_with_the_reasons() -> None:
    gpu = Placement(tags=("gpu",))
    assert obstacle(gpu, [Site("a"), WEB]) == ""
    assert obstacle(gpu, [Site("a"), Site("b")]) == (
        "no instance may run it: a lacks the tag gpu; b lacks the tag gpu"
    )
    assert obstacle(gpu, []) == ""
    assert obstacle(Placement(), [Site("a")]) == ""


async def test_each_fire_runs_once_and_only_where_it_may(store: Store, folder: Path) -> None:
    await put(store, "tick", definition("true", EVERY_SECOND, tags=["gpu"]))
    async with serving(store, folder / "one"), serving(store, folder / "two", tags=("gpu", "eu")):
        [gpu] = [beat.name for beat in await instances(store) if beat.tags]
        runs = await ended(store, "tick", 3)
    assert {run.detail.instance for run in runs} == {gpu}
    fires = [run.detail.fire for run in runs]
    assert len(fires) == len(set(fires))


async def test_a_trigger_is_left_to_an_instance_that_may_run_it(store: Store, folder: Path) -> None:
    await put(store, "locked", definition("true", tags=["gpu"]))
    await put(store, "free", definition("true", lock=False, tags=["gpu"]))
    await put(store, "here", definition("true", hosts=[HERE.upper()]))
    async with serving(store, folder / "one"), serving(store, folder / "two", tags=("gpu",)):
        [gpu] = [beat.name for beat in await instances(store) if beat.tags]
        for name in ("locked", "free", "here"):
            await jobs.trigger(store, name)
            await ended(store, name)
        runs = [run for name in ("locked", "free") for run in await ended(store, name)]
    assert [run.detail.instance for run in runs] == [gpu, gpu]


async def test_a_fire_without_a_free_place_waits_for_one_that_may_run_it(
    store: Store, folder: Path
) -> None:
    gate = folder / "gate"
    await put(store, "long", definition(until(gate), tags=["gpu"]))
    await put(store, "next", definition("true", tags=["gpu"]))
    settings: dict[str, Any] = {"tags": ("gpu",), "capacity": 1}
    async with serving(store, folder / "one"), serving(store, folder / "two", **settings):
        [gpu] = [beat.name for beat in await instances(store) if beat.tags]
        await jobs.trigger(store, "long")
        await running(store, "long")
        await jobs.trigger(store, "next")
        await eventually(lambda: store.call("SCARD", CronOwn().pools()))
        gate.touch()
        [run] = await ended(store, "next")
    assert run.detail.instance == gpu


async def test_a_trigger_is_refused_while_all_that_may_run_it_are_drained(store: Store) -> None:
    await put(store, "train", definition("true", tags=["gpu"]))
    for name, tags in (("one", []), ("two", ["gpu"])):
        beat = {"name": name, "host": name, "ip": "", "pid": 1, "seen": await now(store)}
        said = json.dumps({**beat, "tags": tags, "is_drained": bool(tags)})
        await store.call("HSET", CronOwn().instances(), name, said)
    with pytest.raises(Refused, match="every instance that may run it is drained"):
        await jobs.trigger(store, "train")


async def test_what_waits_for_other_instances_is_not_taken(store: Store) -> None:
    pool = json.dumps({"hosts": [], "tags": ["gpu"]}, separators=(",", ":"))
    item = {
        "fire": 1,
        "job": "a",
        "lock": lock_of("a"),
        "ttl": 1000,
        "overlap": "skip",
        "is_kept": False,
    }
    gpu = Claims(Caller(store, "gpu", "web-1", upstream=False, most_events=1_000, tags=("gpu",)))
    other = Claims(Caller(store, "other", "web-2", upstream=False, most_events=1_000))
    claim = Claim("a", 1, "1:f", "r1", json.dumps({**item, "pool": pool}))
    answers, *_ = await gpu.claim([claim], 0)
    assert answers == [-2]
    assert await pending(store) == 1
    _, waiting = await pending_fires.look(other.call)
    assert waiting == 0
    assert (await other.take(["r2"]))[0] == []
    _, waiting = await pending_fires.look(gpu.call)
    assert waiting == 1
    [begun], _, _ = await gpu.take(["r3"])
    assert begun.run == "r3"
    assert (await pending_fires.look(gpu.call))[1] == 0
    assert await store.call("EXISTS", CronOwn().pools()) == 0


async def test_a_job_that_no_instance_may_run_is_reported_with_the_reason(
    store: Store, folder: Path
) -> None:
    await put(store, "train", definition("true", EVERY_SECOND, tags=["gpu"], grace=0))
    async with serving(store, folder):
        with pytest.raises(Refused, match=r"no instance may run it: .* lacks the tag gpu"):
            await jobs.trigger(store, "train")
        events = Alerting(store.prefix).events()
        [raw, *_] = await eventually(lambda: store.call("LRANGE", events, 0, -1), 60)
    event = json.loads(raw)
    assert (event["entity"], event["check"], event["state"]) == ("cron", "train", "critical")
    assert "no instance may run it" in event["summary"]
    assert "lacks the tag gpu" in event["summary"]
