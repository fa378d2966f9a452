"""Jobs that are ready get a server, or wait in order, or end with a reason."""

import json
from typing import Any

import msgspec
import pytest

from tests.jobs.dispatching import (
    FLEET,
    KEYS,
    Dispatching,
    a_job,
    field,
    finish,
    join,
    launch,
    limited,
    put_event,
    put_server,
    texts,
)
from watchbell.fleet.model import Sample, Server
from watchbell.jobs.model import Action, Algorithm, Category, Event, Job, Limit
from watchbell.store.client import Store

ONE = Server(id="s1", hostname="one", groups=("main",), max_jobs=2)
TWO = Server(id="s2", hostname="two", groups=("main",), max_jobs=2)
PLAIN = Event(id="e1", title="Plain")


def _with(job: Job, algorithm: Algorithm, **more: Any) -> Job:
    return msgspec.structs.replace(job, algo=algorithm, **more)


async def states(store: Store, *jobs: str) -> list[str]:
    return [await field(store, job, "state") for job in jobs]


async def result(store: Store, job: str) -> tuple[str, bool]:
    found = json.loads(await store.call("HGET", KEYS.job(job), "_result"))
    assert found["code"] == "abort"
    return found["description"], found.get("retry_ok", False)


async def test_a_job_gets_a_server_and_its_agent_an_order(store: Store) -> None:
    await put_event(store, PLAIN)
    await join(store, ONE)
    await launch(store, a_job("j1"))
    await Dispatching(store).dispatch()
    assert await field(store, "j1", "state") == "active"
    assert await field(store, "j1", "server") == "s1"
    assert await field(store, "j1", "groups") == ["main"]
    assert await field(store, "j1", "remote") is False
    assert await field(store, "j1", "started") > 1e9
    assert await texts(store, "LRANGE", FLEET.orders("s1"), 0, -1) == ['{"launch":"j1"}']
    assert await texts(store, "SMEMBERS", KEYS.server_jobs("s1")) == ["j1"]
    assert await texts(store, "SMEMBERS", KEYS.occupied("e1")) == ["j1"]
    assert await store.call("LLEN", KEYS.ready()) == 0


async def test_jobs_above_the_slots_wait_in_order_and_priority_goes_first(store: Store) -> None:
    await put_event(store, PLAIN)
    await join(store, ONE)
    await launch(store, *(a_job(f"j{n}") for n in range(1, 5)), a_job("j5", priority=1))
    one = Dispatching(store)
    await one.dispatch()
    assert await states(store, "j1", "j2", "j3") == ["active", "active", "queued"]
    assert await field(store, "j3", "reason") == "all 2 slots on one are in use"
    started = []
    for job in ("j1", "j2", "j5", "j3"):
        await finish(store, job)
        await one.dispatch()
        started.append((await texts(store, "LRANGE", FLEET.orders("s1"), -1, -1))[0])
    assert [json.loads(order)["launch"] for order in started] == ["j5", "j3", "j4", "j4"]
    assert await field(store, "j4", "reason") is None


async def test_a_job_with_a_reserved_slot_is_not_overtaken_by_a_new_one(store: Store) -> None:
    await put_event(store, PLAIN)
    await join(store, ONE)
    await launch(store, *(a_job(f"j{n}") for n in range(1, 4)))
    one = Dispatching(store)
    await one.dispatch()
    await finish(store, "j1")
    await launch(store, a_job("j4"))
    # As if the new job came first.
    await store.call("LMOVE", KEYS.ready(), KEYS.ready(), "RIGHT", "LEFT")
    await one.dispatch()
    assert await states(store, "j3", "j4") == ["active", "queued"]


async def test_the_limit_of_an_event_holds_jobs_back_and_then_refuses_them(store: Store) -> None:
    await put_event(store, limited("e1", 1, queue=2))
    await join(store, ONE)
    await launch(store, *(a_job(f"j{n}") for n in range(1, 6)))
    one = Dispatching(store)
    await one.dispatch()
    jobs = [f"j{n}" for n in range(1, 6)]
    assert await states(store, *jobs) == ["active", "queued", "queued", "finishing", "finishing"]
    reason = "another job of this event is in progress, the most at a time"
    assert await field(store, "j2", "reason") == reason
    full = "Maximum number of concurrent jobs for event has been reached, and its queue is full."
    assert await result(store, "j4") == (full, False)
    assert await texts(store, "LRANGE", KEYS.finishing(), 0, -1) == ["j4", "j5"]
    await finish(store, "j1")
    await one.dispatch()
    assert await states(store, "j2", "j3") == ["active", "queued"]


async def test_without_a_queue_a_job_above_the_limit_ends(store: Store) -> None:
    await put_event(store, limited("e1", 1))
    await join(store, ONE)
    await launch(store, a_job("j1"), a_job("j2"))
    await Dispatching(store).dispatch()
    reason = "Maximum number of concurrent jobs for event has been reached."
    assert await result(store, "j2") == (reason, False)


async def test_the_limit_of_a_category_counts_where_the_event_has_none(store: Store) -> None:
    await put_event(store, PLAIN)
    category = Category(id="general", title="G", limits=(Limit(type="job", amount=1),))
    await store.call("HSET", KEYS.categories(), "general", msgspec.json.encode(category))
    await join(store, ONE)
    await launch(store, a_job("j1"), a_job("j2"))
    await Dispatching(store).dispatch()
    assert await states(store, "j1", "j2") == ["active", "finishing"]


async def test_jobs_that_wait_for_a_slot_count_against_the_limit(store: Store) -> None:
    await put_event(store, limited("e1", 3, queue=5))
    await join(store, ONE)
    await launch(store, *(a_job(f"j{n}") for n in range(1, 5)))
    await Dispatching(store).dispatch()
    assert await texts(store, "ZRANGE", KEYS.waiting("main"), 0, -1) == ["j3"]
    assert await texts(store, "ZRANGE", KEYS.queued("e1"), 0, -1) == ["j4"]
    assert await texts(store, "SMEMBERS", KEYS.occupied("e1")) == ["j1", "j2", "j3"]


async def test_a_queue_drains_when_the_limit_is_raised_and_in_order(store: Store) -> None:
    await put_event(store, limited("e1", 1, queue=9))
    await join(store, Server(id="s1", hostname="one", groups=("main",), max_jobs=9))
    await launch(store, *(a_job(f"j{n}") for n in range(1, 6)))
    one = Dispatching(store)
    await one.dispatch()
    await put_event(store, limited("e1", 3, queue=9))
    await launch(store, a_job("j6"))
    await one.dispatch()  # a new job must not overtake
    assert await states(store, "j2", "j3", "j4", "j6") == ["active", "active", "queued", "queued"]
    await put_event(store, PLAIN)
    await one.drain()
    assert await states(store, "j4", "j5", "j6") == ["active"] * 3
    assert await texts(store, "SMEMBERS", KEYS.queued_events()) == []


async def test_a_lowered_limit_is_reached_as_jobs_end(store: Store) -> None:
    await put_event(store, limited("e1", 3, queue=9))
    await join(store, Server(id="s1", hostname="one", groups=("main",), max_jobs=9))
    await launch(store, *(a_job(f"j{n}") for n in range(1, 7)))
    one = Dispatching(store)
    await one.dispatch()
    await put_event(store, limited("e1", 1, queue=9))
    for ended, running in [("j1", {"j2", "j3"}), ("j2", {"j3"}), ("j3", {"j4"}), ("j4", {"j5"})]:
        await finish(store, ended)
        await one.drain()
        assert set(await texts(store, "SMEMBERS", KEYS.occupied("e1"))) == running
    assert await texts(store, "ZRANGE", KEYS.queued("e1"), 0, -1) == ["j6"]


async def test_a_queue_drains_when_a_server_comes_is_enabled_or_gets_slots(store: Store) -> None:
    await put_event(store, PLAIN)
    await put_server(store, ONE)
    await launch(store, *(a_job(f"j{n}") for n in range(1, 7)))
    one = Dispatching(store)
    await one.dispatch()
    assert await field(store, "j1", "reason") == "one is offline"
    await join(store, ONE)
    await one.drain()
    assert await states(store, "j1", "j2", "j3") == ["active", "active", "queued"]
    await join(store, Server(id="s1", hostname="one", groups=("main",), max_jobs=3))
    await one.drain()
    assert await states(store, "j3", "j4") == ["active", "queued"]
    await join(store, Server(id="s2", hostname="two", groups=("main",), max_jobs=2, enabled=False))
    await one.drain()
    assert await states(store, "j4") == ["queued"]
    await join(store, TWO)
    await one.drain()
    assert await states(store, "j4", "j5", "j6") == ["active", "active", "queued"]
    assert await texts(store, "SMEMBERS", KEYS.server_jobs("s2")) == ["j4", "j5"]


async def test_jobs_whose_last_target_is_deleted_while_they_wait_end(store: Store) -> None:
    await put_event(store, PLAIN)
    await put_server(store, ONE)
    await put_server(store, Server(id="s2", hostname="two", groups=("main",)))
    await launch(store, a_job("j1", "e1", "s1"), a_job("j2", "e1", "s1", "s2"))
    one = Dispatching(store)
    await one.dispatch()
    await store.call("HDEL", FLEET.servers(), "s1")
    await one.drain()
    assert await result(store, "j1") == ("No available servers matching targets: s1", True)
    assert await states(store, "j2") == ["queued"]
    assert await texts(store, "ZRANGE", KEYS.waiting("s2"), 0, -1) == ["j2"]


async def test_a_spoiled_key_of_one_server_keeps_no_other_from_waking_jobs(store: Store) -> None:
    await put_event(store, PLAIN)
    await put_server(store, ONE)
    await launch(store, a_job("j1"))
    one = Dispatching(store)
    await one.dispatch()
    await store.call("SET", KEYS.server_jobs("s1"), "x")
    await join(store, ONE)
    await join(store, TWO)
    await one.view.load()
    await one.drainer.drain()
    assert await field(store, "j1", "_slot") == "s2"
    await store.call("DEL", KEYS.server_jobs("s1"))


async def test_jobs_wait_while_the_servers_can_not_be_read(store: Store) -> None:
    await put_event(store, PLAIN)
    await launch(store, a_job("j1"))
    one = Dispatching(store)
    batch = await one.dispatcher.taker.take()
    assert batch is not None
    await one.dispatcher.process(batch)
    await one.drainer.drain()
    assert await states(store, "j1") == ["queued"]
    await join(store, ONE)
    await one.drain()
    assert await states(store, "j1") == ["active"]


async def test_a_new_job_does_not_overtake_at_a_server_that_has_just_come(store: Store) -> None:
    await put_event(store, PLAIN)
    await put_server(store, Server(id="s1", hostname="one", groups=("main",), max_jobs=1))
    await launch(store, a_job("j1"))
    one = Dispatching(store)
    await one.dispatch()
    await join(store, Server(id="s1", hostname="one", groups=("main",), max_jobs=1))
    await launch(store, a_job("j2"))
    await one.dispatch()
    assert await states(store, "j1", "j2") == ["active", "queued"]


async def test_a_slot_of_a_server_that_was_disabled_is_not_used(store: Store) -> None:
    await put_event(store, PLAIN)
    await join(store, ONE)
    await launch(store, *(a_job(f"j{n}") for n in range(1, 4)))
    one = Dispatching(store)
    await one.dispatch()
    await put_server(store, Server(id="s1", hostname="one", groups=("main",), enabled=False))
    await finish(store, "j1")
    await one.dispatch()
    assert await states(store, "j3") == ["queued"]
    assert await field(store, "j3", "reason") == "one is disabled"
    assert await texts(store, "SMEMBERS", KEYS.server_jobs("s1")) == ["j2"]


async def test_fewer_slots_are_reached_as_jobs_end(store: Store) -> None:
    await put_event(store, PLAIN)
    await join(store, ONE)
    await launch(store, *(a_job(f"j{n}") for n in range(1, 5)))
    one = Dispatching(store)
    await one.dispatch()
    await put_server(store, Server(id="s1", hostname="one", groups=("main",), max_jobs=1))
    await finish(store, "j1")
    await one.drain()
    assert await texts(store, "SMEMBERS", KEYS.server_jobs("s1")) == ["j2"]
    await finish(store, "j2")
    await one.drain()
    assert await texts(store, "SMEMBERS", KEYS.server_jobs("s1")) == ["j3"]


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        ("round_robin", ["s1", "s2", "s3", "s1", "s2"]),
        ("least_cpu", ["s2", "s2", "s3", "s3", "s1"]),
        ("least_mem", ["s3", "s3", "s1", "s1", "s2"]),
        ("prefer_first", ["s1", "s1", "s2", "s2", "s3"]),
        ("prefer_last", ["s3", "s3", "s2", "s2", "s1"]),
    ],
)
async def test_servers_are_selected_by_the_algorithm(
    store: Store, algorithm: Algorithm, expected: list[str]
) -> None:
    await put_event(store, PLAIN)
    for n, (cpu, memory) in enumerate([(90, 20), (10, 30), (50, 10)], 1):
        await join(store, Server(id=f"s{n}", hostname=f"{n}", groups=("main",), max_jobs=2))
        sample = Sample(at=0, cpu=cpu, load=(0, 0, 0), memory=memory, memory_total=100)
        await store.call("HSET", FLEET.samples(), f"s{n}", msgspec.json.encode(sample))
    jobs = [a_job(f"j{n}") for n in range(5)]
    await launch(store, *(_with(job, algorithm) for job in jobs))
    await Dispatching(store).dispatch()
    assert [await field(store, job.id, "server") for job in jobs] == expected


@pytest.mark.parametrize("algorithm", ["fewest_jobs", "random"])
async def test_jobs_spread_over_servers(store: Store, algorithm: Algorithm) -> None:
    await put_event(store, PLAIN)
    for n in range(3):
        await join(store, Server(id=f"s{n}", hostname=f"{n}", groups=("main",), max_jobs=50))
    await store.call("SADD", KEYS.server_jobs("s0"), *(f"x{n}" for n in range(20)))
    await launch(store, *(_with(a_job(f"j{n}"), algorithm) for n in range(40)))
    await Dispatching(store).dispatch()
    counts = [int(await store.call("SCARD", KEYS.server_jobs(f"s{n}"))) for n in range(3)]
    assert sum(counts) == 60
    if algorithm == "fewest_jobs":
        assert counts == [20, 20, 20]
    else:
        assert all(counts)
        assert counts[1:] != [20, 20] or counts[0] == 20


async def test_a_job_whose_event_is_gone_disabled_or_without_servers_ends(store: Store) -> None:
    await put_event(store, Event(id="e1", title="Off", enabled=False))
    await put_event(store, Event(id="e2", title="Nowhere"))
    await launch(store, a_job("j1"), a_job("j2", "e2", "nowhere"), a_job("j3", "e3"))
    await Dispatching(store).dispatch()
    assert await result(store, "j1") == ("Event was disabled", False)
    nowhere = "No available servers matching targets: nowhere"
    assert await result(store, "j2") == (nowhere, True)
    assert await result(store, "j3") == ("Event was deleted", False)


async def test_a_test_runs_although_its_event_is_disabled(store: Store) -> None:
    await put_event(store, Event(id="e1", title="Off", enabled=False))
    await join(store, ONE)
    await launch(store, _with(a_job("j1"), "random", test=True))
    await Dispatching(store).dispatch()
    assert await states(store, "j1") == ["active"]


async def test_actions_at_the_start_are_queued_when_the_job_gets_its_server(store: Store) -> None:
    await put_event(store, PLAIN)
    await put_server(store, ONE)
    actions = (
        Action(trigger="success", type="email", email="alice@example.com"),
        Action(trigger="start", type="email", email="bob@example.com"),
    )
    await launch(store, _with(a_job("j1"), "random", actions=actions))
    one = Dispatching(store)
    await one.dispatch()
    assert await store.call("LLEN", KEYS.actions()) == 0
    await join(store, ONE)
    await one.drain()
    items = await texts(store, "LRANGE", KEYS.actions(), 0, -1)
    assert [json.loads(item) for item in items] == [{"job": "j1", "n": 1}]


async def test_a_suspended_job_waits_without_a_place(store: Store) -> None:
    await put_event(store, PLAIN)
    await join(store, ONE)
    actions = (Action(trigger="start", type="suspend"),)
    await launch(store, _with(a_job("j1"), "random", actions=actions))
    await Dispatching(store).dispatch()
    assert await states(store, "j1") == ["queued"]
    assert await texts(store, "SMEMBERS", KEYS.suspended()) == ["j1"]
    assert await store.call("EXISTS", KEYS.occupied("e1")) == 0


@pytest.mark.parametrize(
    "damage",
    [
        ["HSET", KEYS.job("j1"), "limits", "{no JSON"],
        ["HSET", KEYS.job("j1"), "algo", '"by chance"'],
        ["HSET", KEYS.job("j1"), "event", "7"],
        ["SET", KEYS.occupied("e1"), "x"],
        ["SET", KEYS.server_jobs("s1"), "x"],
        ["HSET", KEYS.events(), "e1", "[]"],
    ],
    ids=" ".join,
)
async def test_damaged_values_end_one_job_and_not_the_others(
    store: Store, damage: list[str]
) -> None:
    await put_event(store, PLAIN)
    await put_event(store, Event(id="e2", title="Other"))
    await join(store, ONE)
    await join(store, Server(id="s2", hostname="two", groups=("other",)))
    await launch(store, a_job("j1"), a_job("j2", "e2", "other"))
    await store.call(*damage)
    await Dispatching(store).dispatch()
    assert await states(store, "j1", "j2") == ["finishing", "active"]
    await store.call("FLUSHDB")


async def test_a_job_whose_key_is_no_hash_is_passed_over(store: Store) -> None:
    await put_event(store, PLAIN)
    await join(store, ONE)
    await launch(store, a_job("j1"), a_job("j2"))
    await store.call("SET", KEYS.job("j1"), "x")
    await Dispatching(store).dispatch()
    assert await states(store, "j2") == ["active"]
    await store.call("FLUSHDB")


async def test_a_job_that_comes_twice_is_placed_once(store: Store) -> None:
    await put_event(store, PLAIN)
    await join(store, ONE)
    await launch(store, a_job("j1"))
    await store.call("RPUSH", KEYS.ready(), "j1", "j1")
    one = Dispatching(store)
    await one.dispatch()
    assert await store.call("LLEN", FLEET.orders("s1")) == 1


async def test_the_dispatcher_works_in_a_store_of_any_kind(any_store: Store) -> None:
    await put_event(any_store, limited("e1", 2, queue=9))
    await join(any_store, ONE)
    await launch(any_store, *(a_job(f"j{n}") for n in range(4)))
    one = Dispatching(any_store)
    await one.dispatch()
    await finish(any_store, "j0")
    await one.drain()
    assert await states(any_store, "j2", "j3") == ["active", "queued"]
