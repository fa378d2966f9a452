"""Jobs that an action suspends wait until somebody resumes them."""

import asyncio

import msgspec
import pytest

from tests.jobs import acting
from tests.jobs.dispatching import Dispatching, join, launch
from watchbell import actors
from watchbell.errors import NotFound, Refused
from watchbell.fleet.model import Server
from watchbell.jobs import suspensions
from watchbell.jobs.decide import actions
from watchbell.jobs.job_packing import fields
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Action, Job
from watchbell.store.client import Store

ALICE = actors.on_command_line("alice")
NOW = 1_772_716_029.5
SUSPEND = Action(trigger="start", type="suspend")


async def suspended(store: Store, *wanted: Action) -> Jobs:
    """A job as the dispatcher leaves it."""
    keys = Jobs(store.prefix)
    job = Job(id="j1", event="e1", state="start_delay", actions=wanted, reason=actions.SUSPENDED)
    await store.call(
        "HSET", keys.job("j1"), *(word for pair in fields(job).items() for word in pair)
    )
    await store.call("SADD", keys.suspended(), "j1")
    return keys


async def actions_of(store: Store) -> list[Action]:
    raw = await store.call("HGET", Jobs(store.prefix).job("j1"), "actions")
    return msgspec.json.decode(raw, type=list[Action])


async def test_a_job_that_is_resumed_is_ready_and_says_by_whom(store: Store) -> None:
    keys = await suspended(store, Action(trigger="start", type="disable"), SUSPEND)
    await suspensions.resume(store, "j1", ALICE, NOW)
    assert await store.call("LRANGE", keys.ready(), 0, -1) == [b"j1"]
    assert await store.call("HGET", keys.job("j1"), "state") == b'"ready"'
    assert await store.call("HEXISTS", keys.job("j1"), "reason") == 0
    assert await suspensions.suspended(store) == []
    other, one = await actions_of(store)
    assert other.code is None
    assert (one.code, one.description) == (0, "resumed by alice")


async def test_of_several_people_one_resumes_a_job(store: Store) -> None:
    keys = await suspended(store, SUSPEND)
    answers = await asyncio.gather(
        *(suspensions.resume(store, "j1", ALICE, NOW) for _ in range(10)), return_exceptions=True
    )
    assert answers.count(None) == 1
    assert {type(one) for one in answers} == {type(None), Refused}
    assert await store.call("LLEN", keys.ready()) == 1


async def test_a_job_that_is_over_can_not_be_resumed(store: Store) -> None:
    keys = await suspended(store, SUSPEND)
    await store.call("DEL", keys.job("j1"))
    with pytest.raises(NotFound, match="no job 'j1'"):
        await suspensions.resume(store, "j1", ALICE, NOW)
    assert await store.call("EXISTS", keys.suspended()) == 0
    assert await store.call("EXISTS", keys.ready()) == 0


async def test_a_job_that_is_not_suspended_can_not_be_resumed(store: Store) -> None:
    keys = await suspended(store, SUSPEND)
    await store.call("DEL", keys.suspended())
    with pytest.raises(Refused, match="not suspended"):
        await suspensions.resume(store, "j1", ALICE, NOW)


async def test_a_job_runs_once_somebody_resumed_it_whether_announced_before_or_after(
    store: Store,
) -> None:
    await acting.known(store)
    await join(store, Server(id="s2", hostname="db-2", groups=("main",), max_jobs=4))
    announced = msgspec.structs.replace(SUSPEND, email="alice@example.com")
    for name in ("j1", "j2"):
        job = Job(id=name, event="backup", state="ready", targets=("main",), actions=(announced,))
        await launch(store, job)
    dispatching = Dispatching(store)
    await dispatching.dispatch()
    assert await suspensions.suspended(store) == ["j1", "j2"]
    await suspensions.resume(store, "j1", ALICE, NOW)
    await acting.carry_out(store)
    await suspensions.resume(store, "j2", ALICE, NOW)
    await dispatching.dispatch()
    for name in ("j1", "j2"):
        found = await acting.record(store, name)
        assert (found.state, found.server) == ("active", "s2")
        assert found.actions[0].description == "resumed by alice"
    assert await suspensions.suspended(store) == []


async def test_a_suspended_job_without_its_actions_is_resumed(store: Store) -> None:
    keys = await suspended(store, SUSPEND)
    await store.call("HDEL", keys.job("j1"), "actions")
    async with asyncio.timeout(10):
        await suspensions.resume(store, "j1", ALICE, NOW)
    assert await store.call("LRANGE", keys.ready(), 0, -1) == [b"j1"]
