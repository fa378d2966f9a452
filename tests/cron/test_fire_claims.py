"""Fires in the store: claimed once, begun once, and none without a trace."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.cron.crew import definition
from watchbell import ids
from watchbell.alerting.keys import Alerting
from watchbell.cron import history, pending_fires
from watchbell.cron.claims import BEGUN, LEFT_OUT, PAUSED, PENDING, QUEUED, TOO_EARLY, Claims
from watchbell.cron.fire_scripts import PATIENCE, Caller
from watchbell.cron.fires import Claim, JobEntry, Left
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.last_handled import MOST_AHEAD, mark, marked
from watchbell.cron.model import Job, Overlap, decoded, lock_of
from watchbell.cron.validation import from_fields
from watchbell.store.client import Store

KEYS, OWN = Cron(), CronOwn()
FIRE = 1_763_208_000


def fires(store: Store, name: str = "one", *, upstream: bool = False) -> Claims:
    return Claims(Caller(store, name, "web-1", upstream=upstream, most_events=1_000))


def job(name: str = "backup", *, lock: bool | str = True, overlap: Overlap | None = None) -> Job:
    said = definition("true", {"second": "*"}, lock=lock, alert=True)
    said["watchbell"]["overlap"] = overlap
    made = from_fields(name, said)
    assert isinstance(made, Job)
    return made


def claim(of: Job, fire: int = FIRE, run: str = "", *, is_kept: bool = False) -> Claim:
    item = JobEntry(of, mark=0, is_kept=is_kept).item(fire, "schedule")
    return Claim(of.name, fire, mark(fire, of), run or ids.token(), item)


def triggered(of: Job) -> str:
    return JobEntry(of, mark=0, is_kept=False).item(FIRE, "trigger")


async def reasons(store: Store, of: str = "") -> list[str]:
    return [omission.reason for omission in await history.omissions(store, of)]


async def test_a_fire_is_claimed_once_by_whomever(anywhere: Store) -> None:
    one, two = fires(anywhere, "one"), fires(anywhere, "two")
    backup = job()
    answers, begun, _ = await one.claim([claim(backup)], 5)
    assert answers == [BEGUN]
    assert begun[0].has_lock
    assert await two.claim([claim(backup)], 5) == ([FIRE], [], 0)
    assert await one.claim([claim(backup)], 5) == ([FIRE], [], 0)
    earlier = claim(backup, FIRE - 3600)
    assert await two.claim([earlier], 5) == ([FIRE], [], 0)  # as after a step back of the clock


async def test_claims_at_the_same_time_give_one_run_each(anywhere: Store) -> None:
    jobs = [job(f"job{n}") for n in range(40)]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(fires(anywhere, f"i{n}").claim([claim(one) for one in jobs], 40))
            for n in range(5)
        ]
    begun = [run.fire.job for task in tasks for run in task.result()[1]]
    assert sorted(begun) == sorted(one.name for one in jobs)


async def soon(store: Store, of: Job) -> Claim:
    """Of a fire whose instant is to come."""
    fire = int((await store.call("TIME"))[0]) + MOST_AHEAD - 1
    return claim(of, fire)._replace(at=f"{fire}.250000")


async def test_a_run_that_is_claimed_ahead_begins_at_its_instant(anywhere: Store) -> None:
    ahead = await soon(anywhere, job())
    answers, [begun], _ = await fires(anywhere).claim([ahead], 1)
    assert answers == [BEGUN]
    assert begun.start == ahead.fire + 0.25
    assert await fires(anywhere).recall([begun.run]) == [begun]
    raw = await anywhere.call("HGET", Cron(anywhere.prefix).runs(), begun.run)
    record = decoded(raw)
    assert record
    assert record.start_time == begun.start
    assert await fires(anywhere, "two").claim([ahead], 1) == ([ahead.fire], [], 0)


@pytest.mark.parametrize("overlap", ["skip", "queue", "allow"])
async def test_a_fire_that_can_not_be_begun_ahead_is_left_for_its_instant(
    store: Store, overlap: Overlap
) -> None:
    backup = job(overlap=overlap)
    ahead = await soon(store, backup)
    assert await fires(store).claim([ahead], 0) == ([TOO_EARLY], [], 0)
    await store.call("SET", KEYS.lock(lock_of("backup")), "another", "PX", 60_000)
    assert await fires(store).claim([ahead], 1) == ([TOO_EARLY], [], 0)
    assert await store.call("EXISTS", OWN.fired(), KEYS.runs(), OWN.omissions()) == 0
    await store.call("DEL", KEYS.lock(lock_of("backup")))
    answers, _, _ = await fires(store).claim([ahead._replace(at="")], 1)
    assert answers == [BEGUN]


async def test_a_run_that_is_begun_is_in_the_store_as_the_document_has_it(store: Store) -> None:
    _, [begun], _ = await fires(store).claim([claim(job("a/b"))], 1)
    raw = await store.call("HGET", KEYS.runs(), begun.run)
    assert msgspec.json.decode(raw) == {
        "job_name": "a/b",
        "start_time": begun.start,
        "host": "web-1",
        "status": "running",
        "retcode": None,
        "output": None,
        "duration": None,
    }
    assert float(await store.call("ZSCORE", KEYS.active(), begun.run)) == begun.start
    assert await store.call("GET", KEYS.lock(lock_of("a/b"))) == begun.run.encode()
    assert 1_000 < await store.call("PTTL", KEYS.lock(lock_of("a/b"))) <= 10_000


async def test_a_run_is_written_as_upstream_writes_it_where_that_is_set(store: Store) -> None:
    _, [begun], _ = await fires(store, upstream=True).claim([claim(job())], 1)
    raw = await store.call("HGET", KEYS.runs(), begun.run)
    start = f"{begun.start:.6f}"
    assert msgspec.json.decode(raw) == {
        "job_name": "backup",
        "start_time": start,
        "host": "web-1",
        "status": "running",
    }
    record = decoded(raw)
    assert record is not None
    assert record.start_time == begun.start


async def test_a_call_whose_answer_was_lost_is_repeated_without_harm(store: Store) -> None:
    one, backup, report = fires(store), job(), job("report")
    claims = [claim(backup), claim(report)]
    _, [begun], pending = await one.claim(claims, 1)
    assert pending == 1
    assert await one.claim(claims, 1) == ([FIRE, FIRE], [], 1)
    assert await one.recall([claim.run for claim in claims]) == [begun]
    everywhere = claim(job("everywhere", lock=False))
    first = await one.claim([everywhere], 1)
    assert await one.claim([everywhere], 1) == first
    names = [ids.token()]
    taken, _, _ = await one.take(names)
    assert (await one.take(names))[0] == taken
    assert [run.fire.job for run in taken] == ["report"]


async def test_a_run_that_was_declared_over_is_not_begun_again(store: Store) -> None:
    one, first = fires(store), claim(job())
    _, [begun], _ = await one.claim([first], 1)
    record = decoded(await store.call("HGET", KEYS.runs(), begun.run))
    assert record is not None
    record.status = "frozen"
    await store.call("HSET", KEYS.runs(), begun.run, msgspec.json.encode(record))
    assert await one.recall([begun.run]) == []
    assert await one.claim([first], 1) == ([FIRE], [], 0)


async def test_what_finds_no_place_waits_for_any_instance_in_order(store: Store) -> None:
    jobs = [job(f"job{n}") for n in range(5)]
    answers, begun, pending = await fires(store).claim([claim(one) for one in jobs], 2)
    assert answers == [BEGUN, BEGUN, PENDING, PENDING, PENDING]
    assert (len(begun), pending) == (2, 3)
    taken, left, bad = await fires(store, "two").take([ids.token(), ids.token()])
    assert [run.fire.job for run in taken] == ["job2", "job3"]
    assert (left, bad) == (1, [])
    assert len(await fires(store, "three").take([ids.token()] * 5)) == 3
    assert await store.call("EXISTS", OWN.pending()) == 0


async def test_a_lock_that_is_held_is_respected_as_the_job_wants_it(store: Store) -> None:
    await store.call("SET", KEYS.lock(lock_of("shared")), "somebody", "PX", 60_000)
    jobs = [
        job("skip", lock="shared"),
        job("queue", lock="shared", overlap="queue"),
        job("allow", lock="shared", overlap="allow"),
    ]
    answers, begun, _ = await fires(store).claim([claim(one) for one in jobs], 5)
    assert answers == [LEFT_OUT, QUEUED, BEGUN]
    assert [(run.fire.job, run.has_lock) for run in begun] == [("allow", False)]
    assert await reasons(store) == ["skipped: the lock is held, a run goes on"]
    assert await store.call("GET", KEYS.lock(lock_of("shared"))) == b"somebody"


async def test_of_a_job_one_fire_waits_for_the_lock(store: Store) -> None:
    queued = job(overlap="queue")
    claims = [claim(queued, FIRE + n) for n in range(3)]
    answers, _, _ = await fires(store).claim(claims, 5)
    assert answers == [BEGUN, QUEUED, LEFT_OUT]
    assert "another run already waits" in (await reasons(store))[0]


async def lapse(store: Store, lock: str) -> None:
    """The run under the lock is gone: the lock lapsed, and so did the notice to the run."""
    await store.call("DEL", KEYS.lock(lock_of(lock)), OWN.holder(lock_of(lock)))


async def test_a_fire_that_waits_is_pending_once_its_lock_has_lapsed(store: Store) -> None:
    queued, one = job(overlap="queue"), fires(store)
    _, [begun], _ = await one.claim([claim(queued, FIRE + n) for n in range(2)], 5)
    assert (await pending_fires.look(one.call))[1] == 0
    await lapse(store, "backup")
    assert (await pending_fires.look(one.call))[1] == 1
    [run], _, _ = await one.take([ids.token()])
    assert (run.fire.fire, run.fire.is_queued) == (FIRE + 1, True)
    assert run.run != begun.run
    assert await store.call("EXISTS", OWN.awaited(), OWN.waiting(lock_of("backup"))) == 0


async def test_a_fire_that_waits_does_not_overtake_the_one_before_it(store: Store) -> None:
    one = fires(store)
    waiting = [job(name, lock="shared", overlap="queue") for name in ("first", "second", "third")]
    assert (await one.claim([claim(of) for of in waiting], 5))[0] == [BEGUN, QUEUED, QUEUED]
    await lapse(store, "shared")
    assert [(await pending_fires.look(one.call))[1] for _ in range(2)] == [1, 1]
    [run], _, _ = await one.take([ids.token()])
    assert run.fire.job == "second"


async def test_a_job_without_lock_is_begun_by_every_instance(store: Store) -> None:
    everywhere = job(lock=False)
    for name in ("one", "two"):
        answers, [begun], _ = await fires(store, name).claim([claim(everywhere)], 1)
        assert answers == [BEGUN]
        assert not begun.has_lock
    assert await store.call("EXISTS", OWN.fired()) == 0


async def test_what_only_one_instance_may_run_waits_for_that_one(store: Store) -> None:
    one = fires(store, "one")
    assert (await one.claim([claim(job(lock=False))], 0))[0] == [PENDING]
    assert (await fires(store, "two").take([ids.token()]))[0] == []
    [run], _, _ = await one.take([ids.token()])
    assert run.fire.job == "backup"


async def test_missed_fires_are_recorded_once_with_their_event(store: Store) -> None:
    backup = job()
    left = Left("backup", FIRE, mark(FIRE, backup), "", FIRE - 60, 2, "missed", '{"x":1}')
    for name in ("one", "two"):
        await fires(store, name).claim([left], 1)
    [omission] = await history.omissions(store, "backup")
    assert (omission.first, omission.last, omission.count) == (FIRE - 60, FIRE, 2)
    assert await history.omissions(store) == [omission]
    assert await store.call("LRANGE", Alerting().events(), 0, -1) == [b'{"x":1}']


async def test_a_count_that_is_not_known_is_none(store: Store) -> None:
    await fires(store).claim([Left("a", FIRE, "", "", FIRE - 1, None, "missed", "")], 0)
    [omission] = await history.omissions(store)
    assert omission.count is None


async def test_while_an_earlier_fire_waits_for_long_later_ones_are_left_out(store: Store) -> None:
    one, backup = fires(store), job()
    for fire in (FIRE, FIRE + 1):
        assert (await one.claim([claim(backup, fire)], 0))[0] == [PENDING]
    first = msgspec.json.decode(await store.call("LINDEX", OWN.pending(), 0))
    first["since"] -= PATIENCE + 1
    await store.call("LSET", OWN.pending(), 0, msgspec.json.encode(first))
    claims = [claim(backup, FIRE + 2), claim(backup, FIRE + 3), claim(job("nightly"), FIRE)]
    assert (await one.claim(claims, 0))[0] == [PENDING, LEFT_OUT, PENDING]
    assert "the fleet has no place free" in (await reasons(store, "backup"))[0]
    taken, _, _ = await one.take([ids.token()])
    assert [run.fire.fire for run in taken] == [FIRE]
    assert (await one.claim([claim(backup, FIRE + 4)], 0))[0] == [PENDING]


async def test_what_waited_for_a_job_that_is_gone_is_recorded(store: Store) -> None:
    one = fires(store)
    await store.call("HSET", KEYS.jobs(), "kept", "{}", "gone", "{}")
    claims = [claim(job(name), is_kept=True) for name in ("gone", "kept")]
    await one.claim([*claims, claim(job("announced"))], 0)
    await store.call("HDEL", KEYS.jobs(), "gone")
    taken, left, _ = await one.take([ids.token() for _ in range(5)])
    assert ([run.fire.job for run in taken], left) == (["kept", "announced"], 0)
    assert "the job was removed" in (await reasons(store))[0]
    assert await reasons(store, "gone") == []  # nobody would clear it away


async def test_what_others_put_among_the_pending_does_no_harm(store: Store) -> None:
    junk = [b"\xff", b"5", b"{}", b'{"job":1,"lock":[]}', b"[" * 5000]
    await store.call("RPUSH", OWN.pending(), *junk)
    one = fires(store)
    await one.claim([claim(job())], 0)
    taken, left, bad = await one.take([ids.token()])
    assert ([run.fire.job for run in taken], left, bad) == (["backup"], 0, junk)


@pytest.mark.parametrize(
    "almost",
    [
        b'{"fire":1.5,"job":"a","lock":"","ttl":0}',
        b'{"fire":1,"job":"a\xff","lock":"","ttl":0}',
        b'{"fire":1,"job":"a","lock":"","ttl":0,"why":"because"}',
    ],
)
async def test_what_is_almost_a_fire_stops_nobody(store: Store, almost: bytes) -> None:
    await store.call("RPUSH", OWN.pending(), almost)
    one = fires(store)
    await one.claim([claim(job())], 0)
    taken, _, bad = await one.take([ids.token(), ids.token()])
    assert [run.fire.job for run in taken] == ["backup"]
    assert [text[:14] for text in bad] == [almost[:14]]


async def test_a_record_that_somebody_overwrote_stops_no_claim(store: Store) -> None:
    one, of = fires(store), job(lock=False)
    run = ids.token()
    await one.claim([claim(of, run=run)], 1)
    for said in (b"what is this", b"[]", b'{"status":"running"}'):
        await store.call("HSET", KEYS.runs(), run, said)
        await one.claim([claim(of, run=run)], 1)
        await one.recall([run])


@pytest.mark.parametrize("instances", [1, 3])
async def test_every_instance_hears_a_trigger_and_one_runs_it(store: Store, instances: int) -> None:
    fleet = [fires(store, f"i{n}") for n in range(instances)]
    known = [0.0] * instances
    begun: list[Any] = []
    item = triggered(job(overlap="allow"))
    for n in range(7):
        order = [(n + i) % instances for i in range(instances)]
        for i in order:
            known[i], _, runs = await fleet[i].trigger("backup", ids.token(), item, known[i], 1)
            begun += runs
    assert len(begun) == 7
    assert len(set(known)) == 1


async def test_one_that_listens_later_is_not_confused_by_triggers_before_its_time(
    store: Store,
) -> None:
    item = triggered(job(overlap="allow"))
    old, new = fires(store, "old"), fires(store, "new")
    known, _, _ = await old.trigger("backup", ids.token(), item, 0, 1)
    _, _, runs = await new.trigger("backup", ids.token(), item, known, 1)
    assert len(runs) == 1
    assert (await old.trigger("backup", ids.token(), item, known, 1))[2] == []


async def test_a_trigger_whose_answer_was_lost_is_repeated_without_harm(store: Store) -> None:
    item, one, run = triggered(job()), fires(store), ids.token()
    first = await one.trigger("backup", run, item, 0, 1)
    assert await one.trigger("backup", run, item, 0, 1) == first


async def test_marks_begin_with_now_and_stay(store: Store) -> None:
    before = int((await store.call("TIME"))[0])
    first = await marked(store, [job(), job("free", lock=False)], paused=set())
    assert list(first) == ["backup"]
    assert before <= first["backup"] <= int((await store.call("TIME"))[0])
    later = first["backup"] + MOST_AHEAD // 2
    await fires(store).claim([claim(job(), later)], 1)
    assert await marked(store, [job()], paused=set()) == {"backup": later}


async def test_another_schedule_or_a_pause_leaves_nothing_missed(store: Store) -> None:
    old = FIRE - 10**6
    backup = job()
    await store.call("HSET", OWN.fired(), "backup", f"{old}:{backup.fingerprint}")
    assert (await marked(store, [backup], paused=set()))["backup"] == old
    paused = (await marked(store, [backup], paused={"backup"}))["backup"]
    assert paused > FIRE
    assert (await fires(store).claim([claim(backup, FIRE + 10**9)], 1))[0] == [PAUSED]
    assert (await marked(store, [backup], paused=set()))["backup"] >= paused
    await store.call("HSET", OWN.fired(), "backup", f"{old}:othertime")
    assert (await marked(store, [backup], paused=set()))["backup"] >= paused
