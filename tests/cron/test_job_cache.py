"""The board: all jobs as one process knows them, and pages of them."""

import json
from typing import Any

import pytest

from tests.cron.crew import READING, definition, put
from watchbell.clock import SetClock
from watchbell.cron import job_filter
from watchbell.cron.job_cache import KEPT, JobCache
from watchbell.cron.job_filter import JobFilter, Orders, Sort
from watchbell.cron.job_status import AHEAD, JobStatus
from watchbell.cron.keys import Cron
from watchbell.errors import NotFound
from watchbell.store.client import Store

NOW = 1_790_000_000
DAILY = {"cronstring": "0 0 * * *"}
MINUTELY = {"cronstring": "* * * * *"}


def standing(name: str, when: dict[str, Any] | None = None, cmd: str = "true") -> JobStatus:
    said = json.dumps(definition(cmd, when)).encode()
    return JobStatus(name.encode(), said, READING)


async def result(store: Store, job: str, verdict: str, ended: float, run: str) -> None:
    keys = Cron(store.prefix)
    record = {"job_name": job, "start_time": ended - 2, "host": "a", "status": verdict}
    await store.call("HSET", keys.runs(), run, json.dumps(record | {"duration": 2.0}))
    await store.call("ZADD", keys.job_results(job, verdict), ended, run)


def named(orders: Orders, sort: Sort, **wanted: Any) -> list[str]:
    found = job_filter.filtered(orders.of(sort), JobFilter(**wanted))
    return [one.name for _, one in found]


async def test_jobs_are_read_with_where_they_stand(store: Store) -> None:
    await put(store, "fine", definition("true", DAILY))
    await put(store, "broken", {"cron_args": {}})
    await put(store, "failing", definition("false", MINUTELY))
    await store.call("SADD", Cron(store.prefix).paused(), "fine")
    await result(store, "failing", "success", NOW - 20, "a")
    await result(store, "failing", "fail", NOW - 10, "b")
    orders = await JobCache(store, READING, SetClock(NOW)).jobs()
    assert named(orders, "name") == ["broken", "failing", "fine"]
    assert named(orders, "name", paused=True) == ["fine"]
    assert named(orders, "name", invalid=True) == ["broken"]
    assert named(orders, "name", failing=True) == ["failing"]
    assert named(orders, "name", failing=False, invalid=False) == ["fine"]
    assert named(orders, "last")[0] == "failing"
    assert (orders.counts.all, orders.counts.paused, orders.counts.failing) == (3, 1, 1)


async def test_what_was_read_is_good_for_a_while_unless_somebody_says_otherwise(
    store: Store,
) -> None:
    clock = SetClock(NOW)
    board = JobCache(store, READING, clock)
    assert (await board.jobs()).counts.all == 0
    await put(store, "new", definition("true"))
    assert (await board.jobs()).counts.all == 0
    board.forget()
    assert (await board.jobs()).counts.all == 1
    await put(store, "newer", definition("true"))
    clock.advance(KEPT)
    assert (await board.jobs()).counts.all == 2


async def test_a_definition_that_did_not_change_is_not_judged_again(store: Store) -> None:
    board = JobCache(store, READING, SetClock(NOW))
    await put(store, "a", definition("true"))
    before = (await board.jobs()).by_name()[0]
    board.forget()
    assert (await board.jobs()).by_name()[0] is before
    await put(store, "a", definition("false"))
    board.forget()
    assert (await board.jobs()).by_name()[0] is not before


async def test_one_job_is_always_as_it_is_now(store: Store) -> None:
    board = JobCache(store, READING, SetClock(NOW))
    with pytest.raises(NotFound, match="there is no job 'a'"):
        await board.one("a")
    await put(store, "a", definition("true"))
    assert (await board.one("a")).job
    await put(store, "a", {})
    assert (await board.one("a")).errors


async def test_whatever_lies_in_the_store_stops_nothing(store: Store) -> None:
    keys = Cron(store.prefix)
    await store.call("HSET", keys.jobs(), b"\xff\xfe", b"\xff")
    await store.call("HSET", keys.jobs(), "listed", "[1]")
    await put(store, "good", definition("true"))
    await store.call("SET", keys.job_results("good", "fail"), "of a wrong type")
    orders = await JobCache(store, READING, SetClock(NOW)).jobs()
    assert orders.counts.invalid == 2
    assert named(orders, "name", invalid=False) == ["good"]
    await store.call("DEL", keys.job_results("good", "fail"))


def test_words_are_looked_for_in_name_and_command() -> None:
    jobs = [standing("Backup shop", cmd="pg_dump"), standing("tidy", cmd="rm -r /tmp/BACKUP")]
    orders = Orders(jobs, NOW)
    assert named(orders, "name", text="backup") == ["Backup shop", "tidy"]
    assert named(orders, "name", text="backup PG_") == ["Backup shop"]
    assert named(orders, "name", text="nothing") == []


@pytest.mark.parametrize("sort", ["name", "-name", "next", "-next", "last", "-last"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_pages_have_every_job_once(sort: Sort, size: int) -> None:
    jobs = [standing(f"job {n % 5} {n}", DAILY if n % 2 else MINUTELY) for n in range(13)]
    for n, job in enumerate(jobs):
        job.succeeded = NOW - n // 3
    orders = Orders(jobs, NOW)
    whole = [one.name for _, one in orders.of(sort)]
    seen: list[str] = []
    after = None
    while True:
        chosen, after = job_filter.page(orders.of(sort), sort, after, size)
        seen += [one.name for one in chosen]
        if after is None:
            break
    assert seen == whole
    assert len(set(seen)) == 13


def test_by_the_next_fire_the_soonest_comes_first_and_never_last() -> None:
    jobs = [standing("never"), standing("daily", DAILY), standing("minutely", MINUTELY)]
    assert named(Orders(jobs, NOW), "next") == ["minutely", "daily", "never"]


def test_fires_ahead_are_found_once_and_forgotten_as_they_pass() -> None:
    job = standing("a", MINUTELY)
    first = NOW - NOW % 60 + 60
    assert job.next_fire(NOW) == first
    assert list(job.ahead(NOW, until=NOW + 200)) == [first + 60 * n for n in range(4)]
    assert job.next_fire(first) == first + 60
    assert len(job.ahead(first, until=first + 86_400)) == AHEAD
    assert job.next_fire(first + 86_400) == first + 86_460
    job.is_paused = True
    assert list(job.ahead(first, until=first + 86_400)) == []
