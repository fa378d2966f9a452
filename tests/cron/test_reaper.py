"""What instances that are gone left behind is ended, recorded and cleared away."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cron.crew import definition, put, say, serving
from tests.waiting import eventually
from watchbell.alerting.keys import Alerting
from watchbell.cron import history, reaper
from watchbell.cron.claims import Claims
from watchbell.cron.fire_scripts import Caller
from watchbell.cron.keys import Cron, CronOwn, CronUpstream
from watchbell.cron.model import Beat
from watchbell.store.client import Store

KEYS, OWN = Cron(), CronOwn()


async def abandoned(store: Store, run: str, record: Any, age: float = 60) -> None:
    """A run of an instance that is gone."""
    time = float((await store.call("TIME"))[0])
    if record is not None:
        raw = record if isinstance(record, bytes) else json.dumps(record)
        await store.call("HSET", KEYS.runs(), run, raw)
    await store.call("ZADD", KEYS.active(), time - age, run)


def record(**fields: Any) -> dict[str, Any]:
    return {
        "job_name": "backup",
        "start_time": 1000.0,
        "host": "old",
        "status": "running",
        **fields,
    }


async def no_more_active(store: Store, count: int = 0) -> bool:
    return bool(await store.call("ZCARD", KEYS.active()) == count)


async def test_runs_without_heartbeat_are_frozen_in_either_form(store: Store, folder: Path) -> None:
    await abandoned(store, "ours", record(retcode=None, output=None, duration=None))
    await store.call(
        "ZADD", KEYS.output("ours"), *(x for n in range(15) for x in (n, f"{n}\tl{n}\n"))
    )
    await store.call("PEXPIRE", KEYS.output("ours"), 60_000)
    await abandoned(store, "theirs", record(start_time="1000.500000"))
    await store.call("RPUSH", KEYS.output("theirs"), "start\n")
    await abandoned(store, "silent", record())
    await abandoned(store, "alive", record(), age=-3600)
    async with serving(store, folder, heartbeat=1):
        await say(store, "pause", "all")
        await eventually(lambda: no_more_active(store, 1), 20)
        assert await store.call("ZRANGE", KEYS.active(), 0, -1) == [b"alive"]
    found = {seen.id: seen.record for seen in await history.ended(store, "backup")}
    assert {run: one.status for run, one in found.items()} == dict.fromkeys(
        ("ours", "theirs", "silent"), "frozen"
    )
    assert found["ours"].output == "".join(f"l{n}\n" for n in range(5, 15))
    assert found["theirs"].output == "start\n"
    assert found["silent"].output == ""
    assert (found["theirs"].retcode, found["theirs"].start_time) == (None, 1000.5)
    assert (found["ours"].duration or 0) > 10**9
    assert await store.call("EXISTS", KEYS.results("success")) == 0
    told = [json.loads(one) for one in await store.call("LRANGE", Alerting().events(), 0, -1)]
    assert {(one["check"], one["state"]) for one in told} == {("backup", "critical")}
    assert "no heartbeat from old" in told[0]["summary"]


async def test_what_is_active_without_a_record_is_cleared_away(store: Store, folder: Path) -> None:
    await abandoned(store, "orphan", None)
    await abandoned(store, "junk", b"\xff[")
    await abandoned(store, "shape", b"5")
    await abandoned(store, "endless", record(start_time="inf"))
    await store.call("HSET", KEYS.runs(), b"\xff", json.dumps(record()))
    await store.call("ZADD", KEYS.active(), 5, b"\xff", 6, b"\xfe")
    for n in range(150):
        await abandoned(store, f"orphan{n}", None)
    async with serving(store, folder, heartbeat=1):
        await eventually(lambda: no_more_active(store), 20)
    assert await history.ended(store) == []


async def test_an_instance_that_is_gone_is_taken_off_the_lists(store: Store, folder: Path) -> None:
    gone = Beat(name="gone", host="old", ip="192.0.2.1", pid=1, seen=1000.0)
    await store.call("HSET", OWN.instances(), "gone", msgspec.json.encode(gone), "junk", b"\xff")
    await store.call("ZADD", CronUpstream().instances(), 1000, '{"host":"old","ip":"192.0.2.1"}')
    waiting = (
        '{"fire":1000,"why":"schedule","job":"everywhere","lock":"","ttl":0,"overlap":"allow"}'
    )
    await store.call("RPUSH", OWN.own_pending("gone"), *[waiting] * 3)
    async with serving(store, folder, heartbeat=1):

        async def only_one() -> bool:
            ours = await store.call("HLEN", OWN.instances())
            return bool(ours == await store.call("ZCARD", CronUpstream().instances()) == 1)

        await eventually(only_one, 20)
    left = await history.omissions(store, "everywhere")
    assert [one.first for one in left] == [1000] * 3
    assert "the instance gone ended before its turn came" in left[0].reason
    assert await store.call("EXISTS", OWN.own_pending("gone")) == 0


async def test_marks_of_jobs_that_are_gone_are_forgotten(store: Store, folder: Path) -> None:
    now = int((await store.call("TIME"))[0])
    await put(store, "kept", definition("true"))
    await store.call("HSET", OWN.fired(), "gone", "1000:x", "kept", "1000:x", "young", f"{now}:x")
    await store.call("LPUSH", OWN.job_omissions("gone"), "{}")
    async with serving(store, folder, heartbeat=1):

        async def swept() -> bool:
            return not await store.call("HEXISTS", OWN.fired(), "gone")

        await eventually(swept, 20)
    assert sorted(await store.call("HKEYS", OWN.fired())) == [b"kept", b"young"]
    assert await store.call("EXISTS", OWN.job_omissions("gone")) == 0


@pytest.mark.parametrize("wrong", ["5", "{}", '{"fire":"x"}'])
async def test_what_is_no_fire_stops_no_burial(store: Store, wrong: str) -> None:
    await store.call("RPUSH", OWN.own_pending("gone"), wrong)
    await reaper.bury(
        store, Claims(Caller(store, "one", "web-1", upstream=False, most_events=1_000)), "gone"
    )
    assert await store.call("EXISTS", OWN.own_pending("gone")) == 0
