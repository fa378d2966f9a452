"""What people do with jobs, and what is seen of them."""

import json
from typing import Any

import pytest

from tests.cron.crew import EVERY_SECOND, READING, definition, put
from watchbell.cron import history, jobs, overview
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.last_handled import PAUSED
from watchbell.cron.model import Invalid
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.store.live import Gap, listen

KEYS, OWN = Cron(), CronOwn()
NOW = 1_763_208_000
NIGHTLY = definition("pg_dump shop", {"cronstring": "30 2 * * *"})


async def stored(store: Store, name: str) -> Any:
    return json.loads(await store.call("HGET", KEYS.jobs(), name))


async def said_by(store: Store, *acts: Any) -> list[Any]:
    """What is heard on the channel while these are done."""
    heard = []
    channel = KEYS.commands()
    async for item in listen(store, channel):
        if isinstance(item, Gap):
            for act in acts:
                await act
            await store.call("PUBLISH", channel, "end")
        elif item.body == b"end":
            break
        else:
            heard.append(json.loads(item.body))
    return heard


async def test_a_job_is_saved_announced_edited_and_removed(store: Store) -> None:
    heard = await said_by(
        store,
        jobs.save(store, "backup", NIGHTLY, READING),
        jobs.save(store, "backup", NIGHTLY, READING, "known"),
        jobs.remove(store, "backup"),
    )
    add = {"action": "add", "args": {"job_name": "backup", "job_def": NIGHTLY}}
    remove = {"action": "remove", "args": "backup"}
    assert heard == [add, remove, add, remove]
    assert await store.call("DBSIZE") == 0


async def test_what_is_not_valid_is_refused_with_every_reason_and_changes_nothing(
    store: Store,
) -> None:
    await jobs.save(store, "backup", NIGHTLY, READING)
    bad = {"cron_args": {"hour": "25"}, "job_args": {"cmd": "", "lock": True, "ttl": 1}}
    with pytest.raises(Refused, match=r"job 'backup': cron_args\.hour: .*; job_args\.cmd: "):
        await jobs.save(store, "backup", bad, READING)
    assert (await stored(store, "backup"))["job_args"]["cmd"] == "pg_dump shop"


async def test_new_and_known_jobs_are_told_apart_where_that_is_asked(store: Store) -> None:
    with pytest.raises(NotFound, match="no job 'backup'"):
        await jobs.save(store, "backup", NIGHTLY, READING, "known")
    await jobs.save(store, "backup", NIGHTLY, READING, "new")
    with pytest.raises(Refused, match="there is a job 'backup' already"):
        await jobs.save(store, "backup", NIGHTLY, READING, "new")


@pytest.mark.parametrize(
    "act",
    [
        lambda store: jobs.remove(store, "nobody"),
        lambda store: jobs.pause(store, "nobody", READING),
        lambda store: jobs.resume(store, "nobody", READING),
        lambda store: jobs.trigger(store, "nobody"),
        lambda store: jobs.validate(store, ["nobody"], READING),
        lambda store: jobs.terminate(store, "nobody"),
        lambda store: jobs.kill(store, "nobody"),
        lambda store: overview.shown(store, "nobody", READING, NOW),
        lambda store: history.run(store, "nobody"),
    ],
)
async def test_what_does_not_exist_is_not_found(store: Store, act: Any) -> None:
    with pytest.raises(NotFound, match="nobody"):
        await act(store)


async def test_where_nobody_listens_a_trigger_is_refused(store: Store) -> None:
    await jobs.save(store, "backup", NIGHTLY, READING)
    with pytest.raises(Refused, match="no instance of cron is running"):
        await jobs.trigger(store, "backup")
    with pytest.raises(Refused, match="no instance of cron is running"):
        await jobs.drain(store, ["web-1"])


async def test_pause_and_resume_are_kept_in_both_places(store: Store) -> None:
    await jobs.save(store, "backup", NIGHTLY, READING)
    heard = await said_by(
        store, jobs.pause(store, "backup", READING), jobs.pause(store, "all", READING)
    )
    assert [command["action"] for command in heard] == ["pause", "pause"]
    assert (await stored(store, "backup"))["job_state"] == {"paused": True}
    assert await store.call("SMEMBERS", KEYS.paused()) == {b"backup"}
    assert (await store.call("HGET", OWN.fired(), "backup")).endswith(f":{PAUSED}".encode())
    assert await jobs.resume(store, "all", READING) == ["backup"]
    assert "job_state" not in await stored(store, "backup")
    assert await store.call("EXISTS", KEYS.paused()) == 0
    assert not (await store.call("HGET", OWN.fired(), "backup")).endswith(f":{PAUSED}".encode())


async def test_an_edit_keeps_the_mark_unless_the_schedule_changes(store: Store) -> None:
    await jobs.save(store, "backup", NIGHTLY, READING)
    first = await store.call("HGET", OWN.fired(), "backup")
    old = b"1000:" + first.partition(b":")[2]
    await store.call("HSET", OWN.fired(), "backup", old)
    await jobs.save(store, "backup", definition("true", NIGHTLY["cron_args"]), READING)
    assert await store.call("HGET", OWN.fired(), "backup") == old
    await jobs.save(store, "backup", definition("true", EVERY_SECOND), READING)
    assert int((await store.call("HGET", OWN.fired(), "backup")).partition(b":")[0]) > 1000


async def test_a_job_that_comes_back_has_missed_nothing(store: Store) -> None:
    await jobs.save(store, "backup", NIGHTLY, READING)
    first = await store.call("HGET", OWN.fired(), "backup")
    await store.call("HSET", OWN.fired(), "backup", b"1000:" + first.partition(b":")[2])
    await store.call("HDEL", KEYS.jobs(), "backup")  # as others remove a job
    await jobs.save(store, "backup", NIGHTLY, READING)
    assert int((await store.call("HGET", OWN.fired(), "backup")).partition(b":")[0]) > 1000


async def test_validation_writes_errors_into_definitions_and_takes_them_out(store: Store) -> None:
    bad = definition("", {"second": "61"}) | {"job_state": {"paused": True}}
    await put(store, "bad", bad)
    await put(store, "healed", NIGHTLY | {"job_state": {"validation_errors": "x"}})
    await store.call("HSET", KEYS.jobs(), "junk", b"\xff", b"\xfe", b"5")
    found = await jobs.validate(store, [], READING)
    assert [name for name, job in found.items() if not isinstance(job, Invalid)] == ["healed"]
    state = (await stored(store, "bad"))["job_state"]
    assert state["paused"] is True
    assert "cron_args.second: expected 0 to 59" in state["validation_errors"]
    assert "job_args.cmd: expected the command" in state["validation_errors"]
    assert await stored(store, "healed") == NIGHTLY
    assert await store.call("HGET", KEYS.jobs(), "junk") == b"\xff"
    await put(store, "bad", NIGHTLY | {"job_state": state})
    await jobs.validate(store, ["bad"], READING)
    assert (await stored(store, "bad"))["job_state"] == {"paused": True}


async def test_jobs_are_listed_with_where_they_stand(store: Store) -> None:
    await put(store, "backup", NIGHTLY)
    await put(store, "asleep", NIGHTLY | {"job_state": {"paused": True}})
    await put(store, "bad", definition("", {"second": "61"}))
    await store.call("HSET", KEYS.jobs(), "junk", b"\xff")
    await store.call("SADD", KEYS.paused(), "bad")
    done = {"job_name": "backup", "start_time": 5.0, "host": "web-1", "status": "fail"}
    await store.call("HSET", KEYS.runs(), "r1", json.dumps(done), "r2", json.dumps(done))
    await store.call("HSET", KEYS.runs(), "r3", json.dumps(done | {"status": "running"}))
    await store.call("ZADD", KEYS.job_results("backup", "fail"), 7, "r1", 9, "r2", 11, "gone")
    await store.call("ZADD", KEYS.active(), 9, "r3", 10, "orphan")
    found = {one.name: one for one in await overview.listed(store, READING, NOW)}
    assert list(found) == ["asleep", "backup", "bad", "junk"]
    backup = found["backup"]
    assert backup.next_fire == NOW + 14 * 3600 + 1800
    assert backup.definition == NIGHTLY
    assert backup.running == ("r3",)
    assert backup.last is None  # the newest result is of a run that is gone
    await store.call("ZREM", KEYS.job_results("backup", "fail"), "gone")
    last = (await overview.shown(store, "backup", READING, NOW)).last
    assert last is not None
    assert (last.id, last.ended) == ("r2", 9)
    assert (found["asleep"].is_paused, found["asleep"].next_fire) == (True, None)
    assert found["bad"].is_paused
    assert len(found["bad"].errors) == 2
    assert found["junk"].definition is None
    assert "not JSON" in found["junk"].errors[0].text


async def test_removing_a_job_takes_its_history_along_and_no_other(store: Store) -> None:
    await jobs.save(store, "backup", NIGHTLY, READING)
    for n in range(1_200):
        job = "backup" if n % 2 else "other"
        run = f"{n:032x}"
        await store.call("HSET", KEYS.runs(), run, "{}")
        await store.call("ZADD", KEYS.job_results(job, "fail"), n, run)
        await store.call("ZADD", KEYS.results("fail"), n, run)
    await jobs.remove(store, "backup")
    assert await store.call("HLEN", KEYS.runs()) == 600
    assert await store.call("ZCARD", KEYS.results("fail")) == 600
    assert await store.call("EXISTS", KEYS.job_results("backup", "fail")) == 0
