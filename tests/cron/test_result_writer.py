"""Results in the store: once, complete, within their bounds, and however long that takes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from tests import servers
from tests.conftest import watched
from tests.faults.proxy import Mode, Proxy
from tests.waiting import eventually
from watchbell import ids
from watchbell.alerting.keys import Alerting
from watchbell.cron import history
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import Record, Status, decoded, encoded, lock_of
from watchbell.cron.result_writer import Outcome, ResultWriter
from watchbell.cron.run_results import RunResult
from watchbell.runs.output_lines import Lines
from watchbell.runs.writer import RunWriter
from watchbell.store.client import Store

KEYS, OWN = Cron(), CronOwn()


@asynccontextmanager
async def writing(
    store: Store, *, least_hold: int = 0, **options: Any
) -> AsyncIterator[RunWriter[RunResult, Outcome]]:
    usual = {"most": 10_000, "most_of_job": 1_000, "most_events": 1_000, "as_list": False}
    results = ResultWriter(store, **{**usual, **options})
    results.least_hold = least_hold
    writer = RunWriter(results.write)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(writer.run())
        yield writer
        task.cancel()


def record(status: Status = "running", job: str = "backup", start: float = 1000.0) -> Record:
    return Record(job_name=job, start_time=start, host="web-1", status=status)


async def begin(store: Store, run: str, job: str = "backup") -> None:
    await store.call("HSET", KEYS.runs(), run, msgspec.json.encode(record(job=job)))
    await store.call("ZADD", KEYS.active(), 1000, run)


def final(run: str, status: Status = "success", job: str = "backup", **more: Any) -> RunResult:
    ended = msgspec.structs.replace(record(status, job), duration=1.5, output="x\n", retcode=0)
    verdict = "success" if status == "success" else "fail"
    raw = encoded(ended, upstream=False)
    return RunResult(
        run, job, more.pop("lock", ""), verdict, raw, b"{}", **{"score": 1001.5, **more}
    )


async def test_an_end_is_written_once_with_all_that_goes_with_it(anywhere: Store) -> None:
    keys, own, run = Cron(anywhere.prefix), CronOwn(anywhere.prefix), ids.token()
    lock = lock_of("backup")
    await anywhere.call("HSET", keys.runs(), run, msgspec.json.encode(record()))
    await anywhere.call("ZADD", keys.active(), 1000, run)
    await anywhere.call("SET", keys.lock(lock), run, "PX", 60_000)
    async with writing(anywhere) as writer:
        assert await writer.finish(final(run, lock=lock, event=b"{}")) is Outcome.DONE
        assert await writer.finish(final(run, lock=lock, event=b"{}")) is Outcome.DONE
    done = decoded(await anywhere.call("HGET", keys.runs(), run))
    assert done is not None
    assert (done.status, done.duration, done.output) == ("success", 1.5, "x\n")
    for key in (keys.results("success"), keys.job_results("backup", "success")):
        assert float(await anywhere.call("ZSCORE", key, run)) == 1001.5
    assert await anywhere.call("EXISTS", keys.active(), keys.lock(lock)) == 0
    assert await anywhere.call("HGET", own.details(), run) == b"{}"
    assert await anywhere.call("LLEN", Alerting(anywhere.prefix).events()) == 1


async def test_a_run_that_was_declared_frozen_stays_so(store: Store) -> None:
    run, lock = ids.token(), lock_of("backup")
    await begin(store, run)
    await store.call("SET", KEYS.lock(lock), run, "PX", 60_000)
    async with writing(store) as writer:
        assert await writer.finish(final(run, "frozen")) is Outcome.DONE
        assert await writer.finish(final(run, "success", lock=lock)) is Outcome.OVER
    assert await store.call("ZSCORE", KEYS.results("fail"), run) is not None
    assert await store.call("ZSCORE", KEYS.results("success"), run) is None
    assert await store.call("EXISTS", KEYS.lock(lock)) == 0


async def test_a_run_that_is_gone_leaves_no_result(store: Store) -> None:
    await store.call("ZADD", KEYS.active(), 1000, "gone", 1000, "junk")
    await store.call("HSET", KEYS.runs(), "junk", b"\xff[")
    async with writing(store) as writer:
        assert await writer.finish(final("gone")) is Outcome.GONE
        assert await writer.finish(final("junk")) is Outcome.OVER
    assert await store.call("EXISTS", KEYS.active(), KEYS.results("success")) == 0


async def test_another_s_lock_is_left_alone(store: Store) -> None:
    run, lock = ids.token(), lock_of("backup")
    await begin(store, run)
    await store.call("SET", KEYS.lock(lock), "another", "PX", 60_000)
    async with writing(store) as writer:
        await writer.finish(final(run, lock=lock))
    assert await store.call("GET", KEYS.lock(lock)) == b"another"


async def test_a_sign_of_life_keeps_a_run_from_being_frozen(store: Store) -> None:
    run = ids.token()
    await begin(store, run)
    async with writing(store) as writer:
        assert await writer.finish(final(run, "frozen", stale="999.0")) is Outcome.ALIVE
        assert await writer.finish(final(run, "frozen", stale="1000.5")) is Outcome.DONE


async def test_the_fire_that_waits_for_the_lock_is_next(store: Store) -> None:
    run, lock = ids.token(), lock_of("backup")
    await begin(store, run)
    await store.call("SET", KEYS.lock(lock), run, "PX", 60_000)
    await store.call("RPUSH", OWN.waiting(lock), "first", "second")
    await store.call("SADD", OWN.awaited(), lock)
    await store.call("RPUSH", OWN.pending(), "other")
    told: list[int] = []
    async with writing(store, on_pending=told.append) as writer:
        await writer.finish(final(run, lock=lock))
    assert told == [2]
    assert await store.call("LRANGE", OWN.pending(), 0, -1) == [b"first", b"other"]
    assert await store.call("SISMEMBER", OWN.awaited(), lock) == 1


async def test_results_stay_within_their_bounds_with_all_that_belongs_to_them(store: Store) -> None:
    async with writing(store, most=8, most_of_job=5) as writer:
        for n in range(20):
            run, job = f"{n:032x}", f"job{n % 2}"
            await begin(store, run, job)
            writer.print(run, Lines(0, [(1000, b"1\tx\n")]))
            await writer.finish(final(run, job=job, score=1000.0 + n))
    kept = [f"{n:032x}".encode() for n in range(10, 20)]
    assert await store.call("ZRANGE", KEYS.results("success"), 0, -1) == kept[2:]
    for n in (0, 1):
        key = KEYS.job_results(f"job{n}", "success")
        assert await store.call("ZRANGE", key, 0, -1) == kept[n::2]
    assert sorted(await store.call("HKEYS", KEYS.runs())) == kept
    assert sorted(await store.call("HKEYS", OWN.details())) == kept
    assert await store.call("EXISTS", *(KEYS.output(run.decode()) for run in kept)) == 10
    assert await store.call("EXISTS", *(KEYS.output(f"{n:032x}") for n in range(10))) == 0


async def test_a_limit_that_was_lowered_is_reached_in_slices(store: Store) -> None:
    key, general = KEYS.job_results("backup", "success"), KEYS.results("success")
    for start in range(0, 10_000, 1_000):
        runs = [f"{n:032x}" for n in range(start, start + 1_000)]
        scored = [word for n, run in enumerate(runs, start) for word in (n, run)]
        await store.call("ZADD", key, *scored)
        await store.call("ZADD", general, *scored)
        await store.call("HSET", KEYS.runs(), *[word for run in runs for word in (run, "{}")])
    async with writing(store, most=100, most_of_job=10) as writer:
        for n in range(25):
            run = ids.token()
            await begin(store, run)
            assert await writer.finish(final(run, score=20_000.0 + n)) is Outcome.DONE
    assert await store.call("ZCARD", key) == 10
    assert await store.call("ZCARD", general) == 10
    assert await store.call("HLEN", KEYS.runs()) == 10


@pytest.mark.parametrize("as_list", [False, True])
async def test_lines_are_read_back_as_they_were_printed(store: Store, as_list: bool) -> None:
    texts = [b"a\n", b"a\n", b"\xff\x00\r", b"", b"x" * 70_000 + b"\n", b"end"]
    run = ids.token()
    many = [b"%d\n" % n for n in range(3_000)]
    async with writing(store, as_list=as_list) as writer:
        before = 0
        for piece in (texts, many):
            scored = [
                (1000 + n, text if as_list else b"%d\t%b" % (n, text))
                for n, text in enumerate(piece, before + 1)
            ]
            writer.print(run, Lines(before, scored))
            before += len(piece)
        await begin(store, run)
        await writer.finish(final(run))
    found = await history.output(store, run).lines()
    while page := await history.output(store, run).lines(found[-1]):
        found += page
    assert [line.text for line in found] == texts + many
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    assert await history.output(store, run).tail(2) == "2998\n2999\n"
    assert 86_000_000 < await store.call("PTTL", KEYS.output(run)) <= 86_400_000


async def test_a_list_gets_no_line_twice_although_the_answer_was_lost(store: Store) -> None:
    run = ids.token()
    lines = Lines(0, [(1, b"a\n"), (2, b"b\n")])
    more = Lines(1, [(2, b"b\n"), (3, b"c\n")])
    await begin(store, run)
    async with writing(store, as_list=True) as writer:
        writer.print(run, lines)
        writer.print(run, lines)
        writer.print(run, more)
        await writer.finish(final(run))
    assert await store.call("LRANGE", KEYS.output(run), 0, -1) == [b"a\n", b"b\n", b"c\n"]


async def test_older_lines_are_taken_out_of_a_sorted_set(store: Store) -> None:
    run = ids.token()
    await begin(store, run)
    async with writing(store) as writer:
        writer.print(run, Lines(0, [(n, b"%d\tx" % n) for n in range(1, 9)]))
        writer.print(run, Lines(8, [], (2, 7)))
        await writer.finish(final(run))
    assert [line.number for line in await history.output(store, run).lines()] == [1, 2, 7, 8]


async def test_keys_of_a_wrong_type_stop_nobody_else(store: Store) -> None:
    one, other = ids.token(), ids.token()
    await begin(store, one)
    await begin(store, other, "report")
    await store.call("HSET", KEYS.job_results("backup", "success"), "not", "ours")
    await store.call("HSET", KEYS.output(one), "not", "ours")
    async with writing(store) as writer:
        writer.print(one, Lines(0, [(1, b"1\tx")]))
        assert await writer.finish(final(one)) is Outcome.DONE
        assert await writer.finish(final(other, job="report")) is Outcome.DONE
    assert await store.call("ZCARD", KEYS.results("success")) == 2
    await store.call("DEL", KEYS.job_results("backup", "success"), KEYS.output(one))


async def test_what_the_store_can_t_take_is_kept_and_written_in_order(folder: Any) -> None:
    with servers.single(folder) as single, Proxy((servers.HOST, single.server.port)) as proxy:
        async for store in watched(proxy.url):
            run = ids.token()
            await begin(store, run)
            async with writing(store) as writer:
                writer.print(run, Lines(0, [(1, b"1\tbefore\n")]))
                await eventually(lambda: not writer.unwritten)
                proxy.set(Mode.RESET)
                writer.print(run, Lines(1, [(2, b"2\tduring\n")]))
                async with asyncio.TaskGroup() as group:
                    end = group.create_task(writer.finish(final(run)))
                    await eventually(lambda: len(writer.left()) == 2)
                    proxy.set(Mode.PASS)
                assert end.result() is Outcome.DONE
                assert not writer.left()
            texts = [line.text for line in await history.output(store, run).lines()]
            assert texts == [b"before\n", b"during\n"]
